package buffer

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/services/internal/grpcclient"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

func TestAppendLeaseAck(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	require.Empty(t, h.look().GetLeaseId(), "nothing is due yet")
	events := prompts(3, turnEnd)
	require.EqualValues(t, 3, h.ingest(h.org, project, events).GetAppended())

	lease := h.lease()
	require.Equal(t, idsOf(events), eventIDs(lease))
	require.Equal(t, "turn_end", lease.GetDueBy())
	require.Equal(t, h.org, lease.GetOrgId())
	require.Equal(t, project, lease.GetProjectId())
	require.Equal(t, "prompt 1", lease.GetEvents()[1].GetEvent().GetBody().GetText().GetContent())
	require.WithinDuration(t, time.Now().Add(time.Minute), lease.GetExpireTime().AsTime(), 30*time.Second)
	require.Equal(t, map[int]int{2: 3}, h.statuses(h.org))
	require.EqualValues(t, 1, h.stats(h.client).GetLeases())

	extended, err := h.client.ExtendLease(t.Context(), &bufferv1.ExtendLeaseRequest{LeaseId: lease.GetLeaseId(), Duration: durationpb.New(10 * time.Minute)})
	require.NoError(t, err)
	require.True(t, extended.GetExpireTime().AsTime().After(lease.GetExpireTime().AsTime()))
	require.EqualValues(t, 3, h.finish(lease).GetRemoved())
	stats := h.stats(h.client)
	require.Zero(t, stats.GetBufferedEvents())
	require.Zero(t, stats.GetLeases())
	require.Zero(t, stats.GetUnfinishedEvents())
	require.NotNil(t, stats.GetLastFinishedTime())
	require.Nil(t, stats.GetOldestUnfinishedTime())
	for _, name := range []string{"kiroku_buffer_appended_total", "kiroku_buffer_leased_total", "kiroku_buffer_acked_total"} {
		require.EqualValues(t, 3, h.metric(name), name)
	}
	require.InDelta(t, time.Now().Unix(), h.metric("kiroku_last_finished_timestamp"), 60)
}

func TestSessionEndAndCompactionMakeDue(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	for kind, by := range map[eventv1.LifecycleType]string{
		eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_END: "session_end",
		eventv1.LifecycleType_LIFECYCLE_TYPE_COMPACTION:  "turn_end",
	} {
		h.ingest(h.org, "p_"+by, prompts(1, func(ev *eventv1.Event) { ev.Lifecycle = &eventv1.Lifecycle{Type: kind} }))
		lease := h.lease()
		require.Equal(t, by, lease.GetDueBy())
		h.finish(lease)
	}
}

func TestWaitingWorkersGetEachProjectOnce(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	const projects, workers = 24, 16
	var mu sync.Mutex
	leased := make(map[string]int)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				lease, err := h.client.Lease(ctx, &bufferv1.LeaseRequest{MaxWait: durationpb.New(within)})
				if err != nil || lease.GetLeaseId() == "" {
					return
				}
				mu.Lock()
				leased[lease.GetProjectId()]++
				complete := len(leased) == projects
				mu.Unlock()
				if complete {
					cancel()
				}
			}
		})
	}
	for i := range projects {
		h.ingest(h.org, "p_"+string(rune('a'+i)), prompts(2, turnEnd))
	}
	wg.Wait()
	require.Len(t, leased, projects)
	for p, n := range leased {
		require.Equal(t, 1, n, p)
	}
}

func TestExpiredLeaseGoesToAnotherWorker(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	events := prompts(2, turnEnd)
	h.ingest(h.org, project, events)
	lost := h.lease()
	h.expireLeases()
	again := h.lease()
	require.Equal(t, idsOf(events), eventIDs(again))
	require.Equal(t, "retry", again.GetDueBy())
	require.Greater(t, again.GetFencingToken(), lost.GetFencingToken())

	_, err := h.client.Ack(t.Context(), &bufferv1.AckRequest{LeaseId: lost.GetLeaseId(), EntryIds: entryIDs(lost), EndLease: true})
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	require.Equal(t, errorv1.ErrorReason_ERROR_REASON_LEASE_LOST, rpcerr.Reason(err))
	_, err = h.client.Nack(t.Context(), &bufferv1.NackRequest{LeaseId: lost.GetLeaseId(), BlamedEntryIds: entryIDs(lost), Permanent: true})
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	require.Equal(t, map[int]int{2: 2}, h.statuses(h.org), "a worker that comes back changes nothing")
	h.finish(again)
}

func TestExpiredLeaseIsPendingAgainThoughNobodyAsks(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.ingest(h.org, project, prompts(2, turnEnd))
	h.lease()
	h.expireLeases()
	testenv.Eventually(t, within, func() bool { return h.statuses(h.org)[1] == 2 }, "the rows stay leased")
}

