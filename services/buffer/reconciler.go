package buffer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kiroku-dev/kiroku/services/buffer/outbox"
	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
)

const (
	// lockTTL bounds how long a reconciler that died keeps others from feeding.
	lockTTL = 30 * time.Second
	// passShare keeps passes over a large backlog to this share of the time.
	passShare = 20
	// standstill is how long passes may fail before the service is not healthy.
	standstill = time.Minute
	// passTimeout bounds one pass.
	passTimeout = 5 * time.Minute
)

// reconciler keeps Redis in step with Postgres. Each pass
//
//   - reads the epochs: one that changed tells that a shard was lost, and then nothing is left to ingest's own hand-over;
//   - counts the unfinished events of every project in Postgres, and what Redis holds of it. Where Redis holds fewer than are settled (older
//     than the grace in which ingest hands them over itself), or fewer than all for several passes, or knows that some had no room, the
//     project's unfinished ids are looked up in the stream's index and the missing events are fed. A stream that holds finished events
//     can hide as many missing ones, until it is leased next, which is within the maximum age: the finished fall out then, and the counts tell;
//   - ends leases that expired, for when no worker is left to ask.
type reconciler struct {
	cfg     Config
	streams *redisstream.Store
	outbox  *outbox.Store
	feeder  *feeder
	reclaim func(context.Context, redisstream.Project)
	metrics *metrics
	logger  *slog.Logger

	epochs *redisstream.Epochs
	// behind counts the passes in a row in which Redis held fewer events of a project than Postgres, for whatever reason.
	behind map[redisstream.Project]int
	kicked chan struct{}
	mu     sync.Mutex
	// roomy are projects that had overflowed and have room again.
	roomy map[redisstream.Project]bool
	// atOnce asks for a pass that does not wait for the grace.
	atOnce atomic.Bool
	// progress is when a pass last succeeded or a page was fed; Unix nanoseconds, 0 for never.
	progress atomic.Int64
}

// passAtOnce asks for a pass now, one that also feeds what came just now.
func (r *reconciler) passAtOnce() {
	r.atOnce.Store(true)
	r.kick()
}

// refill asks to feed one project now.
func (r *reconciler) refill(p redisstream.Project) {
	r.mu.Lock()
	r.roomy[p] = true
	r.mu.Unlock()
	r.kick()
}

func (r *reconciler) kick() {
	select {
	case r.kicked <- struct{}{}:
	default: // it is awake already
	}
}

// run makes passes until the context ends. The first one is made at once.
func (r *reconciler) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.kicked:
			r.refillAll(ctx)
			if !r.atOnce.Load() {
				continue
			}
		case <-timer.C:
		}
		start := time.Now()
		if err := r.pass(ctx); err != nil && ctx.Err() == nil {
			r.logger.WarnContext(ctx, "reconciliation failed; it is tried again", "err", err)
		}
		timer.Reset(max(r.cfg.Reconcile, passShare*time.Since(start)))
	}
}

// refillAll feeds the projects that have room again. One that fails is left to the next pass.
func (r *reconciler) refillAll(ctx context.Context) {
	r.mu.Lock()
	roomy := r.roomy
	r.roomy = make(map[redisstream.Project]bool)
	r.mu.Unlock()
	for p := range roomy {
		if err := r.feeder.feed(ctx, p, 0); err != nil && ctx.Err() == nil {
			r.logger.WarnContext(ctx, "a project that has room again could not be fed yet", "org_id", p.Org, "project_id", p.ID, "err", err)
		}
	}
}

func (r *reconciler) beat() { r.progress.Store(time.Now().UnixNano()) }

// healthy tells whether passes get on.
func (r *reconciler) healthy() error {
	last := r.progress.Load()
	if last == 0 {
		return errors.New("redis was not yet compared with Postgres")
	}
	if age := time.Since(time.Unix(0, last)); age > standstill+3*r.cfg.Reconcile {
		return fmt.Errorf("redis could not be compared with Postgres for %v", age.Round(time.Second))
	}
	return nil
}

// pass is one reconciliation.
func (r *reconciler) pass(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	grace := r.cfg.FeedGrace
	atOnce := r.atOnce.Swap(false)
	epochs, lost, err := r.lostShards(ctx)
	if err != nil {
		return err
	}
	if atOnce || lost > 0 {
		grace = 0
	}
	held, err := r.survey(ctx)
	if err != nil {
		return err
	}
	unfinished, err := r.outbox.Unfinished(ctx, grace)
	if err != nil {
		return err
	}
	r.measure(ctx, held, unfinished)
	complete, err := r.feedShort(ctx, held, unfinished, grace)
	if err != nil {
		return err
	}
	if complete {
		r.epochs = epochs // only now: a pass that failed must see the loss again
		r.metrics.epochsLost.Add(float64(lost))
	} else if grace == 0 {
		r.atOnce.Store(true) // another replica is feeding: look again
	}
	r.beat()
	return nil
}

