package index_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/services/internal/analysis"
	"github.com/kiroku-dev/kiroku/services/retrieval/index"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// record makes a document of plain text as the service does.
func record(id, title, summary string) index.Document {
	doc := index.Document{ID: id, Actor: "ann", Type: "decision", CreatedAt: epoch}
	doc.Fields[index.FieldTitle] = analysis.Terms(title)
	doc.Fields[index.FieldSummary] = analysis.Terms(summary)
	return doc
}

func search(ix *index.Index, text string) []string {
	return ids(ix.Search(index.Query{Terms: analysis.QueryTerms(text), Actor: "ann"}))
}

func ids(hits []index.Hit) []string {
	found := make([]string, 0, len(hits))
	for _, hit := range hits {
		found = append(found, hit.ID)
	}
	return found
}

// TestFindsByParts asks for records by a stem, a part or a phrase of what they
// say. Each query must find its record first.
func TestFindsByParts(t *testing.T) {
	t.Parallel()
	ix := index.New(index.Options{})
	for id, text := range map[string]string{
		"stem":     "We migrated the databases to partitions",
		"camel":    "maxRetryBudget was too low for slow relays",
		"path":     "Limits live in services/ingest/limits_test.go",
		"error":    "The query failed with SQLSTATE 42P01",
		"flag":     "Never push with --no-verify",
		"version":  "The toolchain is pinned to go1.26.8",
		"commit":   "Broken since 9fceb02d0ae598e95dc970b74767f19372d61af8",
		"japanese": "接続プールの設定を変更した",
		"chinese":  "我们决定使用消息队列处理事件",
		"korean":   "데이터베이스 연결을 다시 설정했다",
		"thai":     "แก้ไขการเชื่อมต่อฐานข้อมูลแล้ว",
		"german":   "Die Größe der Warteschlangen ist jetzt begrenzt",
	} {
		ix.Upsert(record(id, "", text))
	}
	for query, want := range map[string]string{
		"database migration":            "stem",
		"what is the retry budget":      "camel",
		"limits_test.go":                "path",
		"ingest/limits_test.go":         "path",
		"error 42p01":                   "error",
		"--no-verify":                   "flag",
		"go 1.26":                       "version",
		"what did 9fceb02 break":        "commit",
		"設定を変更":                         "japanese",
		"消息队列":                          "chinese",
		"데이터베이스":                        "korean",
		"ฐานข้อมูล":                     "thai",
		"wie ist die groesse begrenzt":  "german",
		"Ist die Warteschlange zu groß": "german",
	} {
		found := search(ix, query)
		require.NotEmpty(t, found, query)
		require.Equal(t, want, found[0], query)
	}
	require.Empty(t, search(ix, "the of and"))
	require.Empty(t, search(ix, "zebra"))
}

func TestAnyTermIsEnough(t *testing.T) {
	t.Parallel()
	ix := index.New(index.Options{})
	ix.Upsert(record("a", "", "relay keeps a journal"))
	require.Equal(t, []string{"a"}, search(ix, "why does the journal of quasars overflow"))
}

func TestFieldsAreWeighted(t *testing.T) {
	t.Parallel()
	ix := index.New(index.Options{})
	ix.Upsert(record("in summary", "relay", "journal"))
	ix.Upsert(record("in title", "journal", "relay"))
	require.Equal(t, []string{"in title", "in summary"}, search(ix, "journal"))

	bySummary := index.New(index.Options{Weights: index.Weights{index.FieldSummary: 1}})
	bySummary.Upsert(record("in summary", "relay", "journal"))
	bySummary.Upsert(record("in title", "journal", "relay"))
	require.Equal(t, []string{"in summary"}, search(bySummary, "journal"))
}

func TestExplainSharesTheScoreOut(t *testing.T) {
	t.Parallel()
	ix := index.New(index.Options{})
	ix.Upsert(record("a", "journal of the relay", "the journal is bounded, the journal is old"))
	ix.Upsert(record("b", "other", "things"))
	plain := ix.Search(index.Query{Terms: []string{"journal", "bound"}})
	hits := ix.Search(index.Query{Terms: []string{"journal", "bound"}, Explain: true})
	require.Len(t, hits, 1)
	require.Nil(t, plain[0].Fields)
	require.Equal(t, plain[0].Score, hits[0].Score) //nolint:testifylint // the very same sum
	require.Len(t, hits[0].Fields, 2)
	require.InDelta(t, hits[0].Score, hits[0].Fields["title"]+hits[0].Fields["summary"], 1e-5)
	require.Positive(t, hits[0].Fields["title"])
	require.Positive(t, hits[0].Fields["summary"])
}

