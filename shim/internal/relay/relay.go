// Package relay is the part of the shim that lives longer than one hook: it turns hook calls
// into events, keeps them in a journal until the server has them, and asks for the context that
// a prompt or a new session gets.
//
// A hook is answered once its scrubbed event is in the journal. Sending is another matter: a
// server that is slow, down or refusing changes nothing for the agent but the context.
package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/config"
	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/journal"
	"github.com/kiroku-dev/kiroku/shim/internal/project"
	"github.com/kiroku-dev/kiroku/shim/internal/relay/upstream"
	"github.com/kiroku-dev/kiroku/shim/internal/relayserver"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
	"github.com/kiroku-dev/kiroku/shim/internal/spool"
)

const (
	// DefaultIdle is how long a relay lives without a hook.
	DefaultIdle = 10 * time.Minute
	// firstDrain bounds the work on the spool before hooks are served, which wait for that.
	firstDrain = 300 * time.Millisecond
	// drainEvery is how often the spool is looked at while hooks are served.
	drainEvery = 20 * time.Second
	// flushTime bounds the last sending when the relay stops.
	flushTime = 2 * time.Second
)

// Options are what a relay is made of.
type Options struct {
	// Paths are the user's directories. State must be set.
	Paths rundir.Paths
	// Config is the connection to the server.
	Config config.Config
	// Resolve finds the project of a directory; project.Resolve when nil.
	Resolve func(dir string) (project.Project, error)
	// Version is the build version.
	Version string
	// Idle is how long to live without a hook; 0 for ever.
	Idle time.Duration
	// Logger must write to a file: nothing may appear on the agent's terminal.
	Logger *slog.Logger
	// Now is the clock; time.Now when nil.
	Now func() time.Time
	// Ready is called once hooks are served; it may be nil.
	Ready func()
}

// Relay turns hook calls into events and sends them.
type Relay struct {
	opts       Options
	log        *slog.Logger
	now        func() time.Time
	host       string
	journal    *journal.Journal
	quarantine *journal.Quarantine
	upstream   *upstream.Upstream
	projects   *projects
	sessions   *sessions
	deliveries *deliveries
	status     *statusBoard
	sender     *sender
	stop       context.CancelFunc
	// order makes parent links and journal agree when hooks of one session overlap.
	order sync.Mutex
}

// Open opens the journal and prepares the connection. The caller holds the lock.
func Open(opts Options) (*Relay, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Resolve == nil {
		opts.Resolve = project.Resolve
	}
	if opts.Ready == nil {
		opts.Ready = func() {}
	}
	state := opts.Paths.State
	if err := rundir.Ensure(state); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	up, err := upstream.Dial(opts.Config, opts.Version)
	if err != nil {
		return nil, err
	}
	queue, err := journal.Open(journal.Options{Dir: filepath.Join(state, "journal"), Now: opts.Now})
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	r := &Relay{
		opts: opts, log: opts.Logger, now: opts.Now, host: host,
		journal:    queue,
		quarantine: journal.OpenQuarantine(filepath.Join(state, "quarantine"), 0),
		upstream:   up,
		projects:   newProjects(opts.Resolve, opts.Now),
		sessions:   loadSessions(filepath.Join(state, "sessions.json"), opts.Now),
		deliveries: newDeliveries(),
		status:     loadStatusBoard(filepath.Join(state, statusFile), opts.Now),
		stop:       func() {},
	}
	r.status.change(func(s *Status) {
		s.Version = opts.Version
		s.Server.Ingest, s.Server.Retrieval = opts.Config.IngestAddr, opts.Config.RetrievalAddr
	})
	r.sender = newSender(r)
	return r, nil
}

// Run serves hooks until ctx ends or nothing has happened for Options.Idle. Everything that was
// answered is in the journal when it returns.
func (r *Relay) Run(ctx context.Context, lock *relayserver.Lock) error {
	ctx, r.stop = context.WithCancel(ctx)
	defer r.stop()
	r.upstream.Warm()
	r.drainSpool(ctx, firstDrain)

	background, end := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	group.Go(func() { r.sender.run(background) })
	group.Go(func() { r.everyNowAndThen(background) })
	err := relayserver.Serve(ctx, r.opts.Paths, lock, r.Handle, relayserver.Options{
		Logger: r.log, Idle: r.opts.Idle, Busy: r.busy, Ready: r.opts.Ready,
	})
	r.sender.flush(flushTime)
	end()
	group.Wait()
	r.status.save(r.journal.Stats(), r.quarantine.Count())
	return err
}

// Close releases what Open opened.
func (r *Relay) Close() error {
	err := r.journal.Close()
	if closeErr := r.upstream.Close(); err == nil {
		err = closeErr
	}
	return err
}

// busy keeps the relay alive while events wait for a server that is not there: nobody else
// would bring them when it is back.
func (r *Relay) busy() bool { return r.journal.Stats().Pending > 0 }

// everyNowAndThen takes frames that hooks spooled although a relay was running, and keeps the
// status on disk fresh for those who ask when no relay runs.
func (r *Relay) everyNowAndThen(ctx context.Context) {
	ticker := time.NewTicker(drainEvery)
	defer ticker.Stop()
	r.drainSpool(ctx, drainEvery)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.drainSpool(ctx, drainEvery)
			r.status.save(r.journal.Stats(), r.quarantine.Count())
		}
	}
}

func (r *Relay) drainSpool(ctx context.Context, within time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	done, err := spool.Drain(ctx, r.opts.Paths.SpoolDirs(), r.takeSpooled)
	if err != nil && ctx.Err() == nil {
		r.log.WarnContext(ctx, "spool was not drained", "err", err)
	}
	if done.Taken > 0 || done.Quarantined > 0 {
		r.log.InfoContext(ctx, "spool drained", "taken", done.Taken, "quarantined", done.Quarantined)
	}
}

// takeSpooled takes a frame from the spool. One that can never be taken, or on which this build breaks, is refused: it must
// neither block those behind it nor end one relay after the other.
func (r *Relay) takeSpooled(ctx context.Context, request frame.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.LogAttrs(ctx, slog.LevelError, "spooled event could not be handled",
				slog.String("event", request.Event), slog.String("stack", string(debug.Stack())))
			err = spool.ErrRefused
		}
	}()
	_, err = r.take(ctx, &request)
	if errors.Is(err, journal.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", spool.ErrRefused, err)
	}
	return err
}
