package buffer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

// buffered waits until Redis holds that many events.
func (h *harness) buffered(want int64) {
	h.t.Helper()
	testenv.Eventually(h.t, within, func() bool { return h.stats(h.client).GetBufferedEvents() == want }, "Redis is not in step with Postgres")
}

// drain extracts everything and returns how often each event was handed out.
func (h *harness) drain(total int) map[string]int {
	h.t.Helper()
	seen := make(map[string]int)
	for len(seen) < total {
		lease := h.lease()
		for _, id := range eventIDs(lease) {
			seen[id]++
		}
		h.finish(lease)
	}
	return seen
}

func TestFlushedRedisIsFedAgain(t *testing.T) {
	t.Parallel()
	h := startOn(t, configured(t, testenv.PrivateRedis(t), "kiroku"), nil)
	done := prompts(5, turnEnd)
	h.ingest(h.org, project, done)
	h.finish(h.lease())
	waiting, leased := prompts(1200, turnEnd), prompts(3, turnEnd)
	h.ingest(h.org, "p_leased", leased)
	held := h.lease()
	h.ingest(h.org, project, waiting[:700])
	h.ingest(h.org, project, waiting[700:])

	require.NoError(t, h.redis.FlushAll(t.Context()).Err())
	h.buffered(1203)
	_, err := h.client.Ack(t.Context(), &bufferv1.AckRequest{LeaseId: held.GetLeaseId(), EntryIds: entryIDs(held), EndLease: true})
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	seen := h.drain(1203)
	for _, id := range idsOf(done) {
		require.Zero(t, seen[id], "a finished event came again")
	}
	for id, n := range seen {
		require.Equal(t, 1, n, id)
	}
	require.Equal(t, map[int]int{3: 1208}, h.statuses(h.org))
	require.EqualValues(t, 256, h.metric("kiroku_buffer_epochs_lost_total"))
	h.buffered(0)
}

func TestFlushIsNoticedThoughEventsAreYoung(t *testing.T) {
	t.Parallel()
	h := startOn(t, configured(t, testenv.PrivateRedis(t), "kiroku"), func(cfg *Config) { cfg.FeedGrace = time.Hour })
	h.ingest(h.org, project, prompts(3))
	h.buffered(3)
	testenv.Eventually(t, within, func() bool { return h.healthy() == healthv1.HealthCheckResponse_SERVING }, "the first pass was not made")
	require.NoError(t, h.redis.FlushAll(t.Context()).Err())
	h.buffered(3)
}

func TestEventsThatWereNeverAppendedAreFed(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	events := prompts(4, turnEnd)
	h.store(h.org, project, events)
	lease := h.lease()
	require.Equal(t, idsOf(events), eventIDs(lease))
	require.Equal(t, "turn_end", lease.GetDueBy())
	h.finish(lease)
}

func TestAgeOfTheOldestEventIsTold(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.ingest(h.org, project, prompts(2))
	h.exec("UPDATE event_state SET received_at = now() - interval '2 hours'")
	testenv.Eventually(t, within, func() bool { return h.metric("kiroku_oldest_unfinished_seconds") > 7000 }, "the age is not told")
	testenv.Eventually(t, within, func() bool { return h.metric("kiroku_buffer_events") == 2 }, "the events are not told")
	require.Positive(t, h.metric("kiroku_buffer_bytes"))
	oldest := h.stats(h.client).GetOldestUnfinishedTime().AsTime()
	require.WithinDuration(t, time.Now().Add(-2*time.Hour), oldest, time.Minute)
}

func TestMissingEventIsFoundBesideOthers(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.ingest(h.org, project, prompts(5))
	h.store(h.org, project, prompts(1))
	h.buffered(6)
}

