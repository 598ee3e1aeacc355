package eventstore_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/kiroku-dev/kiroku/proto/event"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/services/ingest/eventstore"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

type bench struct {
	url   string
	store postgres.Tenant
}

func setup(t *testing.T) bench {
	t.Helper()
	url := testenv.Postgres(t)
	pool, err := postgres.Open(t.Context(), url, postgres.RoleApp, 24)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, postgres.EnsureToken(t.Context(), pool, "red", "ana", "s", auth.Scopes))
	store, err := pool.Tenant(auth.Service().ForOrg(postgres.OrgIDForName("red")))
	require.NoError(t, err)
	return bench{url: url, store: store}
}

func note(session, text string) event.Scrubbed {
	return scrub(session, event.NewID(time.Now()), text, nil)
}

func scrub(session, id, text string, lifecycle *eventv1.Lifecycle) event.Scrubbed {
	ev := &eventv1.Event{
		EventId: id, Kind: eventv1.Kind_KIND_NOTE, Namespace: "/actor/ana/project/p_1/", ActorId: "ana", SessionId: session,
		ValidTime: time.Now().Format(time.RFC3339Nano), Source: &eventv1.Source{Surface: "claude-code"}, Lifecycle: lifecycle,
		Body: &eventv1.Body{Body: &eventv1.Body_Json{Json: &eventv1.JsonBody{Data: structpb.NewStringValue(text)}}},
	}
	event.Normalize(ev)
	return event.Scrub(ev)
}

// sequences reads the numbers of a session and the positions of the organisation from the tables themselves.
func sequences(t *testing.T, b bench, query string, args ...any) []int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), b.url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), query, args...)
	require.NoError(t, err)
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	require.NoError(t, err)
	return numbers
}

func requireGapless(t *testing.T, numbers []int64, n int) {
	t.Helper()
	require.Len(t, numbers, n)
	for i, number := range numbers {
		require.EqualValues(t, i+1, number)
	}
}

const (
	sessionSQL  = `SELECT e.seq FROM events e JOIN sessions s USING (session_key) WHERE s.session_id = $1 ORDER BY 1`
	positionSQL = `SELECT b.base + e.ix FROM events e JOIN org_batches b USING (batch_id) ORDER BY 1`
	outboxSQL   = `SELECT count(*) FROM event_state st JOIN events e USING (org_id, event_id)`
)

func TestAppendNumbersWithoutGap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 5 {
		outcomes, err := eventstore.Append(t.Context(), b.store, []event.Scrubbed{note("s1", "a"), note("s2", "b"), note("s1", "c")}, time.Now())
		require.NoError(t, err)
		require.True(t, outcomes[0].Stored && outcomes[1].Stored && outcomes[2].Stored)
		require.EqualValues(t, 2*i+1, outcomes[0].Sequence)
		require.EqualValues(t, i+1, outcomes[1].Sequence)
		require.EqualValues(t, 2*i+2, outcomes[2].Sequence)
		require.EqualValues(t, 3*i+1, outcomes[0].Position)
	}
	requireGapless(t, sequences(t, b, sessionSQL, "s1"), 10)
	requireGapless(t, sequences(t, b, positionSQL), 15)
	require.Equal(t, []int64{15}, sequences(t, b, outboxSQL))
}

func TestRepeatsAreStoredOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := event.NewID(time.Now())
	first, err := eventstore.Append(t.Context(), b.store, []event.Scrubbed{scrub("s", id, "a", nil)}, time.Now())
	require.NoError(t, err)

	events := []event.Scrubbed{
		note("s", "new"), scrub("s", id, "a", nil), scrub("s", id, "changed", nil), scrub("other", id, "a", nil), note("s", "newer"),
	}
	outcomes, err := eventstore.Append(t.Context(), b.store, events, time.Now())
	require.NoError(t, err)
	require.True(t, outcomes[0].Stored && outcomes[4].Stored)
	require.False(t, outcomes[1].Stored || outcomes[1].Differs || outcomes[1].Taken)
	require.True(t, !outcomes[2].Stored && outcomes[2].Differs, "every place is compared with what is stored")
	require.EqualValues(t, 1, outcomes[1].Sequence)
	require.Equal(t, first[0].Position, outcomes[1].Position)
	require.True(t, first[0].ReceivedAt.Equal(outcomes[1].ReceivedAt))
	require.True(t, outcomes[3].Taken)

	again, err := eventstore.Append(t.Context(), b.store, []event.Scrubbed{scrub("s", id, "changed", nil)}, time.Now())
	require.NoError(t, err)
	require.False(t, again[0].Stored)
	require.True(t, again[0].Differs)
	id2 := event.NewID(time.Now())
	twice, err := eventstore.Append(t.Context(), b.store, []event.Scrubbed{scrub("t", id2, "a", nil), scrub("t", id2, "b", nil), scrub("t", id2, "a", nil)}, time.Now())
	require.NoError(t, err)
	require.True(t, twice[0].Stored && !twice[0].Differs)
	require.True(t, !twice[1].Stored && twice[1].Differs)
	require.True(t, !twice[2].Stored && !twice[2].Differs)
	taken, err := eventstore.Append(t.Context(), b.store, []event.Scrubbed{scrub("other", id, "a", nil)}, time.Now())
	require.NoError(t, err)
	require.True(t, taken[0].Taken)
	requireGapless(t, sequences(t, b, sessionSQL, "s"), 3)
	requireGapless(t, sequences(t, b, positionSQL), 4)
}

func TestWritersRaceOnOneSessionAndOnTheSameIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	shared := make([]string, 40)
	for i := range shared {
		shared[i] = event.NewID(time.Now())
	}
	const writers, rounds = 16, 10
	var wg sync.WaitGroup
	failures := make(chan error, writers)
	for w := range writers {
		wg.Go(func() {
			for r := range rounds {
				batch := []event.Scrubbed{note("race", fmt.Sprint(w, r))}
				for i := range 4 { // mostly ids that others are storing at this moment, in another order
					at := (i*7 + w + r*3) % len(shared)
					batch = append(batch, scrub(fmt.Sprintf("shared-%d", at%3), shared[at], "same", nil))
				}
				if _, err := eventstore.Append(t.Context(), b.store, batch, time.Now()); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	requireGapless(t, sequences(t, b, sessionSQL, "race"), writers*rounds)
	total := len(sequences(t, b, positionSQL))
	requireGapless(t, sequences(t, b, positionSQL), total)
	require.Equal(t, []int64{int64(total)}, sequences(t, b, outboxSQL))
	for i := range 3 {
		numbers := sequences(t, b, sessionSQL, fmt.Sprintf("shared-%d", i))
		requireGapless(t, numbers, len(numbers))
	}
}

func TestLateEventsAreMarkedAndAStartReopens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lifecycle := func(l eventv1.LifecycleType) event.Scrubbed {
		return scrub("s", event.NewID(time.Now()), "x", &eventv1.Lifecycle{Type: l})
	}
	end, start := lifecycle(eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_END), lifecycle(eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_START)
	outcomes, err := eventstore.Append(t.Context(), b.store, []event.Scrubbed{note("s", "a"), end, note("s", "late")}, time.Now())
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, true}, []bool{outcomes[0].Late, outcomes[1].Late, outcomes[2].Late})
	outcomes, err = eventstore.Append(t.Context(), b.store, []event.Scrubbed{note("s", "late too"), start, note("s", "in time")}, time.Now())
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, false}, []bool{outcomes[0].Late, outcomes[1].Late, outcomes[2].Late})
}

func TestPositionsFollowCommits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const writers = 8
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range 20 {
				_, err := eventstore.Append(t.Context(), b.store, []event.Scrubbed{note(fmt.Sprintf("s%d", w), "x")}, time.Now())
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	// A reader that remembers the highest position it saw never finds a lower one later: that would be a skipped commit.
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	seen := 0
	for finished := false; !finished; {
		select {
		case <-done:
			finished = true
		default:
		}
		numbers := sequences(t, b, positionSQL)
		requireGapless(t, numbers, len(numbers))
		require.GreaterOrEqual(t, len(numbers), seen)
		seen = len(numbers)
	}
	require.Equal(t, writers*20, seen)
}
