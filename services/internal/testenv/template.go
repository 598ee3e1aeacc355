package testenv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kiroku-dev/kiroku/services/internal/postgres"
)

const (
	// templateLock is the key of the advisory lock that one process at a time
	// makes a template under: "kiroku" in ASCII.
	templateLock = 0x6b69726f6b75

	sqlLock           = `SELECT pg_advisory_lock($1)`
	sqlDatabaseExists = `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`
)

var template struct {
	sync.Mutex
	name string // known to exist
}

// migratedTemplate returns the name of a migrated database to clone. It is made
// once on a server, for all test processes; the name tells schemas apart.
func migratedTemplate(ctx context.Context, admin string) (string, error) {
	template.Lock()
	defer template.Unlock()
	if template.name != "" {
		return template.name, nil
	}
	// With the month, because migration also makes the partitions of the
	// months ahead, and a developer's server may live for long.
	name := "kiroku_template_" + postgres.SchemaFingerprint() + "_" + time.Now().UTC().Format("200601")
	if err := ensureTemplate(ctx, admin, name, postgres.Migrate); err != nil {
		return "", err
	}
	template.name = name
	return name, nil
}

type migrateFunc func(ctx context.Context, url string, logger *slog.Logger) error

// ensureTemplate makes the template unless it exists. It gets its name last, so
// one that was interrupted is never taken for a whole one.
func ensureTemplate(ctx context.Context, admin, name string, migrate migrateFunc) (err error) {
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return err
	}
	// Closing also gives the lock free.
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if _, err := conn.Exec(ctx, sqlLock, int64(templateLock)); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	var exists bool
	if err := conn.QueryRow(ctx, sqlDatabaseExists, name).Scan(&exists); err != nil || exists {
		return err
	}
	building := name + "_building"
	url, err := databaseURL(admin, building)
	if err != nil {
		return err
	}
	for _, statement := range []string{
		fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", building),
		fmt.Sprintf("CREATE DATABASE %s TEMPLATE template0", building),
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	if err := migrate(ctx, url, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	for _, statement := range []string{
		// A database that somebody is connected to cannot be cloned.
		fmt.Sprintf("ALTER DATABASE %s WITH ALLOW_CONNECTIONS false", building),
		fmt.Sprintf("ALTER DATABASE %s RENAME TO %s", building, name),
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
