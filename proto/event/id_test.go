package event_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kiroku-dev/kiroku/proto/event"
)

func TestNewIDCarriesItsTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, 1<<48-1).Draw(t, "ms")).UTC()
		id := event.NewID(at)
		require.True(t, event.ValidID(id), id)
		got, err := event.IDTime(id)
		require.NoError(t, err)
		require.Equal(t, at, got)
	})
}

func TestNewIDClampsTimesOutsideItsRange(t *testing.T) {
	t.Parallel()
	early, err := event.IDTime(event.NewID(time.Unix(-1000, 0)))
	require.NoError(t, err)
	require.Equal(t, time.Unix(0, 0).UTC(), early)
	late := event.NewID(time.Date(200000, 1, 1, 0, 0, 0, 0, time.UTC))
	require.True(t, strings.HasPrefix(late, "7ZZZZZZZZZ"), late)
}

func TestNewIDIsUniqueAcrossGoroutines(t *testing.T) {
	t.Parallel()
	const workers, each = 8, 500
	at := time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)
	made := make([][]string, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range each {
				made[w] = append(made[w], event.NewID(at))
			}
		})
	}
	wg.Wait()
	all := map[string]bool{}
	for _, ids := range made {
		for _, id := range ids {
			all[id] = true
		}
	}
	require.Len(t, all, workers*each)
}

func TestValidID(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"01ARZ3NDEKTSV4RRFFQ69G5FAV", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", strings.Repeat("0", 26)} {
		require.True(t, event.ValidID(good), good)
	}
	for _, bad := range []string{
		"", "01ARZ3NDEKTSV4RRFFQ69G5FA", "01ARZ3NDEKTSV4RRFFQ69G5FAVV", "81ARZ3NDEKTSV4RRFFQ69G5FAV", "01arz3ndektsv4rrffq69g5fav",
		"01ARZ3NDEKTSV4RRFFQ69G5FAI", "01ARZ3NDEKTSV4RRFFQ69G5FAL", "01ARZ3NDEKTSV4RRFFQ69G5FAO", "01ARZ3NDEKTSV4RRFFQ69G5FAU",
		"01ARZ3NDEKTSV4RRFFQ69G5FA\n", "01ARZ3NDEKTSV4RRFFQ69G5F-A", ":1ARZ3NDEKTSV4RRFFQ69G5FAV", "/1ARZ3NDEKTSV4RRFFQ69G5FAV",
	} {
		require.False(t, event.ValidID(bad), "%q", bad)
		_, err := event.IDTime(bad)
		require.ErrorIs(t, err, event.ErrID)
	}
}

func TestIDsSortByTime(t *testing.T) {
	t.Parallel()
	var ids []string
	for ms := range int64(100) {
		ids = append(ids, event.NewID(time.UnixMilli(1_700_000_000_000+ms)))
	}
	require.True(t, slices.IsSorted(ids))
}