func TestMatchedShare(t *testing.T) {
	t.Parallel()
	ix := index.New(index.Options{})
	ix.Upsert(record("a", "", "alpha beta"))
	ix.Upsert(record("b", "", "gamma"))
	hit := func(terms ...string) index.Hit { return ix.Search(index.Query{Terms: terms})[0] }

	all := hit("alpha", "beta", "alpha")
	require.Equal(t, 2, all.Matched)
	require.InDelta(t, 1, all.MatchedIDF, 1e-9)
	require.InDelta(t, 0.5, hit("alpha", "gamma").MatchedIDF, 1e-9)
	require.Less(t, hit("alpha", "unheard", "ofwords").MatchedIDF, 0.4, "unknown terms count")
}

func TestTermWeights(t *testing.T) {
	t.Parallel()
	ix := index.New(index.Options{})
	ix.Upsert(record("a", "", "alpha"))
	ix.Upsert(record("b", "", "beta"))
	query := index.Query{Terms: []string{"alpha", "beta"}, Weights: []float64{0.5}}
	require.Equal(t, []string{"b", "a"}, ids(ix.Search(query)))
	query.Weights = []float64{0, 1}
	require.Equal(t, []string{"b"}, ids(ix.Search(query)))
}

// TestOrderOfEqualScores: newest first, then by id, whatever the order of arrival.
func TestOrderOfEqualScores(t *testing.T) {
	t.Parallel()
	want := []string{"newer", "a", "b", "c"}
	docs := map[string]index.Document{}
	for _, id := range want {
		docs[id] = record(id, "", "journal")
	}
	newer := docs["newer"]
	newer.CreatedAt = epoch.Add(time.Hour)
	docs["newer"] = newer
	for _, order := range [][]string{{"newer", "a", "b", "c"}, {"c", "b", "newer", "a"}, {"b", "c", "a", "newer"}} {
		ix := index.New(index.Options{})
		for _, id := range order {
			ix.Upsert(docs[id])
		}
		require.Equal(t, want, search(ix, "journal"), "arrived as %v", order)
		for limit := 1; limit <= len(want); limit++ {
			hits := ix.Search(index.Query{Terms: []string{"journal"}, Limit: limit})
			require.Equal(t, want[:limit], ids(hits))
		}
	}
}

func TestPrivateDocumentsAreTheirActorsOnly(t *testing.T) {
	t.Parallel()
	ix := index.New(index.Options{})
	doc := record("a", "", "journal")
	doc.Private = true
	ix.Upsert(doc)
	find := func(actor string) []string {
		return ids(ix.Search(index.Query{Terms: []string{"journal"}, Actor: actor}))
	}
	require.Equal(t, []string{"a"}, find("ann"))
	require.Empty(t, find("bob"))
	require.Empty(t, find(""))

	doc.Actor = ""
	ix.Upsert(doc)
	require.Empty(t, find(""), "no actor is nobody, not the actor of a record without one")
}

func TestFilters(t *testing.T) {
	t.Parallel()
	ix := index.New(index.Options{})
	for i, typ := range []string{"decision", "bugfix", "decision"} {
		doc := record(fmt.Sprint(i), "", "journal")
		doc.Type = typ
		doc.Actor = []string{"ann", "bob", "bob"}[i]
		doc.CreatedAt = epoch.Add(time.Duration(i) * time.Hour)
		doc.Files = []string{"README.md", fmt.Sprintf("cmd/%d.go", i)}
		ix.Upsert(doc)
	}
	for name, tc := range map[string]struct {
		filter index.Filter
		want   []string
	}{
		"none":         {index.Filter{}, []string{"2", "1", "0"}},
		"type":         {index.Filter{Types: []string{"decision"}}, []string{"2", "0"}},
		"types":        {index.Filter{Types: []string{"decision", "bugfix", "unheard"}}, []string{"2", "1", "0"}},
		"unknown type": {index.Filter{Types: []string{"unheard"}}, []string{}},
		"actor":        {index.Filter{Actors: []string{"bob"}}, []string{"2", "1"}},
		"actor, type":  {index.Filter{Actors: []string{"bob"}, Types: []string{"bugfix"}}, []string{"1"}},
		"file":         {index.Filter{Files: []string{"cmd/1.go"}}, []string{"1"}},
		"second file":  {index.Filter{Files: []string{"cmd/0.go", "README.md"}}, []string{"2", "1", "0"}},
		"after":        {index.Filter{CreatedAfter: epoch.Add(time.Hour)}, []string{"2", "1"}},
		"before":       {index.Filter{CreatedBefore: epoch.Add(time.Hour)}, []string{"0"}},
		"between":      {index.Filter{CreatedAfter: epoch.Add(time.Hour), CreatedBefore: epoch.Add(2 * time.Hour)}, []string{"1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, ids(ix.Search(index.Query{Terms: []string{"journal"}, Filter: tc.filter})))
		})
	}
}

