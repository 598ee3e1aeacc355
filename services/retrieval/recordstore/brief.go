package recordstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	"github.com/kiroku-dev/kiroku/services/internal/record"
	"github.com/kiroku-dev/kiroku/services/retrieval/corpus"
)

// Brief is what a session start brief is chosen from.
type Brief struct {
	// Guidance are the pinned records and those of the types that guide work, the newest first.
	Guidance []*recordv1.Record
	// Recent are the newest records of any type.
	Recent []*recordv1.Record
	// Given tells that the session had its brief.
	Given bool
	// Open are the sessions that were not over at the time that was asked for.
	Open []corpus.Session
}

const (
	// briefWindow is how many of the newest records are looked through for guidance: the cost must not grow with the project.
	briefWindow = 2000
	// guidanceLimit and recentLimit are how many are read.
	guidanceLimit = 30
	recentLimit   = 80
)

// Looking back, a record that was replaced later held then.
const newestSQL = `
(SELECT * FROM records WHERE org_id = $1 AND project_id = $2 AND deleted_at IS NULL AND (superseded_by IS NULL OR valid_to > $3)
    AND ($3::timestamptz IS NULL OR valid_from <= $3) ORDER BY valid_from DESC, record_id DESC LIMIT $4) r
 LEFT JOIN projects p ON p.org_id = r.org_id AND p.project_id = r.project_id`

const guidanceSQL = `SELECT ` + record.Columns + ` FROM ` + newestSQL + `
 WHERE r.pinned OR r.observation_type = ANY($5) ORDER BY r.pinned DESC, r.valid_from DESC, r.record_id DESC LIMIT $6`

const recentSQL = `SELECT ` + record.Columns + ` FROM ` + newestSQL + ` ORDER BY r.valid_from DESC, r.record_id DESC`

const openSessionsSQL = `SELECT actor_id, session_id FROM sessions WHERE org_id = $1 AND project_id = $2 AND last_event_at > $3`

// Brief reads what a brief is made of, in one round trip. asOf is zero for now.
func (s *Store) Brief(ctx context.Context, project string, types []int16, asOf time.Time, key SuppressionKey) (Brief, error) {
	var out Brief
	err := s.tenant.Read(ctx, func(b *pgx.Batch) {
		b.Queue(guidanceSQL, s.OrgID(), project, orNull(asOf), briefWindow, types, guidanceLimit)
		b.Queue(recentSQL, s.OrgID(), project, orNull(asOf), recentLimit)
		b.Queue(givenSQL, s.OrgID(), s.actor, key.SessionID, key.Compactions)
		if !asOf.IsZero() {
			b.Queue(openSessionsSQL, s.OrgID(), project, asOf)
		}
	}, func(results pgx.BatchResults) (err error) {
		if out.Guidance, err = collectRecords(results); err != nil {
			return err
		}
		if out.Recent, err = collectRecords(results); err != nil {
			return err
		}
		items, err := collect(results, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, item := range items {
			out.Given = out.Given || (item == BriefItem && key.SessionID != "")
		}
		if !asOf.IsZero() {
			out.Open, err = collect(results, scanSession)
		}
		return err
	})
	return out, err
}

// OpenSessions are the project's sessions that were not over at a time: an event of theirs came later.
func (s *Store) OpenSessions(ctx context.Context, project string, at time.Time) (open []corpus.Session, err error) {
	err = s.tenant.Read(ctx, func(b *pgx.Batch) { b.Queue(openSessionsSQL, s.OrgID(), project, at) },
		func(results pgx.BatchResults) (err error) {
			open, err = collect(results, scanSession)
			return err
		})
	return open, err
}

func scanSession(row pgx.CollectableRow) (corpus.Session, error) {
	var session corpus.Session
	if err := row.Scan(&session.Actor, &session.ID); err != nil {
		return session, fmt.Errorf("session: %w", err)
	}
	return session, nil
}
