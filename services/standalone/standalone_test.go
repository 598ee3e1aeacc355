package standalone

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/services/internal/app"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

func TestServiceThatCannotStartIsNotCalledRunning(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })
	redisURL, prefix := testenv.Redis(t)
	cfg := Config{
		DataDir: t.TempDir(), RuntimeDir: t.TempDir(), PostgresURL: testenv.Postgres(t), RedisURL: redisURL,
		Metrics: "off", Org: "red", Actor: "ana",
		environment: map[string]string{"KIROKU_BUFFER_LISTEN": taken.Addr().String(), "KIROKU_REDIS_PREFIX": prefix},
	}
	ready := false
	rt := app.Runtime{
		Logger: testenv.Logger(t), Registry: prometheus.NewRegistry(), Version: "test", Ready: func(string) { ready = true },
	}
	var out strings.Builder
	require.ErrorContains(t, Run(t.Context(), cfg, rt, &out), "address already in use")
	require.Empty(t, out.String())
	require.False(t, ready)
	require.NoFileExists(t, filepath.Join(cfg.DataDir, AddressesFile))
}
