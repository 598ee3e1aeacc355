package upstream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/relay/upstream"
)

func TestPlainTextStaysOnThisMachine(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]bool{
		"127.0.0.1:7601": true, "127.8.9.1:1": true, "[::1]:7601": true, "localhost:7601": true,
		"unix:///run/kiroku.sock": true, "unix:/run/kiroku.sock": true, "unix-abstract:kiroku": true,
		"dns:///127.0.0.1:7601": true, "passthrough:///localhost:1": true,
		"dns:///team.example.com:7601": false, "team.example.com:7601": false, "10.0.0.2:7601": false,
		"localhost.example.com:7601": false, "127.0.0.1.example.com:7601": false, "0.0.0.0:7601": false, "": false,
	} {
		require.Equal(t, want, upstream.IsLocal(target), target)
	}
}
