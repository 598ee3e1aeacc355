package testenv

import (
	"testing"
	"time"
)

// pollInterval is how often Eventually looks.
const pollInterval = 10 * time.Millisecond

// Eventually waits until cond holds and fails the test with msg when it does
// not within the given time. It is for what nobody announces; cond is called on
// the test's own goroutine.
func Eventually(t testing.TB, within time.Duration, cond func() bool, msg string) {
	t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !cond() {
		select {
		case <-deadline.C:
			t.Fatalf("not within %v: %s", within, msg)
		case <-ticker.C:
		}
	}
}
