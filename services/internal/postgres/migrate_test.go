package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

func TestMigrateIsSafeToRepeatAndAtOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := testenv.EmptyPostgres(t)
	_, err := postgres.Open(ctx, url, postgres.RoleApp, 2)
	require.Error(t, err, "a database without the schema must be refused")

	failures := make(chan error, 3)
	for range 3 {
		go func() { failures <- postgres.Migrate(ctx, url, testenv.Logger(t)) }()
	}
	for range 3 {
		require.NoError(t, <-failures)
	}
	require.NoError(t, postgres.Migrate(ctx, url, testenv.Logger(t)))
	pool, err := postgres.Open(ctx, url, postgres.RoleApp, 2)
	require.NoError(t, err)
	pool.Close()
}

func TestOpenRefusesARoleThatBypasses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := testenv.Postgres(t)
	owner, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer owner.Close(ctx)
	_, err = owner.Exec(ctx, "ALTER TABLE records NO FORCE ROW LEVEL SECURITY")
	require.NoError(t, err)
	_, err = postgres.Open(ctx, url, postgres.RoleApp, 2)
	require.ErrorIs(t, err, postgres.ErrBypass)
	_, err = owner.Exec(ctx, "ALTER TABLE records FORCE ROW LEVEL SECURITY")
	require.NoError(t, err)
}

func TestPartitionsHoldEveryTimeAndGrow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := testenv.Postgres(t)
	owner, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer owner.Close(ctx)
	// As if the migration had run long ago: the newest months are not there, and an event of one of them is in events_future.
	var months []string
	rows, err := owner.Query(ctx, `SELECT relname::text FROM pg_class WHERE relispartition AND relname ~ '^events_[0-9]{4}' AND relkind = 'r' ORDER BY 1 DESC LIMIT 2`)
	require.NoError(t, err)
	months, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	newest, err := time.Parse("events_2006_01", months[0])
	require.NoError(t, err)
	rewind(t, owner, months, newest)
	require.NoError(t, postgres.Migrate(ctx, url, testenv.Logger(t)))

	var partition string
	require.NoError(t, owner.QueryRow(ctx, `SELECT tableoid::regclass::text FROM events WHERE event_id = $1`, postgres.IDBound(newest)).Scan(&partition))
	require.Equal(t, months[0], partition, "the event moves to its month")
	var defaults int
	require.NoError(t, owner.QueryRow(ctx, `SELECT count(*) FROM pg_partitioned_table WHERE partdefid <> 0`).Scan(&defaults))
	require.Zero(t, defaults)
}

// rewind drops months and puts an event of the newest into events_future.
func rewind(t *testing.T, owner *pgx.Conn, months []string, newest time.Time) {
	t.Helper()
	for _, month := range months {
		_, err := owner.Exec(t.Context(), "DROP TABLE "+month)
		require.NoError(t, err)
	}
	bound := postgres.IDBound(newest.AddDate(0, -1, 0))
	for _, stmt := range []string{
		"ALTER TABLE events DETACH PARTITION events_future",
		"ALTER TABLE events ATTACH PARTITION events_future FOR VALUES FROM ('" + bound + "') TO (MAXVALUE)",
		`INSERT INTO events (org_id, event_id, session_key, seq, batch_id, ix, project_id, actor_id, kind, event_type, valid_at, received_at, late, body_hash, event)
		 VALUES (gen_random_uuid(), '` + postgres.IDBound(newest) + `', 1, 1, gen_random_uuid(), 0, 'p', 'a', 1, 'x', now(), now(), false, '', '')`,
	} {
		_, err := owner.Exec(t.Context(), stmt)
		require.NoError(t, err)
	}
}

func TestTenantSeesItsOrganisationAlone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pool, err := postgres.Open(ctx, testenv.Postgres(t), postgres.RoleApp, 4)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	for _, org := range []string{"red", "blue"} {
		require.NoError(t, postgres.EnsureToken(ctx, pool, org, "o'neil \\", "secret of "+org, auth.Scopes))
	}
	red, err := pool.Tenant(auth.Service().ForOrg(postgres.OrgIDForName("red")))
	require.NoError(t, err)
	require.Equal(t, 1, countTokens(t, red), "the other organisation's token is not there")

	err = red.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO projects (org_id, project_id) VALUES ($1, 'p')", postgres.OrgIDForName("blue"))
		return err
	})
	require.Error(t, err, "writing into the other organisation is refused by the database")

	_, err = pool.Tenant(auth.Principal{})
	require.ErrorIs(t, err, postgres.ErrNoPrincipal)
	err = pool.CrossTenant(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var n int
		require.NoError(t, tx.QueryRow(ctx, "SELECT count(*) FROM tokens").Scan(&n))
		require.Zero(t, n, "without a tenant nothing is seen")
		return nil
	})
	require.NoError(t, err)
}

func countTokens(t *testing.T, store postgres.Tenant) (n int) {
	t.Helper()
	err := store.Read(t.Context(), func(b *pgx.Batch) { b.Queue("SELECT count(*) FROM tokens") }, func(r pgx.BatchResults) error {
		return r.QueryRow().Scan(&n)
	})
	require.NoError(t, err)
	return n
}

func TestTokensAreFoundBeforeTheTenantIsKnown(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := testenv.Postgres(t)
	app, err := postgres.Open(ctx, url, postgres.RoleApp, 2)
	require.NoError(t, err)
	t.Cleanup(app.Close)
	worker, err := postgres.Open(ctx, url, postgres.RoleWorker, 2)
	require.NoError(t, err)
	t.Cleanup(worker.Close)
	secret := auth.NewSecret()
	require.NoError(t, postgres.EnsureToken(ctx, app, "red", "ana", secret, []auth.Scope{auth.ScopeRead}))
	require.NoError(t, postgres.EnsureToken(ctx, app, "red", "ana", secret, []auth.Scope{auth.ScopeRead}), "making it again is no error")

	now := time.Now()
	authenticator := auth.NewAuthenticator(postgres.Tokens{Pool: worker}, "shared", func() time.Time { return now })
	p, err := authenticator.Authenticate(ctx, secret)
	require.NoError(t, err)
	require.Equal(t, "ana", p.ActorID())
	require.Equal(t, postgres.OrgIDForName("red"), p.OrgID())
	require.True(t, p.Has(auth.ScopeRead))
	require.False(t, p.Has(auth.ScopeAdmin))
	_, err = authenticator.Authenticate(ctx, "kk_wrong")
	require.ErrorIs(t, err, auth.ErrBadCredential)
	service, err := authenticator.Authenticate(ctx, "shared")
	require.NoError(t, err)
	require.True(t, service.IsService())

	revokeAll(t, app)
	now = now.Add(time.Second)
	_, err = authenticator.Authenticate(ctx, secret)
	require.ErrorIs(t, err, auth.ErrBadCredential, "a revoked token is refused within a second")
}

func revokeAll(t *testing.T, app *postgres.Pool) {
	t.Helper()
	store, err := app.Tenant(auth.Service().ForOrg(postgres.OrgIDForName("red")))
	require.NoError(t, err)
	require.NoError(t, store.Tx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE tokens SET revoked_at = now()")
		return err
	}))
}