// lostShards compares the epochs with those of the pass before. At the first pass nothing is known of the past: the counts tell.
func (r *reconciler) lostShards(ctx context.Context) (*redisstream.Epochs, int, error) {
	epochs, err := r.streams.Epochs(ctx)
	if err != nil {
		return nil, 0, err
	}
	if r.epochs == nil {
		return &epochs, 0, nil
	}
	lost := epochs.Lost(r.epochs)
	if lost > 0 {
		r.logger.WarnContext(ctx, "redis lost data: feeding every unfinished event again", "shards", lost)
	}
	return &epochs, lost, nil
}

// survey is what Redis holds, after projects whose stream and index disagree were forgotten and leases that expired were ended.
func (r *reconciler) survey(ctx context.Context) (map[redisstream.Project]redisstream.Holding, error) {
	survey, err := r.streams.Survey(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range survey.Expired {
		r.reclaim(ctx, p)
	}
	held := survey.Held
	for p, h := range held {
		if h.Events == h.Indexed {
			continue
		}
		forgotten, err := r.streams.Audit(ctx, p)
		if err != nil {
			return nil, err
		}
		if forgotten > 0 {
			r.logger.WarnContext(ctx, "stream and index disagreed: the project is fed again", "org_id", p.Org, "project_id", p.ID, "events", forgotten)
			delete(held, p)
		}
	}
	return held, nil
}

// feedShort feeds the projects of which Redis holds too little. It answers false when another replica is at it.
func (r *reconciler) feedShort(ctx context.Context, held map[redisstream.Project]redisstream.Holding, unfinished []outbox.Unfinished, grace time.Duration) (bool, error) {
	short := r.short(held, unfinished)
	if len(short) == 0 {
		return true, nil
	}
	unlock, err := r.streams.TryLock(ctx, lockTTL)
	if err != nil || unlock == nil {
		return false, err
	}
	defer func() {
		if err := unlock(context.WithoutCancel(ctx)); err != nil {
			r.logger.DebugContext(ctx, "reconciler's lock was not given back; it expires", "err", err)
		}
	}()
	for _, p := range short {
		if err := r.feeder.feed(ctx, p, grace); err != nil {
			return false, err
		}
	}
	return true, nil
}

// patience is how many passes a project may be behind before its ids are looked up. Under a steady stream there is always something that is
// committed and not yet handed over.
const patience = 3

// short are the projects to feed.
func (r *reconciler) short(held map[redisstream.Project]redisstream.Holding, unfinished []outbox.Unfinished) []redisstream.Project {
	var short []redisstream.Project
	behind := make(map[redisstream.Project]int)
	for _, u := range unfinished {
		p := redisstream.Project{Org: u.Org, ID: u.Project}
		h := held[p]
		if h.Overflowed && h.Bytes > r.cfg.CeilingBytes/2 {
			continue // no room
		}
		if u.Events > h.Events {
			behind[p] = r.behind[p] + 1
		}
		if h.Overflowed || u.Settled > h.Events || (u.Settled > 0 && behind[p] >= patience) {
			short = append(short, p)
			delete(behind, p)
		}
	}
	r.behind = behind
	return short
}

// measure sets the gauges, and warns when events wait too long.
func (r *reconciler) measure(ctx context.Context, held map[redisstream.Project]redisstream.Holding, unfinished []outbox.Unfinished) {
	var total redisstream.Holding
	leases := 0
	for _, h := range held {
		total.Events += h.Events
		total.Bytes += h.Bytes
		if h.Leased {
			leases++
		}
	}
	var events int64
	var oldest time.Time
	for _, u := range unfinished {
		events += u.Events
		if oldest.IsZero() || u.Oldest.Before(oldest) {
			oldest = u.Oldest
		}
	}
	age := time.Duration(0)
	if !oldest.IsZero() {
		age = max(0, time.Since(oldest))
	}
	r.metrics.set(total, leases, events, age)
	if age > r.cfg.PendingLimit {
		r.logger.WarnContext(ctx, "events wait too long for extraction", "oldest", age.Round(time.Second), "unfinished", events)
	}
	dead, err := r.outbox.DeadLetterCount(ctx)
	if err != nil {
		r.logger.WarnContext(ctx, "cannot count dead letters", "err", err)
		return
	}
	r.metrics.deadLetters.Set(float64(dead))
}
