// Package testenv gives tests a real Postgres and a real Redis, each test its
// own database and its own keys, so that tests run in parallel and leave
// nothing behind.
//
// The servers are those of KIROKU_TEST_POSTGRES_URL and KIROKU_TEST_REDIS_URL.
// The command withservers starts private ones and sets both. A test fails, and
// is never skipped, when they are missing.
//
// Tests inside package postgres cannot import this package, since it imports
// postgres to migrate; tests of package postgres_test can.
package testenv

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	// PostgresVariable holds the URL of the test Postgres. Its user must be
	// able to create databases and roles.
	PostgresVariable = "KIROKU_TEST_POSTGRES_URL"
	// RedisVariable holds the URL of the test Redis.
	RedisVariable = "KIROKU_TEST_REDIS_URL"

	// setupTimeout bounds what is done for one test before or after it. Many
	// packages may be making databases at once on a slow machine.
	setupTimeout = time.Minute
)

func requireVariable(t testing.TB, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run `make test`, or `go run ./internal/testenv/withservers go test ./...` in services/", name)
	}
	return value
}

// randomName is unique, and without a character that Postgres or Redis treat
// specially.
func randomName() string {
	return strings.ToLower(rand.Text()[:16])
}