func TestFinishedAndForgottenEventsAreNotHandedOut(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	events := prompts(3, turnEnd)
	h.store(h.org, project, events)
	h.exec("UPDATE event_state SET status = 3 WHERE event_id = $1", events[0].GetEventId())
	h.exec("DELETE FROM event_state WHERE event_id = $1", events[1].GetEventId())
	_, err := h.client.Append(t.Context(), &bufferv1.AppendRequest{OrgId: h.org, ProjectId: project, Events: events})
	require.NoError(t, err)
	lease := h.lease()
	require.Equal(t, idsOf(events[2:]), eventIDs(lease))
	h.finish(lease)
	require.Zero(t, h.stats(h.client).GetBufferedEvents())

	_, err = h.client.Append(t.Context(), &bufferv1.AppendRequest{OrgId: h.org, ProjectId: project, Events: events})
	require.NoError(t, err)
	testenv.Eventually(t, within, func() bool {
		require.Empty(t, h.look().GetLeaseId())
		return h.stats(h.client).GetBufferedEvents() == 0
	}, "events that were all finished stay in Redis")
}

func TestTokenStaysAboveTheFence(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	const fence = int64(9_000_000_000_000_000) // in the far future of Redis's clock
	h.exec("INSERT INTO project_state (org_id, project_id, fence) VALUES ($1, $2, $3)", h.org, project, fence)
	h.ingest(h.org, project, prompts(1, turnEnd))
	lease := h.lease()
	require.Greater(t, lease.GetFencingToken(), fence)
	h.finish(lease)
}

func TestPoisonBecomesADeadLetterAndNeighboursAreExtracted(t *testing.T) {
	t.Parallel()
	h := start(t, func(cfg *Config) { cfg.MaxAttempts = 3 })
	events := prompts(9, turnEnd)
	poison := events[4].GetEventId()
	h.ingest(h.org, project, events)
	dead := int32(0)
	for rounds := 0; dead == 0 || h.statuses(h.org)[3] < 8; rounds++ {
		require.Less(t, rounds, 30, "%v", h.statuses(h.org))
		lease := h.lease()
		at := -1
		for i, e := range lease.GetEvents() {
			if e.GetEvent().GetEventId() == poison {
				at = i
			}
		}
		if at < 0 {
			h.finish(lease)
			continue
		}
		resp, err := h.client.Nack(t.Context(), &bufferv1.NackRequest{
			LeaseId: lease.GetLeaseId(), Reason: "the model refuses\x00", BlamedEntryIds: entryIDs(lease),
		})
		require.NoError(t, err)
		dead += resp.GetDead()
	}
	require.EqualValues(t, 1, dead)
	require.Equal(t, map[int]int{3: 8, 5: 1}, h.statuses(h.org))
	require.Zero(t, h.stats(h.client).GetBufferedEvents())

	admin := h.admin("first")
	letters, err := admin.ListDeadLetters(t.Context(), &bufferv1.ListDeadLettersRequest{})
	require.NoError(t, err)
	require.Len(t, letters.GetDeadLetters(), 1)
	letter := letters.GetDeadLetters()[0]
	require.Equal(t, poison, letter.GetEventId())
	require.Equal(t, "the model refuses", letter.GetReason())
	require.Equal(t, project, letter.GetSessionId())
	require.GreaterOrEqual(t, letter.GetAttempts(), int32(3))

	requeued, err := admin.RequeueDeadLetters(t.Context(), &bufferv1.RequeueDeadLettersRequest{EventIds: []string{poison}})
	require.NoError(t, err)
	require.EqualValues(t, 1, requeued.GetRequeued())
	testenv.Eventually(t, within, func() bool { return h.stats(h.client).GetBufferedEvents() == 1 }, "a requeued event is not fed")
	made, err := admin.MakeDue(t.Context(), &bufferv1.MakeDueRequest{})
	require.NoError(t, err)
	require.EqualValues(t, 1, made.GetProjects())
	lease := h.lease()
	require.Equal(t, []string{poison}, eventIDs(lease))
	require.Zero(t, lease.GetEvents()[0].GetAttempts())
	h.finish(lease)
}

func TestPermanentIsDeadAtOnce(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	events := prompts(3, turnEnd)
	h.ingest(h.org, project, events)
	lease := h.lease()
	resp, err := h.client.Nack(t.Context(), &bufferv1.NackRequest{
		LeaseId: lease.GetLeaseId(), Reason: "cannot be read", BlamedEntryIds: entryIDs(lease)[:2], Permanent: true,
	})
	require.NoError(t, err)
	require.EqualValues(t, 2, resp.GetDead())
	rest := h.lease()
	require.Equal(t, idsOf(events[2:]), eventIDs(rest))
	h.finish(rest)
}

func TestOutageBlamesNobodyAndWaits(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.ingest(h.org, project, prompts(2, turnEnd))
	lease := h.lease()
	_, err := h.client.Nack(t.Context(), &bufferv1.NackRequest{
		LeaseId: lease.GetLeaseId(), Reason: "429", NotBefore: timestamppb.New(time.Now().Add(time.Hour)),
	})
	require.NoError(t, err)
	require.Equal(t, map[int]int{1: 2}, h.statuses(h.org))
	require.Empty(t, h.look().GetLeaseId())
	_, err = h.client.MakeDue(t.Context(), &bufferv1.MakeDueRequest{OrgId: h.org, ProjectId: project})
	require.NoError(t, err)
	again := h.lease()
	require.Equal(t, "asked", again.GetDueBy())
	require.Zero(t, again.GetEvents()[0].GetAttempts(), "nobody was to blame")
}

func TestEventThatTakesItsWorkersWithItBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	h := start(t, func(cfg *Config) { cfg.MaxAttempts = 2 })
	h.ingest(h.org, project, prompts(1, turnEnd))
	for range 2 {
		h.lease()
		h.expireLeases()
	}
	testenv.Eventually(t, within, func() bool {
		require.Empty(t, h.look().GetLeaseId())
		return h.statuses(h.org)[5] == 1
	}, "the event is tried for ever")
	require.Zero(t, h.stats(h.client).GetBufferedEvents())
}

func TestNoisyOrganisationDoesNotDelayTheQuietOne(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	quiet := h.newOrg("quiet")
	for i := range 20 {
		h.ingest(h.org, "p_"+string(rune('a'+i)), prompts(1, turnEnd))
	}
	first := h.lease()
	require.Equal(t, h.org, first.GetOrgId())
	h.ingest(quiet, "p_q", prompts(1, turnEnd))
	testenv.Eventually(t, within, func() bool { return h.dueNow() == 20 }, "not all are due")
	require.Equal(t, quiet, h.lease().GetOrgId(), "the organisation without a lease goes first")
}

// dueNow counts the projects whose time has come and that no poll can have missed.
func (h *harness) dueNow() int {
	h.t.Helper()
	keys, err := h.redis.Keys(h.t.Context(), h.cfg.RedisPrefix+":*:due").Result()
	require.NoError(h.t, err)
	n := 0
	for _, key := range keys {
		for _, z := range h.redis.ZRangeWithScores(h.t.Context(), key, 0, -1).Val() {
			if time.UnixMilli(int64(z.Score)).Before(time.Now().Add(-candidatesFor)) {
				n++
			}
		}
	}
	return n
}

func TestRequestsAreValidated(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	ctx := t.Context()
	lease := heldLease{token: 1}
	lease.project.Org, lease.project.ID = h.org, project
	for name, call := range map[string]func() error{
		"append without org": func() error {
			_, err := h.client.Append(ctx, &bufferv1.AppendRequest{ProjectId: project, Events: prompts(1)})
			return err
		},
		"append without events": func() error {
			_, err := h.client.Append(ctx, &bufferv1.AppendRequest{OrgId: h.org, ProjectId: project})
			return err
		},
		"append without event id": func() error {
			_, err := h.client.Append(ctx, &bufferv1.AppendRequest{OrgId: h.org, ProjectId: project, Events: []*eventv1.Event{{}}})
			return err
		},
		"lease too short": func() error {
			_, err := h.client.Lease(ctx, &bufferv1.LeaseRequest{Duration: durationpb.New(time.Second)})
			return err
		},
		"wait too long": func() error {
			_, err := h.client.Lease(ctx, &bufferv1.LeaseRequest{MaxWait: durationpb.New(time.Hour)})
			return err
		},
		"batch too large":  func() error { _, err := h.client.Lease(ctx, &bufferv1.LeaseRequest{MaxEvents: 2001}); return err },
		"foreign lease id": func() error { _, err := h.client.Ack(ctx, &bufferv1.AckRequest{LeaseId: "x"}); return err },
		"foreign entry id": func() error {
			_, err := h.client.Ack(ctx, &bufferv1.AckRequest{LeaseId: lease.id(), EntryIds: []string{"1-0"}})
			return err
		},
		"make due without org": func() error { _, err := h.client.MakeDue(ctx, &bufferv1.MakeDueRequest{}); return err },
	} {
		require.Equal(t, codes.InvalidArgument, status.Code(call()), name)
	}
	_, err := h.client.ExtendLease(ctx, &bufferv1.ExtendLeaseRequest{LeaseId: lease.id()})
	require.Equal(t, errorv1.ErrorReason_ERROR_REASON_LEASE_LOST, rpcerr.Reason(err), "a lease that never was")
}

func TestStoppingEndsLongPolls(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	conn, err := grpcclient.Dial(grpcclient.Config{Addr: h.conn.Target(), ServiceToken: serviceSecret})
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	answered := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	go func() {
		_, err := bufferv1.NewBufferServiceClient(conn).Lease(ctx, &bufferv1.LeaseRequest{MaxWait: durationpb.New(time.Minute)})
		answered <- err
	}()
	h.ingest(h.org, project, prompts(1)) // gives the poll time to arrive; the answer is the same when it has not
	h.stop()
	require.Equal(t, codes.Unavailable, status.Code(<-answered))
}

func TestLeaseIDs(t *testing.T) {
	t.Parallel()
	want := heldLease{token: 42}
	want.project.Org, want.project.ID = postgres.OrgIDForName("x"), "p/with/slashes"
	got, err := parseLease(want.id())
	require.NoError(t, err)
	require.Equal(t, want, got)
}
