package corpus_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kiroku-dev/kiroku/services/internal/analysis"
	"github.com/kiroku-dev/kiroku/services/retrieval/corpus"
	"github.com/kiroku-dev/kiroku/services/retrieval/index"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func doc(id string, seq int64, title string, files ...string) corpus.Document {
	d := corpus.Document{ID: id, Seq: seq, Actor: "alice", Session: "s-" + id, Type: 2, ValidFrom: noon, Files: files}
	d.Terms[index.FieldTitle] = analysis.Terms(title)
	for _, f := range files {
		d.Terms[index.FieldFiles] = append(d.Terms[index.FieldFiles], analysis.Terms(f)...)
	}
	return d
}

func find(c *corpus.Corpus, query string, f corpus.Filter) []string {
	ids := []string{}
	for _, hit := range c.Search(analysis.QueryTerms(query), nil, f, 100, false) {
		ids = append(ids, hit.ID)
	}
	return ids
}

func TestAnOlderVersionNeverReplacesANewerOne(t *testing.T) {
	t.Parallel()
	c := corpus.New()
	c.Apply(doc("a", 5, "new words"))
	c.Apply(doc("a", 4, "old words"))
	require.Equal(t, []string{"a"}, find(c, "new", corpus.Filter{}))
	require.Empty(t, find(c, "old", corpus.Filter{}))
	c.Apply(corpus.Document{ID: "a", Seq: 7, Deleted: true})
	c.Apply(doc("a", 6, "new words"))
	require.Empty(t, find(c, "words", corpus.Filter{}))
	c.Apply(doc("a", 8, "back again"))
	require.Equal(t, []string{"a"}, find(c, "back", corpus.Filter{}))
	c.Advance(8)
	c.Advance(3)
	require.EqualValues(t, 8, c.Seq())
}

func TestFilterAfterTheIndexStillFillsTheLimit(t *testing.T) {
	t.Parallel()
	c := corpus.New()
	for i := range 300 {
		d := doc(fmt.Sprintf("d%03d", i), int64(i+1), "compiler cache")
		d.Superseded = i%50 != 0
		d.ValidTo = noon.Add(time.Duration(i) * time.Hour)
		c.Apply(d)
	}
	require.Len(t, c.Search(analysis.QueryTerms("compiler cache"), nil, corpus.Filter{}, 5, false), 5)
	require.Len(t, find(c, "compiler", corpus.Filter{}), 6)
	require.Len(t, find(c, "compiler", corpus.Filter{Superseded: true}), 100)
	// Looking back, what was replaced later still held.
	require.Len(t, c.Search(analysis.QueryTerms("cache"), nil, corpus.Filter{AsOf: noon.Add(290 * time.Hour)}, 1000, false), 6+9)
}

func TestNamed(t *testing.T) {
	t.Parallel()
	c := corpus.New()
	c.Apply(doc("a", 1, "x", "cmd/server/main.go", "cmd/client/main.go", "internal/auth/token.go", "Makefile", ".golangci.yml"))
	private := doc("b", 2, "x", "secret/plan.go")
	private.Private = true
	c.Apply(private)
	for text, want := range map[string]map[string]float64{
		"see internal/auth/token.go:17, please":              {"internal/auth/token.go": 1},
		"look at `token.go`.":                                {"internal/auth/token.go": 1},
		"in /home/me/repo/internal/auth/token.go there is":   {"internal/auth/token.go": 1},
		"@auth/token.go fails":                               {"internal/auth/token.go": 1},
		"main.go":                                            {"cmd/server/main.go": 0.5, "cmd/client/main.go": 0.5},
		"client/main.go and .golangci.yml":                   {"cmd/client/main.go": 1, ".golangci.yml": 1},
		"the Makefile has no extension, nor has token or go": {},
		"plan.go is known to a private record only":          {},
		"": {},
	} {
		require.Equal(t, want, c.Named(text), text)
	}
}

