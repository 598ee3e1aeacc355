package buffer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/services/buffer/outbox"
	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

// server implements BufferService.
type server struct {
	bufferv1.UnimplementedBufferServiceServer

	cfg        Config
	streams    *redisstream.Store
	outbox     *outbox.Store
	dispatcher *dispatcher
	reconciler *reconciler
	metrics    *metrics
	logger     *slog.Logger
	// stopping is closed when the process was told to stop: long polls end.
	stopping <-chan struct{}
}

// Append implements BufferService.
func (s *server) Append(ctx context.Context, req *bufferv1.AppendRequest) (*bufferv1.AppendResponse, error) {
	project, err := projectOf(req.GetOrgId(), req.GetProjectId())
	if err != nil {
		return nil, err
	}
	if len(req.GetEvents()) == 0 {
		return nil, rpcerr.InvalidField("events", "is empty")
	}
	appending, err := s.cfg.appending(req.GetEvents())
	if err != nil {
		return nil, err
	}
	appended, err := s.streams.Append(ctx, project, appending)
	if errors.Is(err, redisstream.ErrFull) { // Redis is at its limit: the same as a project at its own
		appended.Overflow, err = true, nil
	}
	if err != nil {
		return nil, storeError(err)
	}
	s.metrics.appended.Add(float64(appended.Held))
	s.dispatcher.notify(appended.DueIn)
	return &bufferv1.AppendResponse{Appended: int32(appended.Held), Overflow: appended.Overflow}, nil //nolint:gosec // at most the events of one message
}

// appending is events in the form in which they rest, with what they make due.
func (c *Config) appending(events []*eventv1.Event) (redisstream.Appending, error) {
	a := redisstream.Appending{Events: make([]redisstream.Event, len(events))}
	for i, ev := range events {
		if ev.GetEventId() == "" {
			return a, rpcerr.InvalidField(fmt.Sprintf("events[%d].event_id", i), "is empty")
		}
		payload, err := proto.Marshal(ev)
		if err != nil {
			return a, fmt.Errorf("encode event: %w", err)
		}
		a.Events[i] = redisstream.Event{ID: ev.GetEventId(), Payload: payload}
		if by := c.makesDue(ev); by != "" && a.DueBy != dueBySessionEnd {
			a.DueBy, a.DueAfter = by, c.TurnEndDelay
		}
	}
	return a, nil
}

const (
	dueByTurnEnd    = "turn_end"
	dueBySessionEnd = "session_end"
)

// makesDue is what the event makes its project due by; empty when it does not. A compaction ends a turn for us: what the agent is
// about to forget is to be remembered now.
func (c *Config) makesDue(ev *eventv1.Event) string {
	switch ev.GetLifecycle().GetType() {
	case eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_END:
		return dueBySessionEnd
	case eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_END, eventv1.LifecycleType_LIFECYCLE_TYPE_COMPACTION:
		if c.DueTurnEnd {
			return dueByTurnEnd
		}
	}
	if ev.GetKind() == eventv1.Kind_KIND_SESSION_SUMMARY && c.DueTurnEnd {
		return dueByTurnEnd
	}
	return ""
}

func projectOf(org, project string) (redisstream.Project, error) {
	var violations []*errorv1.FieldViolation
	if !validOrg(org) {
		violations = append(violations, &errorv1.FieldViolation{Field: "org_id", Description: "is not an organisation's id"})
	}
	if project == "" {
		violations = append(violations, &errorv1.FieldViolation{Field: "project_id", Description: "is empty"})
	}
	if violations != nil {
		return redisstream.Project{}, rpcerr.Invalid(violations)
	}
	return redisstream.Project{Org: org, ID: project}, nil
}

// validOrg tells whether the id is a UUID in its canonical spelling: others would name the same organisation under another key.
func validOrg(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') {
			return false
		}
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// storeError marks what passes, so that the edge says UNAVAILABLE, and names a lost lease.
func storeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, redisstream.ErrLeaseLost):
		return rpcerr.New(codes.FailedPrecondition, errorv1.ErrorReason_ERROR_REASON_LEASE_LOST,
			"the lease is over or another worker has the project")
	case errors.Is(err, redisstream.ErrUnavailable), errors.Is(err, redisstream.ErrFull):
		return fmt.Errorf("%w: %w", rpcerr.ErrUnavailable, err)
	}
	return err
}

// duration reads an optional duration within limits.
func duration(field string, asked interface{ AsDuration() time.Duration }, absent bool, fallback, low, high time.Duration) (time.Duration, error) {
	if absent {
		return fallback, nil
	}
	d := asked.AsDuration()
	if d < low || d > high {
		return 0, rpcerr.InvalidField(field, fmt.Sprintf("is %v, want %v to %v", d, low, high))
	}
	return d, nil
}
