package ingest

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kiroku-dev/kiroku/proto/event"
	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/ingest/eventstore"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/eventlog"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

// server implements IngestService.
type server struct {
	ingestv1.UnimplementedIngestServiceServer
	pool      *postgres.Pool
	writer    *coalescer
	projects  *projectNames
	feeder    *feeder
	retrieval retrievalv1.RetrievalServiceClient
	version   string
	now       func() time.Time
}

// IngestEvents implements IngestService.
func (s *server) IngestEvents(ctx context.Context, req *ingestv1.IngestEventsRequest) (*ingestv1.IngestEventsResponse, error) {
	if err := checkBatch(req); err != nil {
		return nil, err
	}
	results, err := s.store(ctx, req.GetEvents())
	if err != nil {
		return nil, err
	}
	return &ingestv1.IngestEventsResponse{Results: results}, nil
}

// IngestEvent implements IngestService.
func (s *server) IngestEvent(ctx context.Context, req *ingestv1.IngestEventRequest) (*ingestv1.IngestEventResponse, error) {
	if req.GetEvent() == nil {
		return nil, rpcerr.InvalidField("event", "is missing")
	}
	inline := s.startContext(ctx, req)
	results, err := s.store(ctx, []*eventv1.Event{req.GetEvent()})
	if err != nil {
		return nil, err
	}
	if results[0].GetError() != nil {
		return nil, rpcerr.FromItem(results[0].GetError())
	}
	return &ingestv1.IngestEventResponse{Result: results[0], Context: inline()}, nil
}

// WhoAmI implements IngestService.
func (s *server) WhoAmI(ctx context.Context, _ *ingestv1.WhoAmIRequest) (*ingestv1.WhoAmIResponse, error) {
	p := auth.FromContext(ctx)
	resp := &ingestv1.WhoAmIResponse{
		OrgId: p.OrgID(), OrgName: p.OrgName(), ActorId: p.ActorID(),
		ServerVersion: s.version, ServerTime: timestamppb.New(s.now()),
	}
	for _, scope := range p.Scopes() {
		resp.Scopes = append(resp.Scopes, string(scope))
	}
	if !p.ExpireTime().IsZero() {
		resp.ExpireTime = timestamppb.New(p.ExpireTime())
	}
	return resp, nil
}

func checkBatch(req *ingestv1.IngestEventsRequest) error {
	switch n := len(req.GetEvents()); {
	case n == 0:
		return rpcerr.InvalidField("events", "is empty; give 1 to 500 events")
	case n > event.MaxBatchEvents:
		return rpcerr.New(codes.InvalidArgument, errorv1.ErrorReason_ERROR_REASON_BATCH_TOO_LARGE, "events: a batch holds at most 500 events")
	}
	if proto.Size(req) > event.MaxBatchBytes {
		return rpcerr.New(codes.InvalidArgument, errorv1.ErrorReason_ERROR_REASON_BATCH_TOO_LARGE, "events: a batch holds at most 8 MiB")
	}
	return nil
}

// store judges every event, commits the good ones together and answers for each.
func (s *server) store(ctx context.Context, events []*eventv1.Event) ([]*ingestv1.EventResult, error) {
	principal := auth.FromContext(ctx)
	tenant, err := s.pool.Tenant(principal)
	if err != nil {
		return nil, err
	}
	results := make([]*ingestv1.EventResult, len(events))
	good := make([]event.Scrubbed, 0, len(events))
	at := make([]int, 0, len(events))
	for i, ev := range events {
		scrubbed, refusal := admit(ev, principal)
		results[i] = &ingestv1.EventResult{EventId: ev.GetEventId(), Error: refusal}
		if refusal == nil {
			good, at = append(good, scrubbed), append(at, i)
		}
	}
	if len(good) == 0 {
		return results, nil
	}
	if err := s.projects.Name(ctx, tenant, good); err != nil {
		return nil, err
	}
	outcomes, err := s.writer.Append(ctx, tenant, good)
	if err != nil {
		return nil, err
	}
	for i, outcome := range outcomes {
		fill(results[at[i]], outcome)
		if outcome.Stored {
			s.feed(tenant.OrgID(), good[i], outcome)
		}
	}
	return results, nil
}

func fill(result *ingestv1.EventResult, o eventstore.Outcome) {
	if o.Taken {
		result.Error = &errorv1.ItemError{
			Code: int32(codes.AlreadyExists), Reason: errorv1.ErrorReason_ERROR_REASON_EVENT_ID_TAKEN,
			Message: "event_id: belongs to an event of another actor or session",
		}
		return
	}
	result.Stored, result.ContentDiffers, result.Late = o.Stored, o.Differs, o.Late
	result.SequenceNumber, result.Position = o.Sequence, o.Position
}

// feed hands a stored event to the buffer, as readers will see it. The event is this call's own and is not needed any more: it is completed in
// place, since a copy of every event costs as much as its scrub.
func (s *server) feed(org string, scrubbed event.Scrubbed, o eventstore.Outcome) {
	ev := scrubbed.Event()
	eventlog.Complete(ev, o.Sequence, o.Position, o.ReceivedAt, o.Late)
	namespace, err := event.ParseNamespace(ev.GetNamespace())
	if err != nil {
		return // validated before; the outbox row is there all the same
	}
	s.feeder.Feed(org, namespace.Project, ev, scrubbed.Size())
}
