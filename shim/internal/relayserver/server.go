// Package relayserver is the accepting side of the relay: it owns the unix socket on which
// hooks hand over their frames.
//
// Exactly one relay per user binds the socket: the one that holds the lock. Nobody else ever
// removes a socket file, so a starting relay cannot take the place of a living one.
package relayserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/process"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

// Defaults of Options.
const (
	defaultMaxConns     = 64
	defaultReadTimeout  = 5 * time.Second
	defaultDrainTimeout = 3 * time.Second
	// largeFrame is the payload size in bytes above which frames are taken one at a time, so
	// that many huge payloads at once cannot exhaust memory.
	largeFrame = 4 << 20
	// acceptPause is the wait after a failed accept.
	acceptPause = 50 * time.Millisecond
)

// Handler turns one request into its answer. It is called concurrently. Its context
// ends when the drain time of a stopping relay is over; the request's own Budget says how long
// the hook waits.
type Handler func(ctx context.Context, r frame.Request) frame.Answer

// Options tune a server; the zero value is usable.
type Options struct {
	// Logger gets lifecycle lines and refused connections, never payloads.
	Logger *slog.Logger
	// Idle is how long the relay lives without a request; 0 means for ever.
	Idle time.Duration
	// Busy reports work that must not be cut off by the idle end, such as unsent events.
	Busy func() bool
	// After replaces time.After, for the idle end.
	After func(time.Duration) <-chan time.Time
	// MaxConns bounds the connections served at once; further ones wait in the socket's queue.
	MaxConns int
	// ReadTimeout bounds the reading of one frame.
	ReadTimeout time.Duration
	// DrainTimeout bounds the wait for open requests when the server stops.
	DrainTimeout time.Duration
	// Ready is called once, when the socket accepts connections.
	Ready func()
}

func (o *Options) fill() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Busy == nil {
		o.Busy = func() bool { return false }
	}
	if o.Ready == nil {
		o.Ready = func() {}
	}
	if o.MaxConns <= 0 {
		o.MaxConns = defaultMaxConns
	}
	if o.ReadTimeout <= 0 {
		o.ReadTimeout = defaultReadTimeout
	}
	if o.DrainTimeout <= 0 {
		o.DrainTimeout = defaultDrainTimeout
	}
}

// ErrAbandoned means that Serve returned although a handler did not heed the end of its context.
var ErrAbandoned = errors.New("relay stopped with requests still open")

type peer struct{ uid, pid int }

type server struct {
	Options
	handler   Handler
	listener  *net.UnixListener
	slots     chan struct{}
	large     chan struct{}
	activity  chan struct{}
	stopping  chan struct{}
	active    atomic.Int64
	group     sync.WaitGroup
	processes process.Cache

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// Serve binds the socket and answers hooks until ctx ends or the relay has been idle for
// Options.Idle; both return nil once open requests are answered. The caller holds the lock
// and closes it after Serve has returned, when its journal is closed too.
func Serve(ctx context.Context, paths rundir.Paths, lock *Lock, handler Handler, opts Options) error {
	if lock == nil || lock.file == nil {
		return errors.New("relay: serving needs the lock")
	}
	opts.fill()
	listener, err := listen(paths.Socket())
	if err != nil {
		return fmt.Errorf("relay socket: %w", err)
	}
	s := &server{
		Options:  opts,
		handler:  handler,
		listener: listener,
		slots:    make(chan struct{}, opts.MaxConns),
		large:    make(chan struct{}, 1),
		activity: make(chan struct{}, 1),
		stopping: make(chan struct{}),
		conns:    make(map[net.Conn]struct{}),
	}
	return s.run(ctx, paths.Socket())
}

// listen replaces the socket file that a killed relay left behind.
func listen(path string) (*net.UnixListener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

func (s *server) run(ctx context.Context, socket string) error {
	// Requests outlive the order to stop: they are answered while the server drains.
	requests, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	s.group.Go(func() {
		s.awaitEnd(ctx)
		// The name goes first: a hook that finds no socket waits for the next relay, while one
		// that finds a dead socket has lost time.
		_ = os.Remove(socket)
		_ = s.listener.Close()
		close(s.stopping)
	})
	s.Ready()
	s.Logger.InfoContext(ctx, "relay is listening", "socket", socket)
	s.accept(requests)
	return s.drain(abandon)
}

// awaitEnd returns when ctx ends or nothing has happened for the idle time.
func (s *server) awaitEnd(ctx context.Context) {
	if s.Idle <= 0 {
		<-ctx.Done()
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.activity:
		case <-s.After(s.Idle):
			if s.active.Load() == 0 && !s.Busy() {
				s.Logger.InfoContext(ctx, "relay ends, nothing to do", "idle", s.Idle)
				return
			}
		}
	}
}

// accept serves until the listener is closed. Running out of descriptors or memory passes, so
// an error of accept is waited out.
func (s *server) accept(ctx context.Context) {
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.stopping:
			return
		}
		conn, err := s.listener.AcceptUnix()
		if err == nil {
			s.start(ctx, conn)
			continue
		}
		<-s.slots
		if errors.Is(err, net.ErrClosed) {
			return
		}
		s.Logger.WarnContext(ctx, "accept failed", "err", err)
		select {
		case <-s.stopping:
		case <-time.After(acceptPause):
		}
	}
}

func (s *server) start(ctx context.Context, conn *net.UnixConn) {
	s.active.Add(1)
	s.track(conn, true)
	s.group.Go(func() {
		defer func() {
			_ = conn.Close()
			s.track(conn, false)
			s.active.Add(-1)
			<-s.slots
			select {
			case s.activity <- struct{}{}:
			default:
			}
		}()
		s.serve(ctx, conn)
	})
}

func (s *server) track(conn net.Conn, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open {
		s.conns[conn] = struct{}{}
	} else {
		delete(s.conns, conn)
	}
}

// drain waits for open requests. Those that outlast the drain time lose their context and
// their connection, and after the same time once more they are left behind.
func (s *server) drain(abandon context.CancelFunc) error {
	done := make(chan struct{})
	go func() {
		s.group.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(s.DrainTimeout):
	}
	abandon()
	s.mu.Lock()
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-time.After(s.DrainTimeout):
		return ErrAbandoned
	}
}
