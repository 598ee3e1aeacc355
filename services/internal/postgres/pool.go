// Package postgres is the one way to the truth: pools that cannot bypass row-level security, transactions that carry
// their tenant, the schema and its migrations.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Role is the database role under which a pool's connections work.
type Role string

const (
	// RoleApp sees one organisation at a time: the one that its transaction names.
	RoleApp Role = "kiroku_app"
	// RoleWorker crosses organisations on the few tables that credentials and the buffer need.
	RoleWorker Role = "kiroku_worker"
)

// ErrBypass is returned by Open when the role could read past row-level security.
var ErrBypass = errors.New("row-level security would not hold")

// ErrSchema is returned by Open when the database's schema is not the one this binary needs.
var ErrSchema = errors.New("schema mismatch: run `kiroku-server migrate` with this version first")

// Pool is a pool of connections under one role.
type Pool struct {
	pgx *pgxpool.Pool
}

// Open connects with at most maxConns connections under the role and proves that the role is bound by row-level
// security and that the schema is this binary's. It fails at once when the server cannot be reached.
func Open(ctx context.Context, url string, role Role, maxConns int32) (*Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("postgres: the URL cannot be parsed") // the parse error would show the password
	}
	cfg.MaxConns = maxConns
	cfg.MaxConnIdleTime = 5 * time.Minute
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	cfg.ConnConfig.RuntimeParams["application_name"] = string(role)
	cfg.ConnConfig.RuntimeParams["standard_conforming_strings"] = "on"
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SET ROLE "+string(role))
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	p := &Pool{pgx: pool}
	if err := p.prove(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("postgres as %s: %w", role, err)
	}
	return p, nil
}

// Close waits for connections in use and closes all.
func (p *Pool) Close() { p.pgx.Close() }

// Ping tells whether the server answers.
func (p *Pool) Ping(ctx context.Context) error { return p.pgx.Ping(ctx) }

const boundarySQL = `
SELECT (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user),
       (SELECT count(*) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
           AND a.attname = 'org_id' AND NOT (c.relrowsecurity AND c.relforcerowsecurity)),
       (SELECT count(*) FROM pg_class WHERE relname = 'goose_db_version' AND relnamespace = 'public'::regnamespace)`

func (p *Pool) prove(ctx context.Context) error {
	var bypass bool
	var unforced, versioned int
	if err := p.pgx.QueryRow(ctx, boundarySQL).Scan(&bypass, &unforced, &versioned); err != nil {
		return err
	}
	if bypass {
		return fmt.Errorf("the role is superuser or has BYPASSRLS: %w", ErrBypass)
	}
	if unforced > 0 {
		return fmt.Errorf("%d tenant tables lack FORCE ROW LEVEL SECURITY: %w", unforced, ErrBypass)
	}
	if versioned == 0 {
		return ErrSchema
	}
	var version int64
	if err := p.pgx.QueryRow(ctx, "SELECT max(version_id) FROM goose_db_version WHERE is_applied").Scan(&version); err != nil {
		return err
	}
	if version < latestVersion() {
		return fmt.Errorf("database has %d, this binary needs %d: %w", version, latestVersion(), ErrSchema)
	}
	return nil
}
