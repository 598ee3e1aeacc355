package buffer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/services/buffer/outbox"
	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

const (
	maxBatch     = 2000
	defaultBatch = 500

	maxWait          = time.Minute
	minLease         = 5 * time.Second
	maxLease         = 10 * time.Minute
	defaultLease     = time.Minute
	answerReserve    = 100 * time.Millisecond // of the caller's deadline, to answer that nothing was due
	shortWait        = 100 * time.Millisecond // below this a call looks once and does not wait
	lookTimeout      = 5 * time.Second        // of such a look, for when Redis is slow
	afterStoreFailed = time.Second            // how long a project waits when its lease could not be marked in Postgres
	giveBackTimeout  = 2 * time.Second
)

// Lease implements BufferService.
func (s *server) Lease(ctx context.Context, req *bufferv1.LeaseRequest) (*bufferv1.LeaseResponse, error) {
	limits, wait, err := leaseLimits(req)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)-answerReserve)
	}
	once := wait < shortWait
	if once {
		wait = lookTimeout
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		lease, err := s.next(waiting, ctx, limits, once)
		switch {
		case errors.Is(err, errNothingDue), err != nil && waiting.Err() != nil && ctx.Err() == nil:
			return &bufferv1.LeaseResponse{}, nil
		case err != nil:
			return nil, storeError(err)
		case lease == nil:
			continue
		}
		s.logger.DebugContext(ctx, "leased", "org_id", lease.GetOrgId(), "project_id", lease.GetProjectId(), "worker_id", req.GetWorkerId(),
			"events", len(lease.GetEvents()), "due_by", lease.GetDueBy(), "fencing_token", lease.GetFencingToken())
		return lease, nil
	}
}

func leaseLimits(req *bufferv1.LeaseRequest) (redisstream.LeaseLimits, time.Duration, error) {
	length, err := duration("duration", req.GetDuration(), req.GetDuration() == nil, defaultLease, minLease, maxLease)
	if err != nil {
		return redisstream.LeaseLimits{}, 0, err
	}
	wait, err := duration("max_wait", req.GetMaxWait(), req.GetMaxWait() == nil, 0, 0, maxWait)
	if err != nil {
		return redisstream.LeaseLimits{}, 0, err
	}
	most := int(req.GetMaxEvents())
	if most == 0 {
		most = defaultBatch
	}
	if most < 0 || most > maxBatch {
		return redisstream.LeaseLimits{}, 0, rpcerr.InvalidField("max_events", fmt.Sprintf("is %d, want 1 to %d", most, maxBatch))
	}
	return redisstream.LeaseLimits{Duration: length, MaxEvents: most}, wait, nil
}

// next waits for a project that is due and leases it. It returns nil when somebody else was quicker or nothing was left to do in it.
func (s *server) next(waiting, ctx context.Context, limits redisstream.LeaseLimits, once bool) (*bufferv1.LeaseResponse, error) {
	project, err := s.dispatcher.next(waiting, s.stopping, once)
	if errors.Is(err, errStopping) {
		return nil, rpcerr.New(codes.Unavailable, errorv1.ErrorReason_ERROR_REASON_STOPPING, "the buffer is stopping; try again")
	}
	if err != nil {
		return nil, err
	}
	defer s.dispatcher.done(project)
	lease, err := s.streams.Lease(ctx, project, limits)
	if err != nil || lease == nil {
		return nil, err
	}
	if lease.Regrouped {
		s.logger.WarnContext(ctx, "consumer group was gone and was made anew", "org_id", project.Org, "project_id", project.ID)
		s.reconciler.passAtOnce()
	}
	response, err := s.handOut(ctx, lease)
	if err == nil && ctx.Err() != nil { // nobody waits for the answer any more
		response, err = nil, ctx.Err()
	}
	if err != nil {
		s.giveBack(ctx, lease)
	}
	return response, err
}

