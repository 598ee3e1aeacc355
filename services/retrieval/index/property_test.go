package index_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kiroku-dev/kiroku/services/retrieval/index"
)

// drawDocument makes small documents over few words, so that they collide.
func drawDocument(t *rapid.T, id string) index.Document {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", ""}), 0, 6)
	doc := index.Document{
		ID:        id,
		Actor:     rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "actor"),
		Private:   rapid.Bool().Draw(t, "private"),
		Type:      rapid.SampledFrom([]string{"decision", "bugfix"}).Draw(t, "type"),
		CreatedAt: epoch.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "hour")) * time.Hour),
	}
	for field := range doc.Fields {
		doc.Fields[field] = words.Draw(t, "words")
	}
	return doc
}

func drawQuery(t *rapid.T) index.Query {
	return index.Query{
		Terms:   rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "z"}), 0, 5).Draw(t, "terms"),
		Actor:   rapid.SampledFrom([]string{"ann", "bob", ""}).Draw(t, "asks"),
		Limit:   rapid.IntRange(0, 8).Draw(t, "limit"),
		Explain: rapid.Bool().Draw(t, "explain"),
	}
}

// TestIncrementalEqualsRebuilt: after any changes the index answers like one that
// was built from what is left.
func TestIncrementalEqualsRebuilt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ix := index.New(index.Options{MaxQueryTerms: 4})
		living := map[string]index.Document{}
		for range rapid.IntRange(0, 40).Draw(t, "changes") {
			id := fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "id"))
			if rapid.IntRange(0, 3).Draw(t, "change") == 0 {
				ix.Delete(id)
				delete(living, id)
				continue
			}
			living[id] = drawDocument(t, id)
			ix.Upsert(living[id])
		}
		query := drawQuery(t)
		require.Equal(t, rebuilt(living, index.Options{MaxQueryTerms: 4}).Search(query), ix.Search(query))
		require.Equal(t, len(living), ix.Stats().Documents)
	})
}

// rebuilt fills a new index in the random order of a map.
func rebuilt(living map[string]index.Document, opts index.Options) *index.Index {
	ix := index.New(opts)
	for _, doc := range living {
		ix.Upsert(doc)
	}
	return ix
}

// TestWornIndexEqualsRebuilt is the same at a size where rewrites, long lists and
// the shortcuts of a search come in.
func TestWornIndexEqualsRebuilt(t *testing.T) {
	t.Parallel()
	c := newCorpus(7)
	random := rand.New(rand.NewSource(8))
	ix := index.New(index.Options{})
	living := map[string]index.Document{}
	for range 4000 {
		doc := c.document(random.Intn(1500))
		if random.Intn(5) == 0 {
			ix.Delete(doc.ID)
			delete(living, doc.ID)
			continue
		}
		living[doc.ID] = doc
		ix.Upsert(doc)
	}
	fresh := rebuilt(living, index.Options{})
	for i := range 150 {
		query := index.Query{
			Terms: c.terms(1 + i%20), Actor: fmt.Sprintf("dev-%d", i%20), Limit: 1 + i%60, Explain: i%7 == 0,
		}
		if i%3 == 0 {
			query.Filter.Types = []string{"decision"}
		}
		require.Equal(t, fresh.Search(query), ix.Search(query))
	}
}

// TestSearchEqualsBruteForce scores every document by the formula and expects
// the same answer: what a search skips must not have been in it.
func TestSearchEqualsBruteForce(t *testing.T) {
	t.Parallel()
	const records, deleted, queries = 2000, 200, 60
	c := newCorpus(9)
	ix := index.New(index.Options{})
	docs := map[string]index.Document{}
	for i := range records {
		doc := c.document(i)
		docs[doc.ID] = doc
		ix.Upsert(doc)
	}
	for i := range deleted {
		id := fmt.Sprintf("mr_%026d", i*7)
		ix.Delete(id)
		delete(docs, id)
	}
	reference := newReference(docs)
	for i := range queries {
		query := index.Query{Terms: c.terms(2 + i%12), Actor: "dev-1", Limit: 1 + i}
		want := reference.search(query)
		hits := ix.Search(query)
		require.Len(t, hits, min(len(want), query.Limit))
		for place, hit := range hits {
			require.InEpsilon(t, want[place], hit.Score, 1e-4, "query %v, place %d", query.Terms, place)
		}
	}
}

// reference is BM25 over fields by its formula, without an index.
type reference struct {
	docs     []index.Document
	counts   []map[string][index.NumFields]float64
	df       map[string]float64
	averages [index.NumFields]float64
}

func newReference(docs map[string]index.Document) *reference {
	r := &reference{df: map[string]float64{}}
	for _, doc := range docs {
		counts := map[string][index.NumFields]float64{}
		for field, terms := range doc.Fields {
			r.averages[field] += float64(len(terms)) / float64(len(docs))
			for _, term := range terms {
				freqs := counts[term]
				freqs[field]++
				counts[term] = freqs
			}
		}
		for term := range counts {
			r.df[term]++
		}
		r.docs, r.counts = append(r.docs, doc), append(r.counts, counts)
	}
	return r
}

// search returns the scores of all documents that the query may find, best first.
func (r *reference) search(query index.Query) []float64 {
	asked := map[string]bool{}
	for _, term := range query.Terms {
		asked[term] = true
	}
	var scores []float64
	for i, doc := range r.docs {
		score := 0.0
		for term := range asked {
			score += r.score(i, term)
		}
		if score > 0 && (!doc.Private || doc.Actor == query.Actor) {
			scores = append(scores, score)
		}
	}
	slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
	return scores
}

func (r *reference) score(i int, term string) float64 {
	weight := 0.0
	for field, freq := range r.counts[i][term] {
		length := float64(len(r.docs[i].Fields[field])) / r.averages[field]
		weight += freq * index.DefaultWeights[field] / (1 - index.DefaultB + index.DefaultB*length)
	}
	idf := math.Log(1 + (float64(len(r.docs))-r.df[term]+0.5)/(r.df[term]+0.5))
	return idf * weight * (index.DefaultK1 + 1) / (weight + index.DefaultK1)
}
