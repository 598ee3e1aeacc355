package testenv

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/kiroku-dev/kiroku/services/internal/privatestore"
)

// Redis returns the URL of the test Redis and a prefix for the keys of this
// test, which are deleted when it ends. Other tests use the same server at the
// same time: see PrivateRedis for one that may be flushed.
func Redis(t testing.TB) (url, prefix string) {
	t.Helper()
	url = requireVariable(t, RedisVariable)
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatalf("%s must be a redis:// or unix:// URL", RedisVariable)
	}
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	prefix = "test:" + randomName() + ":"
	t.Cleanup(func() {
		client := redis.NewClient(options)
		ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
		defer cancel()
		if err := errors.Join(deleteKeys(ctx, client, prefix), client.Close()); err != nil {
			t.Errorf("delete the test's keys: %v", err)
		}
	})
	return url, prefix
}

func deleteKeys(ctx context.Context, client *redis.Client, prefix string) error {
	keys := client.Scan(ctx, 0, prefix+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := client.Unlink(ctx, keys.Val()).Err(); err != nil {
			return err
		}
	}
	return keys.Err()
}

// PrivateRedis starts a Redis for this test alone and returns its URL: it may
// be flushed, reconfigured or shut down. It keeps nothing on disk.
func PrivateRedis(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kiroku-redis-") //nolint:usetesting // as root, the server runs as a user that cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	stores, err := privatestore.Start(t.Context(), privatestore.Config{
		DataDir: dir, NeedRedis: true, FastUnsafe: true,
	})
	if err != nil {
		t.Fatal(errors.Join(err, os.RemoveAll(dir)))
	}
	t.Cleanup(func() {
		if err := errors.Join(stores.Stop(context.Background()), os.RemoveAll(dir)); err != nil {
			t.Errorf("stop private Redis: %v", err)
		}
	})
	return stores.RedisURL()
}
