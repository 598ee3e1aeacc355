package retrieval_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/storetest"
)

func TestOrganisationsWithTheSameProjectSeeTheirOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alice, eve := w.client("acme", "alice"), w.client("evil", "eve")
	w.write(rec("A1", "Postgres connection pool exhausted under load", "db/pool.go"))
	require.NoError(t, storetest.WriteRecords(t.Context(), w.pool, postgres.OrgIDForName("evil"), project,
		rec("E1", "Postgres connection pool of the other organisation", "evil/pool.go")))

	require.Equal(t, []string{"mr_A1"}, search(t, alice, "connection pool"))
	require.Equal(t, []string{"mr_E1"}, search(t, eve, "connection pool"))
	require.Equal(t, []string{"mr_E1"}, search(t, eve, ""))
	resp, err := eve.GetRecords(t.Context(), &retrievalv1.GetRecordsRequest{RecordIds: []string{"mr_A1", "mr_E1", "\x00"}})
	require.NoError(t, err)
	require.Len(t, resp.GetRecords(), 1)
	text := ask(t, eve, "s-eve", "why is the postgres connection pool exhausted in db/pool.go?").GetText()
	require.Contains(t, text, "mr_E1")
	require.NotContains(t, text, "mr_A1")
	require.NotContains(t, text, "db/pool.go")
}

func TestPrivateRecordsAreTheirActorsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alice, bob := w.client("acme", "alice"), w.client("acme", "bob")
	secret := rec("P1", "Salary spreadsheet importer crashes on umlauts", "hr/salaries.go")
	secret.Visibility = recordv1.Visibility_VISIBILITY_PRIVATE
	secret.SessionId = "s-other"
	w.write(secret, rec("S1", "Spreadsheet importer for invoices", "billing/import.go"))

	prompt := "the spreadsheet importer crashes on salaries.go"
	require.ElementsMatch(t, []string{"mr_P1", "mr_S1"}, search(t, alice, prompt))
	require.Equal(t, []string{"mr_S1"}, search(t, bob, prompt))
	require.Equal(t, []string{"mr_S1"}, search(t, bob, ""))
	require.Contains(t, ask(t, alice, "s-new", prompt).GetText(), "hr/salaries.go")
	resp, err := bob.BuildContext(t.Context(), &retrievalv1.BuildContextRequest{
		ProjectId: project, Purpose: retrievalv1.Purpose_PURPOSE_PROMPT, Query: prompt, SessionId: "s-bob", Explain: true, Files: []string{"hr/salaries.go"},
	})
	require.NoError(t, err)
	require.Contains(t, resp.GetText(), "mr_S1")
	require.NotContains(t, resp.String(), "mr_P1")
	require.NotContains(t, resp.String(), "salaries")
	brief, err := bob.BuildContext(t.Context(), &retrievalv1.BuildContextRequest{
		ProjectId: project, Purpose: retrievalv1.Purpose_PURPOSE_SESSION_START, SessionId: "s-bob",
	})
	require.NoError(t, err)
	require.NotContains(t, brief.GetText(), "mr_P1")

	// A shared record that becomes private is hidden at once, whoever has it in memory.
	hidden := rec("S1", "Spreadsheet importer for invoices", "billing/import.go")
	hidden.Visibility = recordv1.Visibility_VISIBILITY_PRIVATE
	w.write(hidden)
	require.Empty(t, search(t, bob, prompt))
}

func TestWhatWasCommittedBeforeACallIsInItsAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alice := w.client("acme", "alice")
	other := w.clientAt(w.serve(w.url, 64<<20), "acme", "bob") // a second replica
	require.Empty(t, search(t, alice, "websocket"))
	require.Empty(t, search(t, other, "websocket"))
	for _, id := range []string{"W1", "W2", "W3"} {
		w.write(rec(id, "Websocket reconnect "+id))
		require.Contains(t, search(t, alice, "websocket"), "mr_"+id)
		require.Contains(t, search(t, other, "websocket"), "mr_"+id)
	}
	w.write(rec("W2", "Something else entirely"))
	require.ElementsMatch(t, []string{"mr_W1", "mr_W3"}, search(t, alice, "websocket"))
	w.remove("mr_W3")
	require.Equal(t, []string{"mr_W1"}, search(t, alice, "websocket"))
	require.Equal(t, []string{"mr_W1"}, search(t, other, "websocket"))
	require.NotContains(t, ask(t, other, "s", "the websocket does not reconnect").GetText(), "mr_W3")
	resp, err := alice.GetRecords(t.Context(), &retrievalv1.GetRecordsRequest{RecordIds: []string{"mr_W3", "mr_W2", "mr_W1", "mr_W2"}})
	require.NoError(t, err)
	require.Equal(t, "mr_W2", resp.GetRecords()[0].GetRecordId())
	require.Len(t, resp.GetRecords(), 2)
}

func TestARestoredDatabaseIsBelieved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	alice := w.client("acme", "alice")
	w.write(rec("R1", "Scheduler drops the last job"))
	w.write(rec("R2", "Scheduler runs jobs twice"))
	require.Len(t, search(t, alice, "scheduler"), 2)
	w.asOwner(`DELETE FROM records WHERE record_id = 'mr_R2'`, `UPDATE project_state SET change_seq = 1`)
	require.Equal(t, []string{"mr_R1"}, search(t, alice, "scheduler"))
	w.write(rec("R3", "Scheduler forgets its timezone"))
	require.ElementsMatch(t, []string{"mr_R1", "mr_R3"}, search(t, alice, "scheduler"))
}
