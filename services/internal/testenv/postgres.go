package testenv

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres returns the URL of a database of this test alone, migrated and
// empty. It is dropped when the test ends, whoever is still connected.
func Postgres(t testing.TB) string {
	t.Helper()
	return newDatabase(t, func(ctx context.Context, admin string) (string, error) {
		return migratedTemplate(ctx, admin)
	})
}

// EmptyPostgres is Postgres without a schema, for the tests of migrations.
func EmptyPostgres(t testing.TB) string {
	t.Helper()
	return newDatabase(t, func(context.Context, string) (string, error) {
		return "template0", nil
	})
}

// newDatabase clones the database that template names.
func newDatabase(t testing.TB, template func(ctx context.Context, admin string) (string, error)) string {
	t.Helper()
	admin := requireVariable(t, PostgresVariable)
	ctx, cancel := context.WithTimeout(t.Context(), setupTimeout)
	defer cancel()
	from, err := template(ctx, admin)
	if err != nil {
		t.Fatalf("template database: %v", err)
	}
	name := databaseName(t.Name())
	created, err := databaseURL(admin, name)
	if err != nil {
		t.Fatal(err)
	}
	// Copying files is twice as quick here as the default, which logs them.
	if err := execute(ctx, admin, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY file_copy", name, from)); err != nil {
		t.Fatalf("create test database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
		defer cancel()
		if err := execute(ctx, admin, fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name)); err != nil {
			t.Errorf("drop test database: %v", err)
		}
	})
	return created
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// databaseName shows which test a database is of, for whoever looks at a
// server that is busy. Postgres cuts names at 63 bytes.
func databaseName(test string) string {
	readable := notInName.ReplaceAllString(strings.ToLower(test), "_")
	return "kiroku_test_" + readable[:min(len(readable), 30)] + "_" + randomName()
}

// databaseURL is server with another database.
func databaseURL(server, database string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		// The URL itself is not shown: it may hold a password.
		return "", fmt.Errorf("%s must be a postgres:// URL", PostgresVariable)
	}
	u.Path = "/" + database
	return u.String(), nil
}

// execute runs one statement on a connection of its own.
func execute(ctx context.Context, server, statement string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, statement)
	return err
}