func TestEventsWithinTheGraceAreLeftToIngest(t *testing.T) {
	t.Parallel()
	h := start(t, func(cfg *Config) { cfg.FeedGrace = time.Hour })
	h.store(h.org, project, prompts(2, turnEnd))
	h.exec("UPDATE event_state SET received_at = now() - interval '2 hours' WHERE event_id = (SELECT min(event_id) FROM event_state)")
	h.buffered(1)
	require.EqualValues(t, 2, h.stats(h.client).GetUnfinishedEvents())
	_, err := h.client.MakeDue(t.Context(), &bufferv1.MakeDueRequest{OrgId: h.org})
	require.NoError(t, err)
	require.Len(t, h.lease().GetEvents(), 2, "asked for, nothing is left behind")
}

func TestDestroyedGroupLosesNothing(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	events := prompts(3)
	h.ingest(h.org, project, events)
	keys, err := h.redis.Keys(t.Context(), h.cfg.RedisPrefix+":*:s:*").Result()
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.NoError(t, h.redis.XGroupDestroy(t.Context(), keys[0], "extraction").Err())
	_, err = h.client.MakeDue(t.Context(), &bufferv1.MakeDueRequest{OrgId: h.org})
	require.NoError(t, err)
	lease := h.lease()
	require.Equal(t, idsOf(events), eventIDs(lease))
	h.finish(lease)
}

func TestDeletedStreamIsFedAgain(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	events := prompts(3)
	h.ingest(h.org, project, events)
	keys, err := h.redis.Keys(t.Context(), h.cfg.RedisPrefix+":*:s:*").Result()
	require.NoError(t, err)
	require.NoError(t, h.redis.Del(t.Context(), keys...).Err())
	h.buffered(3)
}

func TestOverflowWaitsInPostgresAndFollows(t *testing.T) {
	t.Parallel()
	h := start(t, func(cfg *Config) { cfg.CeilingBytes, cfg.DueBytes = 1<<20, 1<<20 })
	big := func(n int) []*eventv1.Event {
		events := prompts(n)
		for _, ev := range events {
			ev.Body = &eventv1.Body{Body: &eventv1.Body_Text{Text: &eventv1.TextBody{Content: string(make([]byte, 64<<10))}}}
		}
		return events
	}
	first, second := big(40), big(5)
	turnEnd(second[4])
	resp := h.ingest(h.org, project, first)
	require.True(t, resp.GetOverflow())
	require.Less(t, resp.GetAppended(), int32(20))
	require.True(t, h.ingest(h.org, project, second).GetOverflow())
	var order []string
	for len(order) < 45 {
		lease := h.lease()
		order = append(order, eventIDs(lease)...)
		h.finish(lease)
	}
	require.Equal(t, append(idsOf(first), idsOf(second)...), order, "oldest first, also over the ceiling")
	testenv.Eventually(t, within, func() bool {
		resp := h.ingest(h.org, project, prompts(1))
		return !resp.GetOverflow()
	}, "appends are refused for ever")
}

func TestRestartGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.ingest(h.org, project, prompts(3, turnEnd))
	h.ingest(h.org, "p_2", prompts(2, turnEnd))
	held := h.lease()
	h.restart()
	h.finish(held)
	h.finish(h.lease())
	require.Equal(t, map[int]int{3: 5}, h.statuses(h.org))
	h.buffered(0)
}

func TestHealthTellsThatRedisIsGone(t *testing.T) {
	t.Parallel()
	h := startOn(t, configured(t, testenv.PrivateRedis(t), "kiroku"), nil)
	testenv.Eventually(t, within, func() bool { return h.healthy() == healthv1.HealthCheckResponse_SERVING }, "never serving")
	_ = h.redis.ShutdownNoSave(t.Context())
	testenv.Eventually(t, within, func() bool { return h.healthy() == healthv1.HealthCheckResponse_NOT_SERVING }, "serving without Redis")
	_, err := h.client.Lease(t.Context(), &bufferv1.LeaseRequest{MaxWait: durationpb.New(within)})
	require.Equal(t, codes.Unavailable, status.Code(err))
	_, err = h.client.Append(t.Context(), &bufferv1.AppendRequest{OrgId: h.org, ProjectId: project, Events: prompts(1)})
	require.Equal(t, codes.Unavailable, status.Code(err))
}
