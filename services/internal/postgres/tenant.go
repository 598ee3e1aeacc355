package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/kiroku-dev/kiroku/services/internal/auth"
)

// ErrNoPrincipal is returned when a tenant store is asked for without an authenticated principal.
var ErrNoPrincipal = errors.New("postgres: no principal: refusing to choose an organisation")

// Tenant is the store of one principal: every transaction it opens sees what row-level security lets that principal
// see, and nothing else. There is no other way to the tenant tables under RoleApp.
type Tenant struct {
	pool  *Pool
	org   string
	actor string
}

// Tenant makes the store of a principal.
func (p *Pool) Tenant(principal auth.Principal) (Tenant, error) {
	if principal.OrgID() == "" || principal.ActorID() == "" {
		return Tenant{}, ErrNoPrincipal
	}
	return Tenant{pool: p, org: principal.OrgID(), actor: principal.ActorID()}, nil
}

// OrgID is the organisation that the store's transactions see.
func (t Tenant) OrgID() string { return t.org }

const setTenantSQL = "SELECT set_config('kiroku.org', $1, true), set_config('kiroku.actor', $2, true)"

// begin is BEGIN and the tenant in one round trip. Both values are quoted: the organisation is a UUID of our own, the actor has
// been checked but may hold quotes.
func (t Tenant) begin(more string) pgx.TxOptions {
	return pgx.TxOptions{BeginQuery: "BEGIN; SELECT set_config('kiroku.org', " + quote(t.org) + ", true), set_config('kiroku.actor', " +
		quote(t.actor) + ", true);" + more}
}

// quote makes a string literal. Every connection has standard_conforming_strings on, so the quote is the only character to double.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// Tx runs fn in a transaction that carries the tenant, and commits when fn returns nil. It takes two round trips
// beside fn's own: BEGIN goes with the tenant, and COMMIT.
func (t Tenant) Tx(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
	return t.run(ctx, t.begin(""), fn)
}

// TxCustomPlans is Tx with plans made for the values at hand: a generic plan of a look-up by many ids, made while a partition
// was empty, scans it when it is full.
func (t Tenant) TxCustomPlans(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
	return t.run(ctx, t.begin("SET LOCAL plan_cache_mode = force_custom_plan"), fn)
}

func (t Tenant) run(ctx context.Context, opts pgx.TxOptions, fn func(ctx context.Context, tx pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, t.pool.pgx, opts, func(tx pgx.Tx) error { return fn(ctx, tx) })
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}

// Read runs the queries of one batch in a read-only transaction that carries the tenant, all in a single round trip.
// Results are read in the order in which they were queued.
func (t Tenant) Read(ctx context.Context, queue func(*pgx.Batch), read func(pgx.BatchResults) error) (err error) {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN READ ONLY")
	batch.Queue(setTenantSQL, t.org, t.actor)
	queue(batch)
	batch.Queue("COMMIT")
	conn, err := t.pool.pgx.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	defer conn.Release()
	results := conn.SendBatch(ctx, batch)
	defer func() {
		if cerr := results.Close(); cerr != nil && err == nil {
			err = fmt.Errorf("postgres: read: %w", cerr)
		}
		if err != nil { // an open or failed transaction must not go back to the pool with its tenant
			_ = conn.Conn().Close(context.WithoutCancel(ctx))
		}
	}()
	for range 2 {
		if _, err := results.Exec(); err != nil {
			return fmt.Errorf("postgres: begin read: %w", err)
		}
	}
	return read(results)
}

// CrossTenant runs fn in a transaction of a RoleWorker pool, which sees all organisations on the tables that the role was
// granted. It is refused on other pools by the lack of a tenant: fn would see no rows.
func (p *Pool) CrossTenant(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
	err := pgx.BeginFunc(ctx, p.pgx, func(tx pgx.Tx) error { return fn(ctx, tx) })
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}
