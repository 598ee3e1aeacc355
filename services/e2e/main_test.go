// Package e2e_test checks the whole pipe: real processes, real gRPC, real Postgres and Redis.
package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/kiroku-dev/kiroku/services/e2e/internal/build"
	"github.com/kiroku-dev/kiroku/services/e2e/internal/server"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

// update writes generated documents instead of comparing them.
var update = flag.Bool("update", false, "write the documents that are generated from the code")

// startTime bounds the start of servers, on a machine that does much else.
const startTime = 60 * time.Second

var programs build.Dir

func TestMain(m *testing.M) {
	code := m.Run()
	if err := programs.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// programsDir is where kiroku-server, kiroku and kiroku-hook are.
func programsDir(t *testing.T) string {
	t.Helper()
	dir, err := programs.Path()
	require.NoError(t, err)
	return dir
}

// shortDir is a directory whose path is short enough for sockets, and that another user may pass through: as root, Postgres
// runs as one.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "kiroku-e2e-") //nolint:usetesting // t.TempDir is long and closed
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o711))
	return dir
}

// installation is a standalone server with its database.
type installation struct {
	*server.Standalone
	postgresURL string
}

// startStandalone starts a standalone server on the stores of the tests, stopped when the test ends.
func startStandalone(t *testing.T, vars map[string]string) installation {
	t.Helper()
	dir := shortDir(t)
	postgresURL := testenv.Postgres(t)
	redisURL, prefix := testenv.Redis(t)
	all := map[string]string{
		"KIROKU_POSTGRES_URL": postgresURL, "KIROKU_REDIS_URL": redisURL, "KIROKU_REDIS_PREFIX": prefix,
		"KIROKU_POSTGRES_MAX_CONNS": "4", "KIROKU_BOOTSTRAP_ACTOR": "ana",
	}
	for name, value := range vars {
		all[name] = value
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	s, err := server.StartStandalone(ctx, server.StandaloneOptions{
		Program: filepath.Join(programsDir(t), "kiroku-server"),
		DataDir: filepath.Join(dir, "data"), RuntimeDir: filepath.Join(dir, "run"), Vars: all,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	return installation{Standalone: s, postgresURL: postgresURL}
}

// dial connects to a service under a token for as long as the test runs.
func dial(t *testing.T, addr string, token server.Bearer) *grpc.ClientConn {
	t.Helper()
	conn, err := server.Dial(addr, token)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

func readToken(t *testing.T, file string) server.Bearer {
	t.Helper()
	token, err := server.ReadToken(file)
	require.NoError(t, err)
	return token
}

// grant makes a token of an organisation, which is made as well.
func grant(t *testing.T, postgresURL, org, actor string, scopes ...auth.Scope) server.Bearer {
	t.Helper()
	pool, err := postgres.Open(t.Context(), postgresURL, postgres.RoleApp, 2)
	require.NoError(t, err)
	defer pool.Close()
	secret := auth.NewSecret()
	require.NoError(t, postgres.EnsureToken(t.Context(), pool, org, actor, secret, scopes))
	return server.Bearer(secret)
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}
