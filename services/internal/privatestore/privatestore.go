// Package privatestore runs a Postgres and a Redis of Kiroku's own from the
// binaries that the system has, for the standalone server and for tests.
//
// Both listen on unix sockets in a private directory only, never on TCP. They
// keep their data below one data directory, which one process at a time may
// use. They end with the process that started them: by Stop, and on Linux also
// when that process is killed. What a killed process left behind never blocks
// the next Start.
package privatestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// startTimeout bounds Start. It is long because Postgres answers nobody while
// it replays its log after a crash.
const startTimeout = 2 * time.Minute

// Config says which servers to run and where they keep what.
type Config struct {
	// DataDir holds the data, the logs and the lock; it is created when absent.
	// DefaultDataDir gives the usual place.
	DataDir string
	// RuntimeDir is where the sockets go, in a sub-directory of its own for each
	// data directory. Empty chooses /run/kiroku, $XDG_RUNTIME_DIR/kiroku or /tmp.
	// The path of a socket in it must stay below 100 bytes.
	RuntimeDir string
	// Address is shown to a second instance that is refused: where this one
	// answers. Optional.
	Address string
	// Logger receives starts and stops; nil discards them. What the servers
	// write themselves goes to files below DataDir/logs.
	Logger *slog.Logger
	// NeedPostgres and NeedRedis choose the servers. With neither, Start only
	// prepares and locks the data directory.
	NeedPostgres, NeedRedis bool
	// PostgresBinDir is the directory of postgres and initdb; empty searches.
	PostgresBinDir string
	// RedisBinary is the path of redis-server or valkey-server; empty searches.
	RedisBinary string
	// FastUnsafe is for tests alone: data does not survive a crash, Redis keeps
	// nothing at all, and Postgres takes 300 connections.
	FastUnsafe bool
}

// Stores are the running servers. All methods may be called by several
// goroutines.
type Stores struct {
	logger   *slog.Logger
	lock     *instanceLock
	launcher *launcher
	sockets  string
	postgres *postgresServer
	redis    *redisServer

	mu       sync.Mutex
	children []*child
	stopping atomic.Bool
	failed   chan error

	stopOnce sync.Once
	stopped  chan struct{}
	stopErr  error
}

// Start runs the servers that cfg asks for and returns when each has answered a
// real client. ctx bounds the start only; the servers live until Stop.
//
// The error is an *InUseError when another process holds the data directory.
// When a program is missing it is one line that says how to get it. After an
// error nothing is left running.
func Start(ctx context.Context, cfg Config) (*Stores, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Stores{
		logger:   cfg.Logger,
		launcher: newLauncher(),
		failed:   make(chan error, 1),
		stopped:  make(chan struct{}),
	}
	if err := s.start(ctx, cfg); err != nil {
		// The start's own context may be what ended it.
		stopErr := s.Stop(context.WithoutCancel(ctx))
		return nil, errors.Join(err, stopErr)
	}
	return s, nil
}

func (s *Stores) start(ctx context.Context, cfg Config) error {
	found, err := findBinaries(ctx, cfg)
	if err != nil {
		return err
	}
	acc, err := childAccount(cfg.NeedPostgres || cfg.NeedRedis)
	if err != nil {
		return err
	}
	dirs, err := prepareDataDir(cfg.DataDir, acc)
	if err != nil {
		return err
	}
	if s.lock, err = acquireLock(ctx, dirs.root, cfg.Address); err != nil {
		return err
	}
	if !cfg.NeedPostgres && !cfg.NeedRedis {
		return nil
	}
	if err := acc.checkEnter(ctx, dirs.root, found.anyProgram()); err != nil {
		return err
	}
	if err := os.MkdirAll(dirs.logs, 0o700); err != nil {
		return fmt.Errorf("create log directory: %w", err)
	}
	if s.sockets, err = prepareRuntimeDir(cfg.RuntimeDir, dirs.root, acc); err != nil {
		return err
	}
	return s.startServers(ctx, cfg, dirs, acc, found)
}

func (s *Stores) startServers(ctx context.Context, cfg Config, dirs layout, acc account, found binaries) error {
	group, ctx := errgroup.WithContext(ctx)
	if cfg.NeedPostgres {
		s.postgres = &postgresServer{
			binaries: found.postgres, dirs: dirs, sockets: s.sockets, account: acc, fastUnsafe: cfg.FastUnsafe,
		}
		group.Go(func() error { return s.postgres.start(ctx, s) })
	}
	if cfg.NeedRedis {
		s.redis = &redisServer{
			binary: found.redis, dirs: dirs, sockets: s.sockets, account: acc, fastUnsafe: cfg.FastUnsafe,
		}
		group.Go(func() error { return s.redis.start(ctx, s) })
	}
	return group.Wait()
}

// PostgresURL is a connection string for pgx: database kiroku as user kiroku,
// who owns the cluster. It holds a password, so it must not be logged. It is
// empty when Postgres was not asked for.
func (s *Stores) PostgresURL() string {
	if s.postgres == nil {
		return ""
	}
	return s.postgres.url(databaseName)
}

// RedisURL is a unix:// URL for go-redis, empty when Redis was not asked for.
func (s *Stores) RedisURL() string {
	if s.redis == nil {
		return ""
	}
	return s.redis.url()
}

// Failed receives once, when the first server ends without having been told
// to: the error names it, its exit status and its last log lines. The others
// go on running until Stop.
func (s *Stores) Failed() <-chan error {
	return s.failed
}

// Stop ends the servers, waits for them and gives the data directory free.
// Clients that are still connected are cut off. A server that does not end in
// about five seconds, or when ctx is done, is ended by force; the whole takes
// less than ten seconds. Further calls wait for the first and return its result.
func (s *Stores) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() {
		s.stopping.Store(true)
		s.stopErr = s.stop(ctx)
		close(s.stopped)
	})
	<-s.stopped
	return s.stopErr
}

func (s *Stores) stop(ctx context.Context) error {
	s.mu.Lock()
	children := s.children
	s.mu.Unlock()
	var group errgroup.Group
	for _, c := range children {
		group.Go(func() error { return c.stop(ctx) })
	}
	err := group.Wait()
	for _, c := range children {
		s.logger.Info("server stopped", "server", c.name, "status", c.status())
	}
	// Threads of the launcher may end only when no child is left, see launcher.
	s.launcher.close()
	if s.sockets != "" {
		removeSockets(s.sockets)
		// It stays when somebody else put something into it.
		_ = os.Remove(s.sockets)
	}
	return errors.Join(err, s.lock.release())
}

// run starts a server as a child that is watched until Stop.
func (s *Stores) run(spec program, acc account, logPath string) (*child, error) {
	c, err := startChild(s.launcher, spec, acc, logPath)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.children = append(s.children, c)
	s.mu.Unlock()
	s.logger.Info("server started", "server", c.name, "pid", c.pid(), "log", logPath)
	go s.watch(c)
	return c, nil
}

func (s *Stores) watch(c *child) {
	<-c.exited
	if s.stopping.Load() {
		return
	}
	select {
	case s.failed <- c.unexpectedExit():
	default: // the first failure is the one that counts
	}
}
