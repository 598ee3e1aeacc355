package ingest

import (
	"context"
	"sync"
	"time"

	"github.com/kiroku-dev/kiroku/proto/event"
	"github.com/kiroku-dev/kiroku/services/ingest/eventstore"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
)

const (
	// maxRows bounds a shared transaction.
	maxRows = 1000
	// maxWriters is how many transactions of one organisation run at once.
	maxWriters = 2
)

// coalescer lets calls of one organisation that wait at the same time share a transaction. Nobody waits for company: a call
// that finds a free writer goes at once, and takes along whoever queued while all writers were busy.
type coalescer struct {
	append func(context.Context, postgres.Tenant, []event.Scrubbed, time.Time) ([]eventstore.Outcome, error)
	now    func() time.Time

	mu   sync.Mutex
	orgs map[string]*orgQueue
}

type orgQueue struct {
	writers int
	waiting []*waiter
}

type waiter struct {
	ctx    context.Context //nolint:containedctx // a queued call; the writer that takes it along must see whether it is still wanted
	store  postgres.Tenant
	events []event.Scrubbed
	done   chan struct{}
	result []eventstore.Outcome
	err    error
}

func newCoalescer(now func() time.Time) *coalescer {
	return &coalescer{append: eventstore.Append, now: now, orgs: make(map[string]*orgQueue)}
}

// Append stores the call's events, in a transaction of its own or shared. When ctx ends first the events may or may not be
// stored: repeating the call tells.
func (c *coalescer) Append(ctx context.Context, store postgres.Tenant, events []event.Scrubbed) ([]eventstore.Outcome, error) {
	w := &waiter{ctx: ctx, store: store, events: events, done: make(chan struct{})}
	c.mu.Lock()
	queue, ok := c.orgs[store.OrgID()]
	if !ok {
		queue = &orgQueue{}
		c.orgs[store.OrgID()] = queue
	}
	queue.waiting = append(queue.waiting, w)
	lead := queue.writers < maxWriters
	if lead {
		queue.writers++
	}
	c.mu.Unlock()
	if lead {
		go c.write(store.OrgID(), queue) //nolint:contextcheck // a writer serves many calls, each by its own context
	}
	select {
	case <-w.done:
		return w.result, w.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// write commits waiting calls until none waits.
func (c *coalescer) write(org string, queue *orgQueue) {
	for {
		c.mu.Lock()
		group := queue.take()
		if len(group) == 0 {
			queue.writers--
			if queue.writers == 0 {
				delete(c.orgs, org)
			}
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		c.commit(group)
	}
}

// take removes the calls of one transaction from the queue; those that nobody waits for any more are let go.
func (q *orgQueue) take() []*waiter {
	var group []*waiter
	rows, n := 0, 0
	for ; n < len(q.waiting); n++ {
		w := q.waiting[n]
		if w.ctx.Err() != nil {
			continue
		}
		if rows += len(w.events); rows > maxRows && len(group) > 0 {
			break
		}
		group = append(group, w)
	}
	q.waiting = q.waiting[n:]
	return group
}

// commit stores a group. When the shared transaction fails for a reason of its own each call is tried alone, so that
// nobody fails for a neighbour.
func (c *coalescer) commit(group []*waiter) {
	if len(group) == 1 {
		c.commitAlone(group[0])
		return
	}
	var events []event.Scrubbed
	for _, w := range group {
		events = append(events, w.events...)
	}
	ctx, cancel := joint(group)
	defer cancel()
	outcomes, err := c.append(ctx, group[0].store, events, c.now())
	for _, w := range group {
		if err != nil {
			c.commitAlone(w)
			continue
		}
		w.result, outcomes = outcomes[:len(w.events)], outcomes[len(w.events):]
		close(w.done)
	}
}

func (c *coalescer) commitAlone(w *waiter) {
	w.result, w.err = c.append(w.ctx, w.store, w.events, c.now())
	close(w.done)
}

// joint is a context that ends when the last of the group has gone: one impatient call must not break its neighbours.
func joint(group []*waiter) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(group[0].ctx))
	left := make(chan struct{}, len(group))
	stops := make([]func() bool, len(group))
	for i, w := range group {
		stops[i] = context.AfterFunc(w.ctx, func() {
			left <- struct{}{}
			if len(left) == cap(left) {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}
