package buffer

import (
	"context"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	"github.com/kiroku-dev/kiroku/services/buffer/outbox"
	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
)

// ExtendLease implements BufferService.
func (s *server) ExtendLease(ctx context.Context, req *bufferv1.ExtendLeaseRequest) (*bufferv1.ExtendLeaseResponse, error) {
	lease, err := parseLease(req.GetLeaseId())
	if err != nil {
		return nil, err
	}
	length, err := duration("duration", req.GetDuration(), req.GetDuration() == nil, defaultLease, minLease, maxLease)
	if err != nil {
		return nil, err
	}
	expiry, err := s.streams.Extend(ctx, lease.project, lease.token, length)
	if err != nil {
		return nil, storeError(err)
	}
	return &bufferv1.ExtendLeaseResponse{ExpireTime: timestamppb.New(expiry)}, nil
}

// Ack implements BufferService.
func (s *server) Ack(ctx context.Context, req *bufferv1.AckRequest) (*bufferv1.AckResponse, error) {
	lease, err := parseLease(req.GetLeaseId())
	if err != nil {
		return nil, err
	}
	entries, err := parseEntries("entry_ids", req.GetEntryIds())
	if err != nil {
		return nil, err
	}
	acked, err := s.streams.Ack(ctx, lease.project, lease.token, entries, req.GetEndLease())
	if err != nil {
		return nil, storeError(err)
	}
	s.metrics.acked.Add(float64(acked.Removed))
	s.metrics.finished(lease.project.Org)
	s.dispatcher.notify(acked.DueIn)
	if acked.Refill {
		s.reconciler.refill(lease.project)
	}
	return &bufferv1.AckResponse{Removed: int32(acked.Removed)}, nil //nolint:gosec // at most a batch
}

// Nack implements BufferService.
func (s *server) Nack(ctx context.Context, req *bufferv1.NackRequest) (*bufferv1.NackResponse, error) {
	lease, err := parseLease(req.GetLeaseId())
	if err != nil {
		return nil, err
	}
	blamed, err := parseEntries("blamed_entry_ids", req.GetBlamedEntryIds())
	if err != nil {
		return nil, err
	}
	if err := s.streams.Hold(ctx, lease.project, lease.token); err != nil {
		return nil, storeError(err)
	}
	dead, err := s.blame(ctx, lease, blamed, req)
	if err != nil {
		return nil, storeError(err)
	}
	returned, err := s.streams.Nack(ctx, lease.project, lease.token, nacking(blamed, dead, req.GetNotBefore()))
	if err != nil {
		return nil, storeError(err)
	}
	s.dispatcher.notify(returned.DueIn)
	s.metrics.nacked.Add(float64(len(returned.EventIDs)))
	if err := s.outbox.Release(ctx, lease.project.Org, returned.EventIDs, lease.token); err != nil {
		return nil, storeError(err)
	}
	return &bufferv1.NackResponse{Dead: int32(len(dead))}, nil //nolint:gosec // at most a batch
}

// nacking tells the dead from those that are tried again.
func nacking(blamed []redisstream.Entry, dead []string, notBefore *timestamppb.Timestamp) redisstream.Nacking {
	var n redisstream.Nacking
	if notBefore != nil {
		n.NotBefore = notBefore.AsTime()
	}
	isDead := make(map[string]bool, len(dead))
	for _, id := range dead {
		isDead[id] = true
	}
	for _, entry := range blamed {
		if isDead[entry.EventID] {
			n.Dead = append(n.Dead, entry)
		} else {
			n.Blamed = append(n.Blamed, entry)
		}
	}
	return n
}

// blame counts the attempt and returns the ids of the events that became dead letters. Events that fail together are not given up, however
// often: they are split until the bad one stands alone. So nothing dies for its neighbour, unless the worker says that all of them are bad.
func (s *server) blame(ctx context.Context, lease heldLease, blamed []redisstream.Entry, req *bufferv1.NackRequest) ([]string, error) {
	if len(blamed) == 0 {
		return nil, nil
	}
	dying := 0
	switch {
	case req.GetPermanent():
		dying = 1
	case len(blamed) == 1:
		dying = s.cfg.MaxAttempts
	}
	ids := make([]string, len(blamed))
	for i, entry := range blamed {
		ids[i] = entry.EventID
	}
	dead, err := s.outbox.Blame(ctx, outbox.Blame{
		Org: lease.project.Org, IDs: ids, Token: lease.token, Reason: reason(req.GetReason()), Dying: dying,
	})
	if len(dead) > 0 {
		s.metrics.dead.Add(float64(len(dead)))
		s.logger.WarnContext(ctx, "dead letters", "org_id", lease.project.Org, "project_id", lease.project.ID, "events", len(dead))
	}
	return dead, err
}

// reason is words that Postgres takes.
func reason(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "�")
	if text == "" {
		return "no reason given"
	}
	return text
}
