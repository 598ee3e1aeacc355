package event

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Not parallel: an id for another millisecond, made in between, would start the sequence of this one again.
func TestNewIDAscendsWithinAMillisecond(t *testing.T) {
	at := time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = NewID(at)
	}
	require.True(t, slices.IsSorted(ids))
	require.Len(t, slices.Compact(ids), len(ids))
}
