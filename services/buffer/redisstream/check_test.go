package redisstream_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

// private opens a store on a Redis of the test's own, whose settings it may change.
func private(t *testing.T, policy redisstream.Policy) bench {
	t.Helper()
	url := testenv.PrivateRedis(t)
	store, err := redisstream.Open(url, "kiroku", policy)
	require.NoError(t, err)
	opts, err := redis.ParseURL(url)
	require.NoError(t, err)
	client := redis.NewClient(opts)
	t.Cleanup(func() {
		require.NoError(t, store.Close())
		require.NoError(t, client.Close())
	})
	return bench{Store: store, client: client, prefix: "kiroku"}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	b := private(t, patient)
	logger := testenv.Logger(t)
	require.NoError(t, b.Check(t.Context(), logger))

	require.NoError(t, b.client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	err := b.Check(t.Context(), logger)
	require.ErrorIs(t, err, redisstream.ErrUnsuitable)
	require.ErrorContains(t, err, "CONFIG SET maxmemory-policy noeviction")
	require.NoError(t, b.client.ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err())

	require.NoError(t, b.client.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err())
	require.ErrorIs(t, b.Check(t.Context(), logger), redisstream.ErrUnsuitable)
	_, err = b.Append(t.Context(), projectA, redisstream.Appending{Events: events(1, 10)})
	require.ErrorIs(t, err, redisstream.ErrUnavailable, "a replica after a failover is passing, not a defect")
}

func TestFullRedisRefusesAppendsAndStillDrains(t *testing.T) {
	t.Parallel()
	b := private(t, patient)
	b.appendDue(t, projectA, events(100, 1000))
	require.NoError(t, b.client.ConfigSet(t.Context(), "maxmemory", "1mb").Err())
	_, err := b.Append(t.Context(), projectA, redisstream.Appending{Events: events(1, 10)})
	require.ErrorIs(t, err, redisstream.ErrFull)
	lease := b.lease(t, projectA)
	acked, err := b.Ack(t.Context(), projectA, lease.Token, entries(lease), true)
	require.NoError(t, err)
	require.Equal(t, 100, acked.Removed)
}

func TestUnreachableRedisIsUnavailable(t *testing.T) {
	t.Parallel()
	store, err := redisstream.Open("redis://127.0.0.1:1/0", "kiroku", patient)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	require.ErrorIs(t, store.Ping(t.Context()), redisstream.ErrUnavailable)
	_, err = store.Heads(t.Context())
	require.ErrorIs(t, err, redisstream.ErrUnavailable)
}

func TestOpenHidesThePassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"redis://user:hunter2@host:port/x", "http://user:hunter2@host", "redis://user:hunter2@[?addr=x:1"} {
		_, err := redisstream.Open(url, "kiroku", patient)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2")
	}
	cluster, err := redisstream.Open("redis://127.0.0.1:1?addr=127.0.0.1:2", "kiroku", patient)
	require.NoError(t, err)
	require.NoError(t, cluster.Close())
}
