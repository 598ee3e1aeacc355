package relay

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/kiroku-dev/kiroku/proto/event"
	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/journal"
)

const (
	// maxBatchEvents and maxBatchBytes keep a batch well within what the server takes.
	maxBatchEvents = 500
	maxBatchBytes  = 4 << 20
	// callTimeout bounds one call; a hung server is given up and asked again.
	callTimeout = 15 * time.Second
	firstPause  = 200 * time.Millisecond
	maxPause    = 15 * time.Second
	// maxAttempts is how often one event may fail with a defect of the server before it is set
	// aside, so that it does not block those behind it for ever.
	maxAttempts = 8
)

// sender brings the journal to the server, in order, one batch at a time.
type sender struct {
	relay *Relay
	// again ends a pause early, since the server was heard of.
	again chan struct{}
	// flushing asks run to send what is there and stop; it closes flushed then.
	flushing chan struct{}
	flushed  chan struct{}
	actor    string
	// limit is the size of the next batch; a batch that is refused as a whole is halved.
	limit    int
	failures int
	// stuck counts how often the event at the head failed by itself, and headID is that event.
	stuck  int
	headID string
}

func newSender(r *Relay) *sender {
	return &sender{
		relay: r, limit: maxBatchEvents,
		again: make(chan struct{}, 1), flushing: make(chan struct{}), flushed: make(chan struct{}),
	}
}

// nudge ends a pause between attempts: the server answers.
func (s *sender) nudge() {
	select {
	case s.again <- struct{}{}:
	default:
	}
}

// flush waits until the journal has been sent, an attempt fails, or the time is over.
func (s *sender) flush(within time.Duration) {
	close(s.flushing)
	s.nudge()
	select {
	case <-s.flushed:
	case <-time.After(within):
	}
}

// run sends until ctx ends.
func (s *sender) run(ctx context.Context) {
	defer close(s.flushed)
	for {
		more, err := s.step(ctx)
		if ctx.Err() != nil {
			return
		}
		stopping := false
		select {
		case <-s.flushing:
			stopping = true
		default:
		}
		switch {
		case stopping && (err != nil || !more):
			return
		case err != nil:
			s.pause(ctx)
		case !more:
			s.await(ctx)
		}
	}
}

// await sleeps until something is appended.
func (s *sender) await(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.flushing:
	case <-s.relay.journal.Wake():
	}
}

// pause sleeps between attempts, longer each time, never quite as long as another relay.
func (s *sender) pause(ctx context.Context) {
	pause := min(maxPause, firstPause<<min(s.failures, 10))
	s.failures++
	pause = pause/2 + time.Duration(rand.Int64N(int64(pause))) //nolint:gosec // spreads load, keeps no secret
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-s.flushing:
	case <-timer.C:
	case <-s.again:
	}
	s.relay.upstream.Wake()
}

