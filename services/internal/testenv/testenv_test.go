package testenv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kiroku-dev/kiroku/services/internal/postgres"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failing records how a test would have failed.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure runs fn as a test and returns the message it failed with.
func failure(t *testing.T, fn func(testing.TB)) string {
	t.Helper()
	f := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(f)
	}()
	<-done
	return f.message
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func databaseOf(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	var name string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_database()").Scan(&name))
	return name
}

func databaseExists(t *testing.T, name string) bool {
	t.Helper()
	var exists bool
	admin := connect(t, os.Getenv(PostgresVariable))
	require.NoError(t, admin.QueryRow(t.Context(), sqlDatabaseExists, name).Scan(&exists))
	return exists
}

func TestPostgresIsMigratedAndDroppedWithItsTest(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("inner", func(t *testing.T) {
		first, second := Postgres(t), Postgres(t)
		require.NotEqual(t, first, second)
		// Still connected when the database is dropped.
		conn, err := pgx.Connect(t.Context(), first)
		require.NoError(t, err)
		name = databaseOf(t, conn)
		require.True(t, databaseExists(t, name))
		require.NoError(t, postgres.Migrate(t.Context(), first, Logger(t)), "there is nothing left to migrate")
		var applied int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM goose_db_version").Scan(&applied))
		require.Greater(t, applied, 1)
	})
	require.False(t, databaseExists(t, name))
}

func TestEmptyPostgres(t *testing.T) {
	t.Parallel()
	var tables int
	conn := connect(t, EmptyPostgres(t))
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables))
	require.Zero(t, tables)
}

func TestTemplateIsMadeOnceAndNeverHalf(t *testing.T) {
	t.Parallel()
	admin, name := requireVariable(t, PostgresVariable), databaseName(t.Name())
	t.Cleanup(func() { _ = execute(context.Background(), admin, "DROP DATABASE IF EXISTS "+name) })

	interrupted := errors.New("interrupted")
	err := ensureTemplate(t.Context(), admin, name, func(context.Context, string, *slog.Logger) error { return interrupted })
	require.ErrorIs(t, err, interrupted)
	require.False(t, databaseExists(t, name))

	var migrations atomic.Int32
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			err := ensureTemplate(t.Context(), admin, name, func(ctx context.Context, url string, _ *slog.Logger) error {
				migrations.Add(1)
				return execute(ctx, url, "CREATE TABLE made (n int)")
			})
			if err != nil {
				t.Errorf("ensure template: %v", err)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 1, migrations.Load())
	require.True(t, databaseExists(t, name))
	require.False(t, databaseExists(t, name+"_building"))
}

func TestDatabaseName(t *testing.T) {
	t.Parallel()
	name := databaseName("TestVery/long name, with " + strings.Repeat("ünusual ", 20))
	require.LessOrEqual(t, len(name), 63)
	require.Regexp(t, `^[a-z0-9_]+$`, name)
	again := databaseName("T")
	require.NotEqual(t, again, databaseName("T"))
}

func TestDatabaseURL(t *testing.T) {
	t.Parallel()
	got, err := databaseURL("postgres://u:p@/kiroku?host=%2Frun&sslmode=disable", "other")
	require.NoError(t, err)
	require.Equal(t, "postgres://u:p@/other?host=%2Frun&sslmode=disable", got)
	_, err = databaseURL("host=/run password=secret", "other")
	require.ErrorContains(t, err, PostgresVariable)
	require.NotContains(t, err.Error(), "secret")
}

func redisClient(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	require.NoError(t, err)
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestRedisKeysAreDeletedWithTheirTest(t *testing.T) {
	t.Parallel()
	url, mine := Redis(t)
	client := redisClient(t, url)
	require.NoError(t, client.Set(t.Context(), mine+"k", "v", 0).Err())
	var theirs string
	t.Run("inner", func(t *testing.T) {
		_, theirs = Redis(t)
		require.NotEqual(t, mine, theirs)
		for i := range 1500 {
			require.NoError(t, client.Set(t.Context(), fmt.Sprint(theirs, i), "v", 0).Err())
		}
	})
	left, _, err := client.Scan(t.Context(), 0, theirs+"*", 1_000_000).Result()
	require.NoError(t, err)
	require.Empty(t, left)
	require.Equal(t, "v", client.Get(t.Context(), mine+"k").Val())
}

func TestPrivateRedisIsAnother(t *testing.T) {
	t.Parallel()
	url, prefix := Redis(t)
	shared, own := redisClient(t, url), redisClient(t, PrivateRedis(t))
	require.NoError(t, shared.Set(t.Context(), prefix+"k", "v", 0).Err())
	require.NoError(t, own.FlushAll(t.Context()).Err())
	require.Equal(t, "v", shared.Get(t.Context(), prefix+"k").Val())
}

func TestMissingServerFailsWithAHint(t *testing.T) {
	t.Setenv(PostgresVariable, "")
	t.Setenv(RedisVariable, "")
	require.Contains(t, failure(t, func(tb testing.TB) { Postgres(tb) }), "make test")
	require.Contains(t, failure(t, func(tb testing.TB) { Redis(tb) }), "internal/testenv/withservers go test ./...")
}

func TestLoggerOutlivesItsTest(t *testing.T) {
	t.Parallel()
	var logger *slog.Logger
	t.Run("inner", func(t *testing.T) {
		logger = Logger(t)
		logger.Debug("in time")
	})
	logger.Info("too late") // testing panics when this reaches the test
}

func TestEventually(t *testing.T) {
	t.Parallel()
	calls := 0
	Eventually(t, time.Minute, func() bool { calls++; return calls == 3 }, "the third call")
	require.Equal(t, 3, calls)
	message := failure(t, func(tb testing.TB) {
		Eventually(tb, time.Millisecond, func() bool { return false }, "pigs fly")
	})
	require.Contains(t, message, "pigs fly")
}
