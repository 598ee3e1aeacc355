package redisstream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
)

// BenchmarkBuffer measures append, lease and ack of 1 KB events that run concurrently, against pipelined XADD of the same
// payloads: the two figures of one run are to be compared, in events/s.
func BenchmarkBuffer(b *testing.B) {
	const batch, writers = 100, 4
	b.Run("xadd", func(b *testing.B) {
		store := open(b, patient)
		rounds(b, writers, batch, func(writer, _ int) error {
			pipe := store.client.Pipeline()
			for _, e := range events(batch, 1024) {
				pipe.XAdd(b.Context(), &redis.XAddArgs{Stream: fmt.Sprint(store.prefix, writer), Values: []any{"i", e.ID, "e", e.Payload}})
			}
			_, err := pipe.Exec(b.Context())
			return err
		})
	})
	b.Run("append-lease-ack", func(b *testing.B) {
		policy := patient
		policy.DueBytes, policy.CeilingBytes = 1, 1<<40
		store := open(b, policy)
		rounds(b, writers, batch, func(writer, _ int) error {
			p := redisstream.Project{Org: orgA, ID: fmt.Sprint("p_", writer)}
			if _, err := store.Append(b.Context(), p, redisstream.Appending{Events: events(batch, 1024)}); err != nil {
				return err
			}
			lease, err := store.Lease(b.Context(), p, redisstream.LeaseLimits{Duration: time.Minute, MaxEvents: batch})
			if err != nil {
				return err
			}
			_, err = store.Ack(b.Context(), p, lease.Token, entries(lease), true)
			return err
		})
	})
}

// rounds runs b.N events in batches, spread over writers.
func rounds(b *testing.B, writers, batch int, round func(writer, i int) error) {
	b.Helper()
	var group errgroup.Group
	b.ResetTimer()
	for w := range writers {
		group.Go(func() error {
			for i := 0; i < b.N; i += writers * batch {
				if err := round(w, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(b, group.Wait())
	done := (b.N + writers*batch - 1) / (writers * batch) * writers * batch
	b.ReportMetric(float64(done)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkHeads is what a poll of all shards costs, with one project waiting in each.
func BenchmarkHeads(b *testing.B) {
	store := open(b, patient)
	for i := range redisstream.Shards {
		_, err := store.Append(b.Context(), redisstream.Project{Org: orgA, ID: fmt.Sprint("p_", i)}, redisstream.Appending{Events: events(1, 10)})
		require.NoError(b, err)
	}
	for b.Loop() {
		_, err := store.Heads(b.Context())
		require.NoError(b, err)
	}
}