// step sends one batch. More tells that it did; an error that it must be tried again later.
func (s *sender) step(ctx context.Context) (more bool, err error) {
	if err := s.identify(ctx); err != nil {
		return false, err
	}
	batch, err := s.relay.journal.Read(s.limit, maxBatchBytes)
	if err != nil || len(batch.Entries) == 0 {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.send(ctx, batch)
}

// identify learns whose events these are; once per connection's credential.
func (s *sender) identify(ctx context.Context) error {
	if s.actor != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	sent := s.relay.now()
	who, err := s.relay.upstream.Ingest.WhoAmI(ctx, &ingestv1.WhoAmIRequest{})
	if err != nil {
		return s.failed(ctx, "WhoAmI", err)
	}
	s.actor = who.GetActorId()
	if s.relay.opts.Config.ActAs != "" {
		s.actor = s.relay.opts.Config.ActAs
	}
	s.relay.status.identified(who, sent, s.relay.now())
	s.relay.log.InfoContext(ctx, "server reached", "org", who.GetOrgName(), "actor", s.actor, "server_version", who.GetServerVersion())
	return nil
}

func (s *sender) send(ctx context.Context, batch journal.Batch) (bool, error) {
	events, bad := s.decode(batch)
	if bad == 0 {
		return true, s.refuse(batch, 0, unreadable)
	}
	resp, err := s.relay.upstream.Ingest.IngestEvents(ctx, &ingestv1.IngestEventsRequest{Events: events})
	if err == nil {
		return true, s.settle(ctx, batch, resp.GetResults(), len(events))
	}
	if status.Code(err) != codes.InvalidArgument && status.Code(err) != codes.ResourceExhausted || status.Code(err) == codes.ResourceExhausted && len(events) == 1 {
		return false, s.failed(ctx, "IngestEvents", err)
	}
	if len(events) > 1 {
		// The batch is wrong as a whole: find out in halves which event makes it so.
		s.limit = max(1, len(events)/2)
		return true, nil
	}
	s.limit = maxBatchEvents
	return true, s.refuse(batch, 0, &errorv1.ItemError{Code: int32(codes.InvalidArgument), Message: status.Convert(err).Message()})
}

// unreadable is the reason for entries that this build cannot decode.
var unreadable = &errorv1.ItemError{Code: int32(codes.DataLoss), Message: "the journal's entry is no event"}

// decode reads the events up to the first that cannot be read, whose index it returns; as many
// as there are when all can. The actor is filled in.
func (s *sender) decode(batch journal.Batch) ([]*eventv1.Event, int) {
	events := make([]*eventv1.Event, 0, len(batch.Entries))
	for i, entry := range batch.Entries {
		ev := &eventv1.Event{}
		if err := proto.Unmarshal(entry, ev); err != nil {
			return events, i
		}
		if namespace, err := event.ParseNamespace(ev.GetNamespace()); err == nil {
			namespace.Actor = s.actor
			ev.Namespace, ev.ActorId = namespace.String(), s.actor
		}
		events = append(events, ev)
	}
	return events, len(events)
}

// settle goes through the results in order, up to the first event that must be sent again.
func (s *sender) settle(ctx context.Context, batch journal.Batch, results []*ingestv1.EventResult, sent int) error {
	if len(results) != sent {
		return s.failed(ctx, "IngestEvents", status.Errorf(codes.Internal, "%d results for %d events", len(results), sent))
	}
	done, refused := 0, 0
	var again *errorv1.ItemError
	for i, result := range results {
		if item := result.GetError(); item != nil {
			if !permanent(codeOf(item)) && (i > 0 || !s.givenUp(result.GetEventId())) {
				again = item
				break
			}
			if err := s.setAside(batch.Entries[i], result.GetEventId(), item); err != nil {
				return err
			}
			refused++
		}
		done++
	}
	if err := s.relay.journal.Ack(batch, done); err != nil {
		return fmt.Errorf("acknowledge in the journal: %w", err)
	}
	s.relay.status.sent(done-refused, refused)
	if again != nil {
		return s.failed(ctx, "IngestEvents", status.Error(codeOf(again), again.GetMessage()))
	}
	s.failures, s.limit = 0, min(maxBatchEvents, s.limit*2)
	return nil
}

// givenUp counts the failures of the event at the head of the queue, and tells when it had its
// chances.
func (s *sender) givenUp(id string) bool {
	if s.headID != id {
		s.headID, s.stuck = id, 0
	}
	s.stuck++
	return s.stuck > maxAttempts
}

// codeOf is an item's status code.
func codeOf(item *errorv1.ItemError) codes.Code {
	return codes.Code(item.GetCode()) //nolint:gosec // codes are small, an odd one has no name and is tried again
}

// permanent tells the codes of an event that no server will ever take.
func permanent(code codes.Code) bool {
	switch code {
	case codes.InvalidArgument, codes.PermissionDenied, codes.AlreadyExists, codes.OutOfRange, codes.DataLoss:
		return true
	}
	return false
}

// refuse sets one entry of a batch aside and goes on behind it.
func (s *sender) refuse(batch journal.Batch, index int, why *errorv1.ItemError) error {
	ev := &eventv1.Event{}
	_ = proto.Unmarshal(batch.Entries[index], ev)
	if err := s.setAside(batch.Entries[index], ev.GetEventId(), why); err != nil {
		return err
	}
	s.relay.status.sent(0, 1)
	return s.relay.journal.Ack(batch, index+1)
}

func (s *sender) setAside(entry []byte, id string, why *errorv1.ItemError) error {
	if !event.ValidID(id) {
		id = event.NewID(s.relay.now())
	}
	reason := why.GetReason().String()
	for _, violation := range why.GetViolations() {
		reason += "; " + violation.GetField() + ": " + violation.GetDescription()
	}
	code := codeOf(why).String()
	s.relay.log.Warn("event refused for good", "event_id", id, "code", code, "reason", reason)
	refusal := journal.Refusal{ID: id, Code: code, Reason: reason, Time: s.relay.now()}
	if err := s.relay.quarantine.Put(refusal, entry); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	return nil
}

// failed notes a call that is to be tried again. The token is read anew when it was not good.
func (s *sender) failed(ctx context.Context, method string, err error) error {
	code := status.Code(err)
	if code == codes.Unauthenticated && s.relay.upstream.Reload() {
		s.failures = 0
		s.nudge()
	}
	if code == codes.Unauthenticated || code == codes.PermissionDenied {
		s.actor = ""
	}
	if s.failures == 0 {
		s.relay.log.WarnContext(ctx, "server does not take events, trying again", "method", method, "code", code.String())
	}
	s.relay.status.unreachable(code)
	return fmt.Errorf("%s: %w", method, err)
}