func TestCreatedAtSurvives(t *testing.T) {
	t.Parallel()
	ix := index.New(index.Options{})
	doc := record("a", "", "journal")
	doc.CreatedAt = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("", 9*3600))
	ix.Upsert(doc)
	got := ix.Search(index.Query{Terms: []string{"journal"}})[0].CreatedAt
	require.True(t, doc.CreatedAt.Equal(got))
	require.Equal(t, time.UTC, got.Location())
}

func TestUpsertReplacesAndDeleteForgets(t *testing.T) {
	t.Parallel()
	ix := index.New(index.Options{})
	ix.Upsert(record("a", "", "journal"))
	ix.Upsert(record("a", "", "spool"))
	require.Empty(t, search(ix, "journal"))
	require.Equal(t, []string{"a"}, search(ix, "spool"))
	require.Equal(t, 1, ix.Stats().Documents)

	ix.Delete("a")
	ix.Delete("unheard")
	require.Empty(t, search(ix, "spool"))
	require.Zero(t, ix.Stats().Documents)
}

// TestHugeQueryIsCapped: only the rarest terms of a paste are scored.
func TestHugeQueryIsCapped(t *testing.T) {
	t.Parallel()
	ix := index.New(index.Options{MaxQueryTerms: 2})
	ix.Upsert(record("a", "", "common rare"))
	ix.Upsert(record("b", "", "common scant"))
	ix.Upsert(record("c", "", "common"))
	terms := []string{"common", "rare", "scant"}
	for i := range 5000 {
		terms = append(terms, fmt.Sprintf("unheard%d", i))
	}
	hits := ix.Search(index.Query{Terms: terms})
	require.Equal(t, []string{"a", "b"}, ids(hits))
	require.Equal(t, 1, hits[0].Matched)
}

// TestDeadDocumentsAreLeftBehind: the index does not grow with changes, only
// with documents.
func TestDeadDocumentsAreLeftBehind(t *testing.T) {
	t.Parallel()
	ix := index.New(index.Options{})
	for round := range 40 {
		for i := range 100 {
			ix.Upsert(record(fmt.Sprint(i), "", fmt.Sprintf("journal word%d", round*100+i)))
		}
	}
	stats := ix.Stats()
	require.Equal(t, 100, stats.Documents)
	require.Less(t, stats.Tombstones, 1500)
	require.Less(t, stats.Terms, 2000)
	require.Len(t, ix.Search(index.Query{Terms: []string{"journal"}, Limit: 1000}), 100)
	require.Equal(t, []string{"7"}, search(ix, "word3907"))
}

// TestReadersSeeWholeVersions replaces and deletes while others search. A search
// finds each record once, in one version, and none that was deleted before it
// began.
func TestReadersSeeWholeVersions(t *testing.T) {
	t.Parallel()
	const records, rounds, readers = 50, 40, 4
	ix := index.New(index.Options{})
	for i := range records {
		ix.Upsert(record(fmt.Sprint(i), "steady", "round0"))
	}
	ix.Upsert(record("gone", "steady", "gone"))
	ix.Delete("gone")

	done := make(chan struct{})
	var group sync.WaitGroup
	for range readers {
		group.Go(func() {
			for {
				hits := ix.Search(index.Query{Terms: []string{"steadi"}, Limit: 2 * records})
				seen := map[string]bool{}
				for _, hit := range hits {
					seen[hit.ID] = true
				}
				if len(hits) != records || len(seen) != records || seen["gone"] {
					t.Errorf("a search found %d records, %d of them different", len(hits), len(seen))
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for round := range rounds {
		for i := range records {
			ix.Upsert(record(fmt.Sprint(i), "steady", fmt.Sprintf("round%d", round)))
		}
	}
	close(done)
	group.Wait()
	require.Equal(t, records, ix.Stats().Documents)
}
