package privatestore

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"
)

// dataDir is a directory that the servers' user can enter, unlike t.TempDir.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kiroku-privatestore-") //nolint:usetesting // the servers' user cannot enter t.TempDir
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func startStores(t *testing.T, cfg Config) *Stores {
	t.Helper()
	stores, err := Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stores.Stop(context.Background())) })
	return stores
}

func connectPostgres(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func connectRedis(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	require.NoError(t, err)
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func requireGone(t *testing.T, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		require.True(t, waitUntil(t.Context(), 10*time.Second, func() bool { return commandLine(pid) == "" }),
			"process %d still runs: %s", pid, commandLine(pid))
	}
}

func TestDataSurvivesRestartAndStopCutsClientsOff(t *testing.T) {
	t.Parallel()
	cfg := Config{DataDir: dataDir(t), NeedPostgres: true, NeedRedis: true, Address: "127.0.0.1:7600"}
	first := startStores(t, cfg)
	conn, client := connectPostgres(t, first.PostgresURL()), connectRedis(t, first.RedisURL())
	_, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 'value' AS v")
	require.NoError(t, err)
	require.NoError(t, client.Set(t.Context(), "kept", "value", 0).Err())
	requirePrivate(t, conn, client)

	_, err = Start(t.Context(), cfg)
	var inUse *InUseError
	require.ErrorAs(t, err, &inUse)
	require.Equal(t, os.Getpid(), inUse.PID)
	require.ErrorContains(t, err, cfg.DataDir)
	require.ErrorContains(t, err, "process "+strconv.Itoa(os.Getpid()))
	require.ErrorContains(t, err, cfg.Address)

	// The refused start must not have touched the running one.
	require.NoError(t, conn.Ping(t.Context()))
	require.NoError(t, client.Ping(t.Context()).Err())

	_, err = conn.Exec(t.Context(), "BEGIN; INSERT INTO kept VALUES ('uncommitted')")
	require.NoError(t, err)
	pids, began := childPIDs(first), time.Now()
	require.NoError(t, first.Stop(t.Context()))
	require.Less(t, time.Since(began), 10*time.Second)
	requireGone(t, pids...)
	require.NoError(t, first.Stop(t.Context()), "a second stop does nothing")
	require.NoDirExists(t, first.sockets)
	require.Empty(t, first.Failed(), "a wanted end is no failure")

	second := startStores(t, cfg)
	var value string
	require.NoError(t, connectPostgres(t, second.PostgresURL()).QueryRow(t.Context(), "SELECT v FROM kept").Scan(&value))
	require.Equal(t, "value", value)
	require.Equal(t, "value", connectRedis(t, second.RedisURL()).Get(t.Context(), "kept").Val())
}

// requirePrivate checks what the servers promise about their surroundings.
func requirePrivate(t *testing.T, conn *pgx.Conn, client *redis.Client) {
	t.Helper()
	for setting, want := range map[string]string{"listen_addresses": "", "server_encoding": "UTF8", "fsync": "on"} {
		var got string
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got))
		require.Equal(t, want, got, setting)
	}
	for setting, want := range map[string]string{
		"port": "0", "appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction", "save": "",
	} {
		require.Equal(t, want, client.ConfigGet(t.Context(), setting).Val()[setting], setting)
	}
}

func TestFailedNamesTheChild(t *testing.T) {
	t.Parallel()
	stores := startStores(t, Config{DataDir: dataDir(t), NeedRedis: true, FastUnsafe: true})
	require.Empty(t, stores.PostgresURL())
	require.NoError(t, syscall.Kill(childPIDs(stores)[0], syscall.SIGKILL))
	select {
	case err := <-stores.Failed():
		require.ErrorContains(t, err, "redis ended by itself (signal: killed)")
		require.ErrorContains(t, err, "eady to accept connections", "the last log lines")
	case <-t.Context().Done():
		t.Fatal("no failure reported")
	}
	require.NoError(t, stores.Stop(t.Context()))
}

func TestPostgresEndingByItselfIsReportedAndItsDataRecovers(t *testing.T) {
	t.Parallel()
	cfg := Config{DataDir: dataDir(t), NeedPostgres: true}
	first := startStores(t, cfg)
	conn := connectPostgres(t, first.PostgresURL())
	_, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 1 AS n")
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(childPIDs(first)[0], syscall.SIGKILL))
	require.ErrorContains(t, <-first.Failed(), "postgres ended by itself (signal: killed)")
	require.NoError(t, first.Stop(t.Context()))

	second := startStores(t, cfg)
	var n int
	require.NoError(t, connectPostgres(t, second.PostgresURL()).QueryRow(t.Context(), "SELECT n FROM kept").Scan(&n))
	require.Equal(t, 1, n)
}

func TestLockAlone(t *testing.T) {
	t.Parallel()
	cfg := Config{DataDir: filepath.Join(dataDir(t), "new", "dir")}
	startStores(t, cfg)
	info, err := os.Stat(cfg.DataDir)
	require.NoError(t, err)
	require.Zero(t, info.Mode().Perm()&0o067, "closed to others: %v", info.Mode())
	_, err = Start(t.Context(), cfg)
	require.ErrorAs(t, err, new(*InUseError))
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	cfg := Config{DataDir: dataDir(t), NeedPostgres: true, NeedRedis: true, FastUnsafe: true}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		// In the middle of the making of the cluster.
		waitUntil(t.Context(), 30*time.Second, func() bool {
			_, err := os.Stat(filepath.Join(cfg.DataDir, "postgres.init", "data"))
			return err == nil
		})
		cancel()
	}()
	_, err := Start(ctx, cfg)
	require.ErrorIs(t, err, context.Canceled)
	require.NoDirExists(t, filepath.Join(cfg.DataDir, "postgres"), "half a cluster must not look like one")

	startStores(t, cfg)
}
