package extraction

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	extractionv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/extraction/v1"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/page"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

const (
	// maxExtractWait is the longest that ExtractNow waits.
	maxExtractWait = 60 * time.Second
	// settlePoll is how often ExtractNow looks.
	settlePoll = 50 * time.Millisecond
	// pushAgain is how often ExtractNow makes what has come meanwhile due too.
	pushAgain = time.Second
)

// server implements ExtractionService.
type server struct {
	extractionv1.UnimplementedExtractionServiceServer
	pool   *postgres.Pool
	buffer bufferv1.BufferServiceClient
}

// ExtractNow implements ExtractionService.
func (s *server) ExtractNow(ctx context.Context, req *extractionv1.ExtractNowRequest) (*extractionv1.ExtractNowResponse, error) {
	wait := req.GetMaxWait().AsDuration()
	if wait < 0 || wait > maxExtractWait {
		return nil, rpcerr.InvalidField("max_wait", "want 0 to 60 s")
	}
	tenant, err := s.pool.Tenant(auth.FromContext(ctx))
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(wait)
	var pushed time.Time
	for {
		if time.Since(pushed) >= pushAgain {
			if _, err := s.buffer.MakeDue(ctx, &bufferv1.MakeDueRequest{OrgId: tenant.OrgID(), ProjectId: req.GetProjectId()}); err != nil {
				return nil, err
			}
			pushed = time.Now()
		}
		resp, err := countUnfinished(ctx, tenant, req.GetProjectId())
		if err != nil || resp.GetSettled() || time.Now().After(until) {
			return resp, err
		}
		pause(ctx, settlePoll)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

const unfinishedSQL = `
SELECT count(*) FILTER (WHERE status < 3), count(*) FILTER (WHERE status = 5)
  FROM event_state WHERE org_id = $1 AND ($2 = '' OR project_id = $2) AND (status < 3 OR status = 5)`

func countUnfinished(ctx context.Context, tenant postgres.Tenant, project string) (*extractionv1.ExtractNowResponse, error) {
	resp := &extractionv1.ExtractNowResponse{}
	err := tenant.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, unfinishedSQL, tenant.OrgID(), project).Scan(&resp.UnfinishedEvents, &resp.DeadLetters)
	})
	resp.Settled = err == nil && resp.GetUnfinishedEvents() == 0
	return resp, err
}

const listRunsSQL = `
SELECT run_id, project_id, strategy, events, records, error, started_at, duration_us FROM extraction_runs
 WHERE org_id = $1 AND ($2 = '' OR project_id = $2) AND ($3 = '' OR run_id < $3) ORDER BY run_id DESC LIMIT $4`

// ListRuns implements ExtractionService.
func (s *server) ListRuns(ctx context.Context, req *extractionv1.ListRunsRequest) (*extractionv1.ListRunsResponse, error) {
	size, err := page.Size(req.GetPageSize(), 50, 200)
	if err != nil {
		return nil, err
	}
	var after string
	if _, err := page.Cursor(req.GetPageToken(), &after, "runs", req.GetProjectId()); err != nil {
		return nil, err
	}
	tenant, err := s.pool.Tenant(auth.FromContext(ctx))
	if err != nil {
		return nil, err
	}
	resp := &extractionv1.ListRunsResponse{}
	err = tenant.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, listRunsSQL, tenant.OrgID(), req.GetProjectId(), after, size+1)
		if err != nil {
			return err
		}
		resp.Runs, err = pgx.CollectRows(rows, scanRun)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(resp.GetRuns()) > size {
		resp.Runs = resp.GetRuns()[:size]
		resp.NextPageToken, err = page.Token(resp.GetRuns()[size-1].GetRunId(), "runs", req.GetProjectId())
	}
	return resp, err
}

func scanRun(row pgx.CollectableRow) (*extractionv1.Run, error) {
	r := &extractionv1.Run{}
	var started time.Time
	var micros int64
	err := row.Scan(&r.RunId, &r.ProjectId, &r.Strategy, &r.Events, &r.Records, &r.Error, &started, &micros)
	r.StartTime, r.Duration = timestamppb.New(started), durationpb.New(time.Duration(micros)*time.Microsecond)
	return r, err
}
