package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/relay"
)

func TestServerWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 2, 9, 10, 11, 0, time.UTC)
	for state, want := range map[string]string{
		"":                 "not asked yet",
		"ok":               "reached as ana of acme, version v1",
		"Unavailable":      "does not answer (Unavailable) since 3 s ago",
		"DeadlineExceeded": "does not answer (DeadlineExceeded) since 3 s ago",
		"Unauthenticated":  "does not accept the token (Unauthenticated) since 3 s ago",
		"Internal":         "Internal since 3 s ago",
	} {
		server := relay.ServerStatus{State: state, Since: now.Add(-3 * time.Second), Actor: "ana", Organisation: "acme", Version: "v1"}
		require.Equal(t, want, serverWords(server, now))
	}
}
