package postgres

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migrate brings the database to this binary's schema: roles, tables, partitions of the months ahead. It runs under a lock,
// so that any number of processes may call it at once, and only goes forward. The URL's user must be able to create
// roles and tables.
func Migrate(ctx context.Context, url string, logger *slog.Logger) error {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return errors.New("migrate: the URL cannot be parsed")
	}
	db := stdlib.OpenDB(*cfg)
	defer func() { _ = db.Close() }()
	if err := createRoles(ctx, db); err != nil {
		return fmt.Errorf("migrate: roles: %w", err)
	}
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	for _, r := range results {
		logger.InfoContext(ctx, "migration applied", "version", r.Source.Version, "duration", r.Duration)
	}
	if err := finishMigration(ctx, cfg); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// createRoles makes the two roles and lets the migrating user take them. Roles belong to the whole server, so another
// database's migration may be making them at this moment: that is no error.
func createRoles(ctx context.Context, db *sql.DB) error {
	const roleSQL = `DO $$ BEGIN
	IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '%[1]s') THEN
		CREATE ROLE %[1]s NOLOGIN NOSUPERUSER NOBYPASSRLS;
	END IF;
	IF NOT pg_has_role(current_user, '%[1]s', 'MEMBER') OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
		EXECUTE format('GRANT %[1]s TO %%I', current_user);
	END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$`
	for _, role := range []Role{RoleApp, RoleWorker} {
		if _, err := db.ExecContext(ctx, fmt.Sprintf(roleSQL, role)); err != nil {
			return err
		}
	}
	return nil
}

// finishMigration lets the roles read the schema version and makes partitions.
func finishMigration(ctx context.Context, cfg *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "GRANT SELECT ON goose_db_version TO kiroku_app, kiroku_worker"); err != nil {
		return err
	}
	return ensurePartitions(ctx, conn)
}

// migrationNames is the embedded migrations in their order.
var migrationNames = sync.OnceValue(func() []string {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	sort.Strings(names)
	return names
})

func latestVersion() int64 {
	names := migrationNames()
	base := strings.TrimPrefix(names[len(names)-1], "migrations/")
	version, err := strconv.ParseInt(base[:strings.IndexByte(base, '_')], 10, 64)
	if err != nil {
		panic(err) // a migration's name begins with its number
	}
	return version
}

// SchemaFingerprint identifies the embedded migrations: databases with the same fingerprint have the same schema.
func SchemaFingerprint() string {
	h := sha256.New()
	for _, name := range migrationNames() {
		content, err := migrationFiles.ReadFile(name)
		if err != nil {
			panic(err) // the file is embedded
		}
		h.Write(content)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
