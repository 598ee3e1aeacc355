package extraction

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	"github.com/kiroku-dev/kiroku/services/internal/record"
)

// drafted is a record of one title on its way; its only source is its turn's only event.
func drafted(key, title string) draft {
	turn, _, _ := strings.Cut(key, "/")
	r := &recordv1.Record{
		ProjectId: project, ActorId: "ana", SessionId: "s", Visibility: recordv1.Visibility_VISIBILITY_PROJECT, Title: title,
		ObservationType: recordv1.ObservationType_OBSERVATION_TYPE_BUGFIX, Strategy: "rules", Confidence: 0.5,
		SourceEventIds: []string{turn}, ValidFrom: timestamppb.Now(),
	}
	return draft{Record: r, key: key, hash: record.ContentHash(r), terms: record.EncodeTerms(record.Analyse(r))}
}

// write writes the drafts of one turn.
func (b *bench) write(t *testing.T, turn string, records ...draft) {
	t.Helper()
	require.NoError(t, b.store.Tx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		w := &writer{tx: tx, org: b.store.OrgID(), project: project, now: time.Now()}
		return w.write(ctx, &drafts{records: records, prefixes: []string{turn + "/"}, events: map[string]bool{turn: true}})
	}))
}

func (b *bench) titles(t *testing.T) []string {
	t.Helper()
	var titles []string
	for _, r := range b.records(t) {
		titles = append(titles, r.GetTitle())
	}
	return titles
}

func TestRecordsOfATurnThatChangePlacesAreAllKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(t, "p", drafted("p/fix:1", "the second error"))
	b.write(t, "p", drafted("p/fix:1", "the first error"), drafted("p/fix:2", "the second error"))
	require.ElementsMatch(t, []string{"the first error", "the second error"}, b.titles(t))
	b.write(t, "p", drafted("p/fix:2", "the first error"))
	require.Equal(t, []string{"the first error"}, b.titles(t), "what moved is kept, what was not made again goes")
}

func TestPrivateRecordsConfirmNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(t, "p", drafted("p/fix:1", "an error"))
	require.NoError(t, b.store.Tx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE records SET visibility = 2, actor_id = 'ben'")
		return err
	}))
	b.write(t, "q", drafted("q/fix:1", "an error"))
	require.EqualValues(t, 1, b.number(t, "SELECT count(*) FROM records WHERE visibility = 1"), "the project has a record of its own")
	require.EqualValues(t, 1, b.number(t, "SELECT max(cardinality(source_event_ids)) FROM records"), "a private record tells nothing of others' events")
}

func TestConfirmationsOutliveTheTurnThatSaidItFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	requireRecord := func(why string) {
		t.Helper()
		records := b.records(t)
		require.Len(t, records, 1, why)
		require.EqualValues(t, 2, records[0].GetSeenCount(), why)
		require.ElementsMatch(t, []string{"p", "q"}, records[0].GetSourceEventIds(), why)
	}
	b.write(t, "p", drafted("p/rule", "always run the tests"))
	b.write(t, "q", drafted("q/rule", "always run the tests"))
	requireRecord("said twice")
	b.write(t, "p", drafted("p/rule", "always run the tests"))
	b.write(t, "q", drafted("q/rule", "always run the tests"))
	requireRecord("extracted again")
	b.write(t, "p")
	requireRecord("another turn still says it")
}
