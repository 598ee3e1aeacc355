package buffer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
)

const (
	// pollInterval is how often the shards are polled while somebody waits: what other replicas appended is seen no later.
	// This replica's own appends wake the dispatcher at once.
	pollInterval = 500 * time.Millisecond
	// pollGap keeps wakes that come thick and fast from becoming a poll each.
	pollGap = 5 * time.Millisecond
	// candidatesFor is how long what a poll found may be handed out. A stale candidate costs its waiter one script that says no.
	candidatesFor = 50 * time.Millisecond
)

var (
	// errStopping is returned to those who wait when the process stops.
	errStopping = errors.New("the buffer is stopping")
	// errNothingDue is returned to those who do not wait.
	errNothingDue = errors.New("nothing is due")
)

// polling is what the dispatcher needs of Redis.
type polling interface {
	// Heads finds the projects that are due.
	Heads(ctx context.Context) (redisstream.Heads, error)
}

// dispatcher hands projects that are due to callers that wait, first come first served. Nobody waiting, it sleeps.
type dispatcher struct {
	streams polling
	// reclaim ends a lease that expired.
	reclaim func(context.Context, redisstream.Project)
	wake    chan struct{}

	mu      sync.Mutex
	waiting []*waiter
	due     []redisstream.Due
	running map[string]int               // leases of each organisation, as far as known
	taken   map[redisstream.Project]bool // handed out, and not leased or left yet
	polled  time.Time
	wakeAt  time.Time
}

type waiter struct {
	answer chan dispatched
	// once does not wait: when the next poll finds nothing for it, it is told so.
	once bool
}

type dispatched struct {
	project redisstream.Project
	err     error
}

func newDispatcher(streams polling, reclaim func(context.Context, redisstream.Project)) *dispatcher {
	return &dispatcher{
		streams: streams, reclaim: reclaim, wake: make(chan struct{}, 1),
		running: make(map[string]int), taken: make(map[redisstream.Project]bool),
	}
}

// next waits for a project that is due, or with once only looks for one. The caller tries to lease it and calls done.
func (d *dispatcher) next(ctx context.Context, stopping <-chan struct{}, once bool) (redisstream.Project, error) {
	w := &waiter{answer: make(chan dispatched, 1), once: once}
	d.mu.Lock()
	d.waiting = append(d.waiting, w)
	if time.Since(d.polled) < candidatesFor {
		d.assign()
	}
	d.mu.Unlock()
	d.signal()
	select {
	case a := <-w.answer:
		return a.project, a.err
	case <-ctx.Done():
		return d.leave(w, ctx.Err())
	case <-stopping:
		return d.leave(w, errStopping)
	}
}

// leave ends a wait. What was handed over at the same moment goes back.
func (d *dispatcher) leave(w *waiter, why error) (redisstream.Project, error) {
	d.mu.Lock()
	i := slices.Index(d.waiting, w)
	if i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
	}
	d.mu.Unlock()
	if i < 0 {
		if a := <-w.answer; a.err == nil {
			d.done(a.project)
			d.signal()
		}
	}
	return redisstream.Project{}, why
}

// done tells that the project that next gave was leased, or not.
func (d *dispatcher) done(p redisstream.Project) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.taken, p)
}

// notify tells that a project is due after that time; negative: it is not.
func (d *dispatcher) notify(in time.Duration) {
	if in < 0 {
		return
	}
	d.mu.Lock()
	sooner := len(d.waiting) > 0 && time.Now().Add(in).Before(d.wakeAt)
	d.mu.Unlock()
	if sooner {
		d.signal()
	}
}

func (d *dispatcher) signal() {
	select {
	case d.wake <- struct{}{}:
	default: // it is awake already
	}
}

// run polls and hands out until the context ends.
func (d *dispatcher) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-d.wake:
		}
		timer.Reset(d.round(ctx))
	}
}

// idle is a sleep that only a wake ends.
const idle = time.Hour

// round serves those who wait and returns how long there is nothing to do.
func (d *dispatcher) round(ctx context.Context) time.Duration {
	d.mu.Lock()
	nobody := len(d.waiting) == 0
	gap := pollGap - time.Since(d.polled)
	if !nobody && gap > 0 {
		d.wakeAt = time.Now().Add(gap)
	}
	d.mu.Unlock()
	if nobody {
		return idle
	}
	if gap > 0 {
		return gap
	}
	heads, err := d.streams.Heads(ctx)
	if err != nil {
		d.fail(err)
		return idle
	}
	for _, p := range heads.Expired {
		d.reclaim(ctx, p)
	}
	return d.serve(heads)
}

// serve hands out what a poll found.
func (d *dispatcher) serve(heads redisstream.Heads) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.polled = time.Now()
	d.due, d.running = heads.Due, heads.Running
	d.assign()
	d.waiting = slices.DeleteFunc(d.waiting, func(w *waiter) bool {
		if w.once {
			w.answer <- dispatched{err: errNothingDue}
		}
		return w.once
	})
	if len(d.waiting) == 0 {
		return idle
	}
	sleep := pollInterval
	if heads.NextIn >= 0 {
		sleep = min(sleep, heads.NextIn+time.Millisecond) // Redis counts whole milliseconds
	}
	if len(heads.Expired) > 0 {
		sleep = pollGap // what was reclaimed is due now
	}
	d.wakeAt = time.Now().Add(sleep)
	return sleep
}

// assign hands candidates to those who wait. The caller holds the lock.
func (d *dispatcher) assign() {
	for len(d.waiting) > 0 {
		project, ok := d.pick()
		if !ok {
			return
		}
		d.taken[project] = true
		d.running[project.Org]++
		d.waiting[0].answer <- dispatched{project: project}
		d.waiting = slices.Delete(d.waiting, 0, 1)
	}
}

// pick takes the project that has been due the longest of the organisation that has the fewest leases running.
func (d *dispatcher) pick() (redisstream.Project, bool) {
	best := -1
	for i, c := range d.due {
		if d.taken[c.Project] {
			continue
		}
		if best < 0 || d.running[c.Project.Org] < d.running[d.due[best].Project.Org] {
			best = i
		}
	}
	if best < 0 {
		return redisstream.Project{}, false
	}
	project := d.due[best].Project
	d.due = slices.Delete(d.due, best, best+1)
	return project, true
}

// fail answers all who wait with the error.
func (d *dispatcher) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.waiting {
		w.answer <- dispatched{err: err}
	}
	d.waiting = nil
	d.due = nil
}
