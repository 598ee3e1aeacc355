package buffer

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/services/buffer/outbox"
	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/page"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

const (
	defaultLetters = 50
	maxLetters     = 200
	maxRequeue     = 500
)

// MakeDue implements BufferService.
func (s *server) MakeDue(ctx context.Context, req *bufferv1.MakeDueRequest) (*bufferv1.MakeDueResponse, error) {
	org, err := orgOf(ctx, req.GetOrgId())
	if err != nil {
		return nil, err
	}
	// What never reached Redis is fed first, or "at once" would not hold for it.
	projects, err := s.unfinishedProjects(ctx, org, req.GetProjectId())
	if err != nil {
		return nil, storeError(err)
	}
	due := int32(0)
	for _, p := range projects {
		if err := s.reconciler.feeder.feed(ctx, p, 0); err != nil {
			return nil, storeError(err)
		}
		waiting, err := s.streams.MakeDue(ctx, p)
		if err != nil {
			return nil, storeError(err)
		}
		if waiting > 0 {
			due++
		}
	}
	s.dispatcher.notify(0)
	return &bufferv1.MakeDueResponse{Projects: due}, nil
}

func (s *server) unfinishedProjects(ctx context.Context, org, project string) ([]redisstream.Project, error) {
	names, err := s.outbox.Projects(ctx, outbox.Filter{Org: org, Project: project})
	projects := make([]redisstream.Project, len(names))
	for i, name := range names {
		projects[i] = redisstream.Project{Org: org, ID: name}
	}
	return projects, err
}

// orgOf is the organisation that a call is about: the caller's own, or the one that a service names.
func orgOf(ctx context.Context, asked string) (string, error) {
	principal := auth.FromContext(ctx)
	if principal.IsService() {
		if !validOrg(asked) {
			return "", rpcerr.InvalidField("org_id", "is not an organisation's id")
		}
		return asked, nil
	}
	if asked != "" && asked != principal.OrgID() {
		return "", rpcerr.New(codes.PermissionDenied, errorv1.ErrorReason_ERROR_REASON_MISSING_SCOPE,
			"org_id: administrators act on their own organisation")
	}
	return principal.OrgID(), nil
}

// GetStats implements BufferService.
func (s *server) GetStats(ctx context.Context, req *bufferv1.GetStatsRequest) (*bufferv1.GetStatsResponse, error) {
	org := auth.FromContext(ctx).OrgID() // empty for a service, which sees all
	survey, err := s.streams.Survey(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	stats, err := s.outbox.Stats(ctx, outbox.Filter{Org: org, Project: req.GetProjectId()})
	if err != nil {
		return nil, storeError(err)
	}
	resp := &bufferv1.GetStatsResponse{UnfinishedEvents: stats.Unfinished, DeadLetters: stats.DeadLetters}
	for p, h := range survey.Held {
		if (org != "" && p.Org != org) || (req.GetProjectId() != "" && p.ID != req.GetProjectId()) {
			continue
		}
		resp.BufferedEvents += h.Events
		resp.BufferedBytes += h.Bytes
		if h.Events > 0 {
			resp.Projects++
		}
		if h.Leased {
			resp.Leases++
		}
	}
	if !stats.Oldest.IsZero() {
		resp.OldestUnfinishedTime = timestamppb.New(stats.Oldest)
	}
	finished := stats.Finished
	if req.GetProjectId() == "" {
		finished = s.metrics.lastOf(org, finished)
	}
	if !finished.IsZero() {
		resp.LastFinishedTime = timestamppb.New(finished)
	}
	return resp, nil
}

// ListDeadLetters implements BufferService.
func (s *server) ListDeadLetters(ctx context.Context, req *bufferv1.ListDeadLettersRequest) (*bufferv1.ListDeadLettersResponse, error) {
	size, err := page.Size(req.GetPageSize(), defaultLetters, maxLetters)
	if err != nil {
		return nil, err
	}
	principal := auth.FromContext(ctx)
	query := []string{"dead letters", principal.OrgID(), req.GetProjectId()}
	var cursor outbox.DeadCursor
	var after *outbox.DeadCursor
	if more, err := page.Cursor(req.GetPageToken(), &cursor, query...); err != nil {
		return nil, err
	} else if more {
		after = &cursor
	}
	letters, err := s.outbox.DeadLetters(ctx, principal, req.GetProjectId(), after, size+1)
	if err != nil {
		return nil, err
	}
	resp := &bufferv1.ListDeadLettersResponse{}
	if len(letters) > size {
		letters = letters[:size]
		last := letters[size-1]
		if resp.NextPageToken, err = page.Token(outbox.DeadCursor{DeadAt: last.DeadAt, EventID: last.EventID}, query...); err != nil {
			return nil, err
		}
	}
	for _, l := range letters {
		resp.DeadLetters = append(resp.DeadLetters, &bufferv1.DeadLetter{
			EventId: l.EventID, ProjectId: l.ProjectID, SessionId: l.SessionID, ActorId: l.ActorID, Kind: eventv1.Kind(l.Kind),
			Attempts: l.Attempts, Reason: l.Reason, DeadTime: timestamppb.New(l.DeadAt),
		})
	}
	return resp, nil
}

// RequeueDeadLetters implements BufferService.
func (s *server) RequeueDeadLetters(ctx context.Context, req *bufferv1.RequeueDeadLettersRequest) (*bufferv1.RequeueDeadLettersResponse, error) {
	switch n := len(req.GetEventIds()); {
	case n > maxRequeue:
		return nil, rpcerr.InvalidField("event_ids", fmt.Sprintf("has %d ids, at most %d", n, maxRequeue))
	case n == 0 && !req.GetAll():
		return nil, rpcerr.InvalidField("event_ids", "is empty: give ids, or all")
	case n > 0 && req.GetAll():
		return nil, rpcerr.InvalidField("all", "is set beside event_ids: give one")
	}
	requeued, err := s.outbox.Requeue(ctx, auth.FromContext(ctx), outbox.Requeueing{
		EventIDs: req.GetEventIds(), All: req.GetAll(), Project: req.GetProjectId(),
	})
	if err != nil {
		return nil, err
	}
	total := 0
	for _, n := range requeued {
		total += n
	}
	if total > 0 {
		s.reconciler.passAtOnce()
	}
	return &bufferv1.RequeueDeadLettersResponse{Requeued: int32(total)}, nil
}
