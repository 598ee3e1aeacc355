package corpus_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kiroku-dev/kiroku/services/internal/testenv"
	"github.com/kiroku-dev/kiroku/services/retrieval/corpus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source is a project's truth, kept in memory and slow on demand.
type source struct {
	mu    sync.Mutex
	docs  []corpus.Document
	seq   int64
	loads int
	reads int
	err   error
	// hold, when set, stops a load after its first thousand documents until it is closed.
	hold chan struct{}
}

func (s *source) write(docs ...corpus.Document) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range docs {
		s.seq++
		d.Seq = s.seq
		s.docs = append(s.docs, d)
	}
	return s.seq
}

func (s *source) Load(ctx context.Context, _ corpus.Key, begin func(int64), each func(corpus.Document)) error {
	s.mu.Lock()
	s.loads++
	docs, seq, err := s.docs[:len(s.docs):len(s.docs)], s.seq, s.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	begin(seq)
	for i, d := range docs {
		if i == 1000 && s.hold != nil {
			select {
			case <-s.hold:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		each(d)
	}
	return nil
}

func (s *source) Changes(_ context.Context, _ corpus.Key, after int64, each func(corpus.Document)) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	for _, d := range s.docs {
		if d.Seq > after {
			each(d)
		}
	}
	return s.seq, s.err
}

// counts is an observer.
type counts struct {
	mu                         sync.Mutex
	built, failed, evicted     int
	advanced, corpora, maxSize int
}

func (c *counts) Built(_ int, _ time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.failed++
	} else {
		c.built++
	}
}
func (c *counts) Advanced(n int) { c.mu.Lock(); defer c.mu.Unlock(); c.advanced += n }
func (c *counts) Evicted()       { c.mu.Lock(); defer c.mu.Unlock(); c.evicted++ }
func (c *counts) Size(corpora, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.corpora, c.maxSize = corpora, max(c.maxSize, bytes)
}

func newCache(t *testing.T, s corpus.Source, budget int) (*corpus.Cache, *counts) {
	t.Helper()
	seen := &counts{}
	cache := corpus.NewCache(s, budget, seen, testenv.Logger(t))
	t.Cleanup(cache.Close)
	return cache, seen
}

func many(n int) []corpus.Document {
	docs := make([]corpus.Document, n)
	for i := range docs {
		docs[i] = doc(fmt.Sprintf("d%05d", i), 0, fmt.Sprintf("word%d common", i), fmt.Sprintf("dir/file%d.go", i%50))
	}
	return docs
}

func TestCallsAtOnceBuildOnce(t *testing.T) {
	t.Parallel()
	s := &source{}
	s.write(many(200)...)
	cache, seen := newCache(t, s, 1<<30)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			c, err := cache.Get(t.Context(), corpus.Key{Org: "o", Project: "p"})
			if err != nil || !c.Whole() || c.Records() != 200 {
				t.Errorf("got %v, %v", c, err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, s.loads)
	require.Equal(t, 1, seen.built)
}

func TestACorpusIsSearchedWhileItIsBuilt(t *testing.T) {
	t.Parallel()
	s := &source{hold: make(chan struct{})}
	s.write(many(1500)...)
	cache, _ := newCache(t, s, 1<<30)
	key := corpus.Key{Org: "o", Project: "p"}
	var c *corpus.Corpus
	testenv.Eventually(t, 30*time.Second, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		var err error
		c, err = cache.Get(ctx, key)
		return err == nil && c.Records() == 1000
	}, "the first records can be searched")
	require.False(t, c.Whole())
	require.Equal(t, []string{"d00007"}, find(c, "word7", corpus.Filter{}))
	require.Empty(t, find(c, "word1400", corpus.Filter{}))

	// A deletion that comes while the load still has the old version wins.
	seq := s.write(corpus.Document{ID: "d01400", Deleted: true}, doc("d01401", 0, "changed meanwhile"))
	require.NoError(t, cache.CatchUp(t.Context(), key, c, seq))
	close(s.hold)
	whole, err := cache.Get(t.Context(), key)
	require.NoError(t, err)
	require.Same(t, c, whole)
	require.True(t, whole.Whole())
	require.Empty(t, find(c, "word1400", corpus.Filter{}))
	require.Empty(t, find(c, "word1401", corpus.Filter{}))
	require.Equal(t, []string{"d01401"}, find(c, "meanwhile", corpus.Filter{}))
}

func TestCatchingUpIsShared(t *testing.T) {
	t.Parallel()
	s := &source{}
	s.write(many(10)...)
	cache, seen := newCache(t, s, 1<<30)
	key := corpus.Key{Org: "o", Project: "p"}
	c, err := cache.Get(t.Context(), key)
	require.NoError(t, err)
	seq := s.write(doc("new", 0, "brand new"))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := cache.CatchUp(t.Context(), key, c, seq); err != nil || c.Seq() < seq {
				t.Errorf("at %d: %v", c.Seq(), err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, []string{"new"}, find(c, "brand", corpus.Filter{}))
	require.LessOrEqual(t, s.reads, 20)
	require.GreaterOrEqual(t, seen.advanced, 1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, cache.CatchUp(ended, key, c, s.write(doc("later", 0, "later"))), context.Canceled)
}

func TestWhoWasNotAskedForLongestGoesFirst(t *testing.T) {
	t.Parallel()
	s := &source{}
	s.write(many(300)...)
	one := corpus.New()
	for _, d := range s.docs {
		one.Apply(d)
	}
	cache, seen := newCache(t, s, 3*one.Bytes()+one.Bytes()/2)
	get := func(project string) *corpus.Corpus {
		t.Helper()
		c, err := cache.Get(t.Context(), corpus.Key{Org: "o", Project: project})
		require.NoError(t, err)
		return c
	}
	a := get("a")
	get("b")
	get("c")
	require.Same(t, a, get("a"))
	get("d")
	require.Same(t, a, get("a"), "used lately")
	require.Equal(t, 4, s.loads)
	get("b")
	require.Equal(t, 5, s.loads, "b had to go")
	require.Equal(t, 2, seen.evicted)
	require.LessOrEqual(t, seen.corpora, 3)
	require.LessOrEqual(t, seen.maxSize, 3*one.Bytes()+one.Bytes()/2)

	tiny, _ := newCache(t, s, 1)
	first, err := tiny.Get(t.Context(), corpus.Key{Org: "o", Project: "a"})
	require.NoError(t, err)
	again, err := tiny.Get(t.Context(), corpus.Key{Org: "o", Project: "a"})
	require.NoError(t, err)
	require.Same(t, first, again, "one that is larger than the budget stays while nothing else is asked for")
}

func TestAFailedBuildIsTriedAgain(t *testing.T) {
	t.Parallel()
	broken := errors.New("no")
	s := &source{err: broken}
	cache, seen := newCache(t, s, 1<<30)
	key := corpus.Key{Org: "o", Project: "p"}
	_, err := cache.Get(t.Context(), key)
	require.ErrorIs(t, err, broken)
	s.mu.Lock()
	s.err = nil
	s.mu.Unlock()
	testenv.Eventually(t, 10*time.Second, func() bool {
		c, err := cache.Get(t.Context(), key)
		return err == nil && c.Whole()
	}, "built")
	require.Positive(t, seen.failed)
	cache.Close()
	_, err = cache.Get(t.Context(), key)
	require.ErrorIs(t, err, corpus.ErrClosed)
}
