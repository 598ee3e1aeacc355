package index_test

import (
	"fmt"
	"math/rand"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/services/retrieval/index"
)

// corpus makes records as extraction leaves them: about 90 terms in all fields,
// their frequencies as in natural text without its stop words, a few of them
// new in each record, and two or three files out of some thousands.
type corpus struct {
	random *rand.Rand
	words  *rand.Zipf
}

func newCorpus(seed int64) *corpus {
	random := rand.New(rand.NewSource(seed))
	const skew, flatHead, vocabulary = 1.5, 20, 1_000_000
	return &corpus{random: random, words: rand.NewZipf(random, skew, flatHead, vocabulary)}
}

func (c *corpus) terms(n int) []string {
	terms := make([]string, n)
	for i := range terms {
		terms[i] = "w" + strconv.FormatUint(c.words.Uint64(), 36)
	}
	return terms
}

func (c *corpus) document(i int) index.Document {
	file := fmt.Sprintf("services/part%d/file%d.go", c.random.Intn(40), c.random.Intn(3000))
	doc := index.Document{
		ID:        fmt.Sprintf("mr_%026d", i),
		Actor:     "dev-" + strconv.Itoa(i%20),
		Private:   i%50 == 0,
		CreatedAt: time.Unix(1_760_000_000+int64(i)*60, 0),
		Type:      []string{"decision", "bugfix", "feature", "discovery"}[i%4],
		Files:     []string{file},
	}
	for field, n := range [index.NumFields]int{8, 30, 30, 6, 14} {
		doc.Fields[field] = c.terms(n)
	}
	doc.Fields[index.FieldFiles] = append(doc.Fields[index.FieldFiles], file)
	return doc
}

func (c *corpus) fill(n int) *index.Index {
	ix := index.New(index.Options{})
	for i := range n {
		ix.Upsert(c.document(i))
	}
	return ix
}

func BenchmarkSearch100k(b *testing.B) {
	c := newCorpus(1)
	ix := c.fill(100_000)
	queries := make([]index.Query, 512)
	for i := range queries {
		queries[i] = index.Query{Terms: c.terms(10), Actor: "dev-1", Limit: 50}
	}
	took := make([]time.Duration, 0, 1<<16)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		ix.Search(queries[i%len(queries)])
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkBuild counts documents: one operation is one Upsert of analysed terms.
func BenchmarkBuild(b *testing.B) {
	c := newCorpus(2)
	docs := make([]index.Document, 20_000)
	for i := range docs {
		docs[i] = c.document(i)
	}
	ix := index.New(index.Options{})
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n == len(docs) {
			n, ix = 0, index.New(index.Options{})
		}
		ix.Upsert(docs[n])
		n++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

// TestMemoryPerRecord holds the index to 1 KB a record, measured on the heap and
// not only by its own count.
func TestMemoryPerRecord(t *testing.T) {
	const records, perRecord = 10_000, 1024
	heap := func() int {
		runtime.GC()
		runtime.GC() // the second one frees what sync.Pool held back
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc)
	}
	before := heap()
	ix := newCorpus(3).fill(records)
	used := heap() - before
	stats := ix.Stats()
	t.Logf("%d bytes a record on the heap, %d by Stats, %d terms", used/records, stats.Bytes/records, stats.Terms)
	require.Less(t, used/records, perRecord)
	require.InEpsilon(t, used, stats.Bytes, 0.25)
}