func TestFilesRankByWhatSpeaksForThem(t *testing.T) {
	t.Parallel()
	c := corpus.New()
	c.Apply(doc("a", 1, "token refresh loop", "auth/refresh.go", "auth/clock.go"))
	c.Apply(doc("b", 2, "token refresh again", "auth/refresh.go"))
	for i := range 5 {
		c.Apply(doc(fmt.Sprint("c", i), int64(3+i), "menu", "web/menu.ts"))
	}
	private := doc("p", 20, "token refresh secret", "secret/plan.go")
	private.Private, private.Actor = true, "bob"
	c.Apply(private)
	rank := func(f corpus.Filter, query string) []string {
		terms := analysis.QueryTerms(query)
		hits := c.Search(terms, nil, f, 60, false)
		paths := []string{}
		for _, hit := range c.Files(corpus.FileQuery{
			Terms: terms, Hits: hits, Named: c.Named(query), Filter: f, Now: noon, Limit: 10, Weights: corpus.DefaultFileWeights,
		}) {
			require.NotEmpty(t, hit.Evidence)
			paths = append(paths, hit.Path)
		}
		return paths
	}
	require.Equal(t, []string{"auth/refresh.go", "auth/clock.go", "web/menu.ts"}, rank(corpus.Filter{Actor: "alice"}, "why does the token refresh loop"))
	require.Contains(t, rank(corpus.Filter{Actor: "bob"}, "why does the token refresh loop"), "secret/plan.go")
	require.Equal(t, "web/menu.ts", rank(corpus.Filter{}, "token refresh in web/menu.ts")[0])
	require.Equal(t, "auth/clock.go", rank(corpus.Filter{}, "is the clock wrong")[0])
	require.Empty(t, rank(corpus.Filter{Before: noon, AsOf: noon.Add(-1)}, "token refresh"), "looking back, nothing was known")
	c.Apply(corpus.Document{ID: "a", Seq: 30, Deleted: true})
	require.NotContains(t, rank(corpus.Filter{}, "clock"), "auth/clock.go")
}

func TestFilesThatNoRecordKnowsTakeNoPlace(t *testing.T) {
	t.Parallel()
	c := corpus.New()
	c.Apply(doc("a", 1, "menu", "web/menu.ts"))
	hits := c.Files(corpus.FileQuery{
		Working: []string{"new/a.go", "new/b.go", "new/c.go"}, Now: noon, Limit: 2, Weights: corpus.DefaultFileWeights,
	})
	require.Len(t, hits, 1)
	require.Equal(t, "web/menu.ts", hits[0].Path)
}

// TestChangesGiveTheSameAsBuildingAnew applies changes in any order and compares with a corpus of the last versions.
func TestChangesGiveTheSameAsBuildingAnew(t *testing.T) {
	t.Parallel()
	words := []string{"alpha", "beta", "gamma", "delta"}
	paths := []string{"a/x.go", "a/y.go", "b/x.go", "c.md"}
	rapid.Check(t, func(t *rapid.T) {
		last := make(map[string]corpus.Document)
		var changes []corpus.Document
		for seq := range rapid.Int64Range(1, 40).Draw(t, "changes") {
			d := doc(rapid.SampledFrom([]string{"1", "2", "3", "4", "5", "6"}).Draw(t, "id"), seq+1,
				rapid.SampledFrom(words).Draw(t, "word")+" "+rapid.SampledFrom(words).Draw(t, "word"),
				rapid.SliceOfDistinct(rapid.SampledFrom(paths), func(s string) string { return s }).Draw(t, "files")...)
			d.Deleted = rapid.IntRange(0, 4).Draw(t, "deleted") == 0
			d.Private = rapid.Bool().Draw(t, "private")
			changes, last[d.ID] = append(changes, d), d
		}
		rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0)).Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		changed, fresh := corpus.New(), corpus.New()
		for _, d := range changes {
			changed.Apply(d)
		}
		for _, d := range last {
			fresh.Apply(d)
		}
		for _, actor := range []string{"alice", "bob"} {
			f := corpus.Filter{Actor: actor}
			require.Empty(t, cmp.Diff(answer(fresh, f), answer(changed, f), cmpopts.EquateApprox(1e-5, 0)))
		}
	})
}

func answer(c *corpus.Corpus, f corpus.Filter) any {
	terms := analysis.QueryTerms("alpha gamma x.go")
	hits := c.Search(terms, nil, f, 100, false)
	files := c.Files(corpus.FileQuery{Terms: terms, Hits: hits, Filter: f, Now: noon, Limit: 10, Weights: corpus.DefaultFileWeights})
	for i := range files {
		files[i].Evidence = "" // the latest of several changes of one moment
	}
	for i := range hits {
		hits[i].Files = nil
	}
	return struct {
		Hits  []corpus.Hit
		Files []corpus.FileHit
	}{hits, files}
}