// handOut marks a lease's events as leased in Postgres, drops those that need no extraction any more and makes the answer. It returns nil
// when none is left.
func (s *server) handOut(ctx context.Context, lease *redisstream.Lease) (*bufferv1.LeaseResponse, error) {
	if lease.LostAlone >= s.cfg.MaxAttempts {
		return nil, s.bury(ctx, lease)
	}
	marked, err := s.mark(ctx, lease)
	if err != nil {
		return nil, err
	}
	events, dropped, err := unfinished(lease, marked)
	if err != nil {
		return nil, err
	}
	if len(dropped) > 0 {
		acked, err := s.streams.Ack(ctx, lease.Project, lease.Token, dropped, len(events) == 0)
		if err != nil {
			return nil, err
		}
		s.dispatcher.notify(acked.DueIn)
		s.logger.DebugContext(ctx, "dropped events that were finished", "org_id", lease.Project.Org, "project_id", lease.Project.ID, "events", len(dropped))
	}
	if len(events) == 0 {
		return nil, nil //nolint:nilnil // nothing to do in this project: the caller waits for another
	}
	s.metrics.leased.Add(float64(len(events)))
	return &bufferv1.LeaseResponse{
		LeaseId: heldLease{project: lease.Project, token: lease.Token}.id(), FencingToken: lease.Token,
		ExpireTime: timestamppb.New(lease.Expiry), OrgId: lease.Project.Org, ProjectId: lease.Project.ID, Events: events, DueBy: lease.DueBy,
	}, nil
}

// mark moves the events to leased. When Postgres knows a higher token than the lease's, Redis was lost together with its clock: the lease
// gets a token above it, or its work could never be committed.
func (s *server) mark(ctx context.Context, lease *redisstream.Lease) (outbox.Marked, error) {
	ids := make([]string, len(lease.Entries))
	for i, e := range lease.Entries {
		ids[i] = e.EventID
	}
	for {
		marked, err := s.outbox.MarkLeased(ctx, lease.Project.Org, lease.Project.ID, ids, lease.Token)
		if err != nil || marked.Fence <= lease.Token {
			return marked, err
		}
		s.logger.WarnContext(ctx, "redis's clock is behind: raising the fencing token", "org_id", lease.Project.Org, "project_id", lease.Project.ID)
		if lease.Token, err = s.streams.Retoken(ctx, lease.Project, lease.Token, marked.Fence); err != nil {
			return marked, err
		}
	}
}

// unfinished splits a batch into the events to extract and the entries to drop: finished, gone, or there twice.
func unfinished(lease *redisstream.Lease, marked outbox.Marked) ([]*bufferv1.LeasedEvent, []redisstream.Entry, error) {
	var events []*bufferv1.LeasedEvent
	var dropped []redisstream.Entry
	seen := make(map[string]bool, len(lease.Entries))
	for _, entry := range lease.Entries {
		attempts, ok := marked.Attempts[entry.EventID]
		if !ok || seen[entry.EventID] {
			dropped = append(dropped, entry.Entry)
			continue
		}
		seen[entry.EventID] = true
		ev := &eventv1.Event{}
		if err := proto.Unmarshal(entry.Payload, ev); err != nil {
			return nil, nil, fmt.Errorf("decode event %s: %w", entry.EventID, err)
		}
		events = append(events, &bufferv1.LeasedEvent{EntryId: entryID(entry.Entry), Event: ev, Attempts: int32(attempts)}) //nolint:gosec // a smallint
	}
	return events, dropped, nil
}

// bury makes a dead letter of an event that takes its worker with it: nobody is left to report it.
func (s *server) bury(ctx context.Context, lease *redisstream.Lease) error {
	marked, err := s.mark(ctx, lease)
	if err != nil {
		return err
	}
	entry := lease.Entries[0].Entry
	if _, ok := marked.Attempts[entry.EventID]; ok {
		dead, err := s.outbox.Blame(ctx, outbox.Blame{
			Org: lease.Project.Org, IDs: []string{entry.EventID}, Token: lease.Token, Dying: 1,
			Reason: fmt.Sprintf("%d leases of this event alone expired without an answer", lease.LostAlone),
		})
		if err != nil {
			return err
		}
		s.metrics.dead.Add(float64(len(dead)))
		s.logger.WarnContext(ctx, "dead letter: its leases expire", "event_id", entry.EventID, "org_id", lease.Project.Org)
	}
	acked, err := s.streams.Ack(ctx, lease.Project, lease.Token, []redisstream.Entry{entry}, true)
	s.dispatcher.notify(acked.DueIn)
	return err
}

// giveBack ends a lease that could not be handed out, so that its project need not wait for the lease to expire.
func (s *server) giveBack(ctx context.Context, lease *redisstream.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	returned, err := s.streams.Nack(ctx, lease.Project, lease.Token, redisstream.Nacking{NotBefore: time.Now().Add(afterStoreFailed)})
	if err == nil {
		err = s.outbox.Release(ctx, lease.Project.Org, returned.EventIDs, lease.Token)
	}
	if err != nil && !errors.Is(err, redisstream.ErrLeaseLost) {
		s.logger.WarnContext(ctx, "could not give a lease back; it will expire", "org_id", lease.Project.Org, "project_id", lease.Project.ID, "err", err)
	}
}
