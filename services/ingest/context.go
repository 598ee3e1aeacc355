package ingest

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/status"

	"github.com/kiroku-dev/kiroku/proto/event"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/grpcclient"
)

const (
	// contextTimeout bounds inline retrieval when the caller gave no deadline.
	contextTimeout = time.Second
	// storeReserve is what inline retrieval leaves of the caller's deadline, so that a slow search cannot turn a stored
	// event into a failed call.
	storeReserve = 20 * time.Millisecond
)

// startContext asks retrieval for the prompt's context beside the storing, and returns a function that waits for it. The answer
// says when it is less than it could be; it never fails the call.
func (s *server) startContext(ctx context.Context, req *ingestv1.IngestEventRequest) func() *ingestv1.InlineContext {
	ev := req.GetEvent()
	if !req.GetRetrieve() || ev.GetKind() != eventv1.Kind_KIND_PROMPT {
		return func() *ingestv1.InlineContext { return nil }
	}
	if !auth.FromContext(ctx).Has(auth.ScopeRead) {
		return func() *ingestv1.InlineContext {
			return &ingestv1.InlineContext{Degraded: "the token lacks the scope read"}
		}
	}
	namespace, err := event.ParseNamespace(ev.GetNamespace())
	if err != nil {
		return func() *ingestv1.InlineContext { return nil } // the event itself will be refused
	}
	ask := &retrievalv1.BuildContextRequest{
		ProjectId: namespace.Project, Purpose: retrievalv1.Purpose_PURPOSE_PROMPT, Query: event.Query(ev.GetBody()),
		SessionId: ev.GetSessionId(), EventId: ev.GetEventId(),
	}
	answer := make(chan *ingestv1.InlineContext, 1)
	go func() { answer <- s.buildContext(ctx, ask) }()
	return func() *ingestv1.InlineContext { return <-answer }
}

func (s *server) buildContext(ctx context.Context, ask *retrievalv1.BuildContextRequest) *ingestv1.InlineContext {
	start := time.Now()
	timeout := contextTimeout
	if until, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(until)-storeReserve)
	}
	ctx, cancel := context.WithTimeout(grpcclient.AsCaller(ctx), timeout)
	defer cancel()
	resp, err := s.retrieval.BuildContext(ctx, ask)
	inline := &ingestv1.InlineContext{LatencyMs: time.Since(start).Milliseconds()}
	if err != nil {
		inline.Degraded = "retrieval: " + status.Code(err).String()
		return inline
	}
	inline.Text, inline.RecordIds = resp.GetText(), resp.GetRecordIds()
	var degraded []string
	for _, lane := range resp.GetLanes() {
		if state := lane.GetState(); state != "ok" && state != "not configured" {
			degraded = append(degraded, lane.GetLane()+": "+state)
		}
	}
	inline.Degraded = strings.Join(degraded, ", ")
	return inline
}
