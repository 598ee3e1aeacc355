package redisstream_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kiroku-dev/kiroku/proto/event"
	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patient is a policy under which nothing is due by itself within a test.
var patient = redisstream.Policy{DueBytes: 1 << 20, DueIdle: time.Hour, DueAge: 2 * time.Hour, CeilingBytes: 16 << 20}

var limits = redisstream.LeaseLimits{Duration: time.Minute, MaxEvents: 500}

type bench struct {
	*redisstream.Store
	client *redis.Client
	prefix string
}

func open(t testing.TB, policy redisstream.Policy) bench {
	t.Helper()
	url, prefix := testenv.Redis(t)
	store, err := redisstream.Open(url, prefix, policy)
	require.NoError(t, err)
	opts, err := redis.ParseURL(url)
	require.NoError(t, err)
	client := redis.NewClient(opts)
	t.Cleanup(func() {
		require.NoError(t, store.Close())
		require.NoError(t, client.Close())
	})
	return bench{Store: store, client: client, prefix: prefix}
}

const orgA, orgB = "00000000-0000-8000-8000-00000000000a", "00000000-0000-8000-8000-00000000000b"

var projectA = redisstream.Project{Org: orgA, ID: "p_1"}

// key finds the project's key of a kind ("s" stream, "m" meta …).
func (b bench) key(t testing.TB, kind string, p redisstream.Project) string {
	t.Helper()
	keys, err := b.client.Keys(t.Context(), b.prefix+":{b*}:"+kind+":"+p.Org+"/"+p.ID).Result()
	require.NoError(t, err)
	require.Len(t, keys, 1)
	return keys[0]
}

// expire moves the end of the running lease into the past.
func (b bench) expire(t testing.TB, p redisstream.Project) {
	t.Helper()
	stream := b.key(t, "s", p)
	run := stream[:len(stream)-len("s:"+p.Org+"/"+p.ID)] + "run"
	changed, err := b.client.ZAddArgs(t.Context(), run, redis.ZAddArgs{XX: true, Ch: true, Members: []redis.Z{{Score: 1, Member: p.Org + "/" + p.ID}}}).Result()
	require.NoError(t, err)
	require.EqualValues(t, 1, changed, "no lease is running")
}

func events(n, size int) []redisstream.Event {
	list := make([]redisstream.Event, n)
	for i := range list {
		payload := bytes.Repeat([]byte{byte('a' + i%26)}, size)
		list[i] = redisstream.Event{ID: event.NewID(time.Now()), Payload: payload}
	}
	return list
}

func ids(list []redisstream.Event) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = e.ID
	}
	return out
}

func leasedIDs(l *redisstream.Lease) []string {
	out := make([]string, len(l.Entries))
	for i, e := range l.Entries {
		out[i] = e.EventID
	}
	return out
}

func entries(l *redisstream.Lease) []redisstream.Entry {
	out := make([]redisstream.Entry, len(l.Entries))
	for i, e := range l.Entries {
		out[i] = e.Entry
	}
	return out
}

func (b bench) append(t testing.TB, p redisstream.Project, list []redisstream.Event) redisstream.Appended {
	t.Helper()
	appended, err := b.Append(t.Context(), p, redisstream.Appending{Events: list})
	require.NoError(t, err)
	return appended
}

// appendDue appends events that make the project due.
func (b bench) appendDue(t testing.TB, p redisstream.Project, list []redisstream.Event) {
	t.Helper()
	appended, err := b.Append(t.Context(), p, redisstream.Appending{Events: list, DueBy: "turn_end"})
	require.NoError(t, err)
	require.Equal(t, len(list), appended.Held)
}

func (b bench) lease(t testing.TB, p redisstream.Project) *redisstream.Lease {
	t.Helper()
	lease, err := b.Lease(t.Context(), p, limits)
	require.NoError(t, err)
	require.NotNil(t, lease, "project is not due")
	return lease
}

func (b bench) holding(t testing.TB, p redisstream.Project) redisstream.Holding {
	t.Helper()
	survey, err := b.Survey(t.Context())
	require.NoError(t, err)
	return survey.Held[p]
}
