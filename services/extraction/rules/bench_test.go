//go:build unix

package rules

import (
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkLabelled measures events per second on the hand-labelled turns, which are small.
func BenchmarkLabelled(b *testing.B) {
	var turns []Turn
	for _, l := range labelledTurns(b) {
		turns = append(turns, l.turn(b))
	}
	measure(b, turns)
}

// BenchmarkRecorded measures events per second on recorded sessions, whose outputs and answers are long.
func BenchmarkRecorded(b *testing.B) {
	var turns []Turn
	for _, events := range recordedSessions(b, math.MaxInt) {
		turns = append(turns, SplitTurns(events)...)
	}
	measure(b, turns)
}

func measure(b *testing.B, turns []Turn) {
	b.Helper()
	events := 0
	for _, t := range turns {
		events += len(t.Events)
	}
	x := New()
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		for _, t := range turns {
			x.Extract(t)
		}
	}
	b.ReportMetric(float64(events)*float64(b.N)/(processorTime(b)-before).Seconds(), "events/core-s")
}

// processorTime is what the process has computed so far, collection of garbage included; a busy machine does not change it.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
