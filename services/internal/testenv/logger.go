package testenv

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
)

// Logger writes to the test's log, at all levels. What comes after the end of
// the test is dropped, where testing would panic.
func Logger(t testing.TB) *slog.Logger {
	t.Helper()
	w := &testWriter{t: t}
	t.Cleanup(w.close)
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type testWriter struct {
	mu    sync.Mutex
	t     testing.TB
	ended bool
}

func (w *testWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.t.Log(string(bytes.TrimSuffix(p, []byte{'\n'})))
	}
	return len(p), nil
}

func (w *testWriter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}
