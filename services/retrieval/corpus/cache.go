package corpus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Key names a project of an organisation.
type Key struct{ Org, Project string }

func (k Key) String() string { return k.Org + "/" + k.Project }

// Source is where corpora are built from.
type Source interface {
	// Load reads a project: it calls begin with a change sequence, then each with every record that was there at that moment or
	// came later, the newest first.
	Load(ctx context.Context, key Key, begin func(seq int64), each func(Document)) error
	// Changes reads the records that changed after a change sequence, deleted ones among them, and returns a sequence up to which
	// they are complete.
	Changes(ctx context.Context, key Key, after int64, each func(Document)) (int64, error)
}

// Observer is told what a cache does. Its methods must be quick.
type Observer interface {
	// Built tells that a corpus was built, with how many records, or why it was not.
	Built(records int, took time.Duration, err error)
	// Advanced tells how many changed records were applied.
	Advanced(records int)
	// Evicted tells that a corpus was given up for want of room.
	Evicted()
	// Size tells how many corpora there are and what they take.
	Size(corpora, bytes int)
}

// ErrClosed is returned by a cache that was closed.
var ErrClosed = errors.New("corpus: the cache is closed")

const (
	// loadTimeout bounds the building of one corpus.
	loadTimeout = 5 * time.Minute
	// changesTimeout bounds the reading of changes. It does not end with the call that needed them: the next one will, too.
	changesTimeout = 30 * time.Second
	// builders is how many corpora are built at once.
	builders = 2
)

// Cache keeps the corpora of the projects that are asked for, within a byte budget: who was not asked for longest goes first. The one
// asked for last always stays, be it larger than the budget.
type Cache struct {
	source   Source
	budget   int
	observer Observer
	logger   *slog.Logger
	now      func() time.Time

	life    context.Context //nolint:containedctx // the life of what runs in the background, ended by Close
	end     context.CancelFunc
	running sync.WaitGroup
	slots   chan struct{}
	changes singleflight.Group

	mu      sync.Mutex
	entries map[Key]*entry
	uses    int64
	closed  bool
}

// entry is a corpus and the news of its building.
type entry struct {
	corpus *Corpus
	used   int64
	// begun is closed when the corpus has its sequence and its first records, built when it is whole or has failed.
	begun, built chan struct{}
	err          error // set before built is closed
}

// NewCache makes an empty cache. Close must be called.
func NewCache(source Source, budget int, observer Observer, logger *slog.Logger) *Cache {
	life, end := context.WithCancel(context.Background())
	return &Cache{
		source: source, budget: budget, observer: observer, logger: logger, now: time.Now,
		life: life, end: end, slots: make(chan struct{}, builders), entries: make(map[Key]*entry),
	}
}

// Close ends what runs in the background and waits for it.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	c.running.Wait()
}

// Get returns the project's corpus, building it in the background when it is not there. It waits until the context ends for it to be
// whole, and then returns it as far as it is: see Corpus.Whole. It fails when there is nothing to search in yet.
func (c *Cache) Get(ctx context.Context, key Key) (*Corpus, error) {
	e, err := c.entry(key) //nolint:contextcheck // the building outlives the call that needed it first
	if err != nil {
		return nil, err
	}
	select {
	case <-e.built:
		return e.corpus, e.err
	case <-ctx.Done():
	}
	select {
	case <-e.built:
		return e.corpus, e.err
	case <-e.begun:
		return e.corpus, nil
	default:
		return nil, fmt.Errorf("corpus: being built: %w", ctx.Err())
	}
}

// Warm begins to build the project's corpus if it is not there, and waits for nothing.
func (c *Cache) Warm(key Key) { _, _ = c.entry(key) } // a closed cache warms nothing

func (c *Cache) entry(key Key) (*entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	c.uses++
	e, ok := c.entries[key]
	if !ok {
		e = &entry{corpus: New(), begun: make(chan struct{}), built: make(chan struct{})}
		c.entries[key] = e
		c.running.Add(1)
		go c.build(key, e)
	}
	e.used = c.uses
	return e, nil
}

// firstRecords is how many records a corpus has before it is searched while it is being built.
const firstRecords = 500

// build fills a corpus. One that failed is forgotten, so that the next call tries again.
func (c *Cache) build(key Key, e *entry) {
	defer c.running.Done()
	defer close(e.built)
	start := c.now()
	e.err = c.load(key, e)
	records := e.corpus.Records()
	c.observer.Built(records, c.now().Sub(start), e.err)
	if e.err != nil {
		if c.life.Err() == nil {
			c.logger.Warn("the index of a project could not be built", "org_id", key.Org, "project_id", key.Project, "err", e.err)
		}
		c.Forget(key, e.corpus)
		return
	}
	e.corpus.MarkWhole()
	c.logger.Debug("index built", "org_id", key.Org, "project_id", key.Project, "records", records, "took", c.now().Sub(start))
	c.Trim()
}

func (c *Cache) load(key Key, e *entry) error {
	ctx, cancel := context.WithTimeout(c.life, loadTimeout)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	applied := 0
	return c.source.Load(ctx, key, e.corpus.Advance, func(d Document) {
		e.corpus.Apply(d)
		if applied++; applied == firstRecords {
			close(e.begun)
		}
	})
}

// CatchUp applies what changed in the project until the corpus knows every change up to seq. Calls at the same time share the
// work, which goes on when the context of one ends.
func (c *Cache) CatchUp(ctx context.Context, key Key, corpus *Corpus, seq int64) error {
	flight := fmt.Sprintf("%s/%p", key, corpus)
	advance := func() (any, error) { return nil, c.advance(key, corpus) } //nolint:contextcheck // the next call needs the changes, too
	for corpus.Seq() < seq {
		select {
		case result := <-c.changes.DoChan(flight, advance):
			if result.Err != nil {
				return result.Err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (c *Cache) advance(key Key, corpus *Corpus) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return ErrClosed
	}
	c.running.Add(1)
	c.mu.Unlock()
	defer c.running.Done()
	ctx, cancel := context.WithTimeout(c.life, changesTimeout)
	defer cancel()
	applied := 0
	seq, err := c.source.Changes(ctx, key, corpus.Seq(), func(d Document) {
		corpus.Apply(d)
		applied++
	})
	if err != nil {
		return err
	}
	corpus.Advance(seq)
	c.observer.Advanced(applied)
	c.Trim()
	return nil
}

// Forget gives up a corpus, so that the next call builds it anew. Another one that has taken its place stays.
func (c *Cache) Forget(key Key, corpus *Corpus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok && e.corpus == corpus {
		delete(c.entries, key)
	}
}

// Trim gives up the corpora that were not asked for longest until the rest is within the budget.
func (c *Cache) Trim() {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := 0
	for _, e := range c.entries {
		total += e.corpus.Bytes()
	}
	for total > c.budget && len(c.entries) > 1 {
		key, oldest := c.oldest()
		total -= oldest.corpus.Bytes()
		delete(c.entries, key)
		c.observer.Evicted()
	}
	c.observer.Size(len(c.entries), total)
}

func (c *Cache) oldest() (key Key, oldest *entry) {
	for k, e := range c.entries {
		if oldest == nil || e.used < oldest.used {
			key, oldest = k, e
		}
	}
	return key, oldest
}
