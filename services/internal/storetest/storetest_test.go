package storetest_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/record"
	"github.com/kiroku-dev/kiroku/services/internal/storetest"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

func TestTheSameSeedMakesTheSameProject(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one, same, other := storetest.NewProject("p", 100, 7, end), storetest.NewProject("p", 100, 7, end), storetest.NewProject("p", 100, 8, end)
	differs := false
	for i := range 100 {
		a, b := one.Record(i, 100), same.Record(i, 100)
		require.True(t, proto.Equal(a, b))
		differs = differs || a.GetTitle() != other.Record(i, 100).GetTitle()
	}
	require.True(t, differs)
	require.Equal(t, end, one.Record(99, 100).GetValidFrom().AsTime())
}

func TestRecordsAreThereAsExtractionWritesThem(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := testenv.Postgres(t)
	pool, err := postgres.Open(ctx, url, postgres.RoleApp, 2)
	require.NoError(t, err)
	defer pool.Close()
	require.NoError(t, postgres.EnsureToken(ctx, pool, "acme", "admin", auth.NewSecret(), auth.Scopes))
	owner, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer owner.Close(ctx)
	org := postgres.OrgIDForName("acme")

	filled := storetest.NewProject("p_filled", 50, 1, time.Now())
	require.NoError(t, filled.Fill(ctx, owner, org, 50))
	extra := filled.Record(0, 50)
	extra.RecordId = "mr_extra"
	require.NoError(t, storetest.WriteRecords(ctx, pool, org, "p_filled", extra))
	require.NoError(t, storetest.WriteRecords(ctx, pool, org, "p_filled", extra))
	require.NoError(t, storetest.DeleteRecords(ctx, pool, org, "p_filled", "mr_extra"))

	var living, newest, seq int64
	require.NoError(t, owner.QueryRow(ctx, `SELECT count(*) FILTER (WHERE deleted_at IS NULL), max(change_seq) FROM records`).Scan(&living, &newest))
	require.NoError(t, owner.QueryRow(ctx, `SELECT change_seq FROM project_state WHERE project_id = 'p_filled'`).Scan(&seq))
	require.EqualValues(t, 50, living)
	require.EqualValues(t, 53, newest)
	require.EqualValues(t, 53, seq)
	var terms []byte
	require.NoError(t, owner.QueryRow(ctx, `SELECT terms FROM records WHERE record_id = 'mr_extra'`).Scan(&terms))
	decoded, err := record.DecodeTerms(terms)
	require.NoError(t, err)
	require.Equal(t, record.Analyse(extra), decoded)
}
