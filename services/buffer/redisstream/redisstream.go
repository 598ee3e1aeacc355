// Package redisstream keeps events between ingest and extraction in Redis. One stream holds the events of one project, and
// one lease at a time hands them out. Nothing here is the only copy of anything: what is lost is fed again from Postgres.
//
// Every change to a project is one script over the keys of one hash slot, so it happens wholly or not at all, on a single
// Redis as well as in a cluster. Time is Redis's own, read in the scripts.
package redisstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// maxRetries is enough for a connection that a restart of Redis left dead. Callers try again by themselves.
	maxRetries  = 1
	dialTimeout = 2 * time.Second
)

// silent drops what the client would print by itself: every error is also returned, and logged by who asked.
type silent struct{}

// Printf implements the client's logger.
func (silent) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(silent{}) }

// Policy says when a project's events become due, and how many may wait.
type Policy struct {
	// DueBytes make a project due at once.
	DueBytes int64
	// DueIdle after its last event a project is due.
	DueIdle time.Duration
	// DueAge after its first waiting event a project is due, whatever else comes.
	DueAge time.Duration
	// CeilingBytes bound what one project may hold; the rest waits in Postgres.
	CeilingBytes int64
}

// Store is the buffer's side of Redis. It is safe for concurrent use.
type Store struct {
	client redis.UniversalClient
	prefix string
	policy Policy
	// dueKeys and runKeys are keys of every shard, which each poll needs.
	dueKeys, runKeys [Shards]string
}

// Open makes a store on the Redis of the URL: redis://, rediss:// or unix://, with ?addr=host:port for further nodes of a
// cluster. It does not connect: Check does.
func Open(url, prefix string, policy Policy) (*Store, error) {
	client, err := newClient(url)
	if err != nil {
		return nil, err
	}
	s := &Store{client: client, prefix: prefix, policy: policy}
	for i := range Shards {
		s.dueKeys[i], s.runKeys[i] = s.shardKey(i, "due"), s.shardKey(i, "run")
	}
	return s, nil
}

func newClient(url string) (redis.UniversalClient, error) {
	// The parse errors are not passed on: they would show the password.
	if strings.Contains(url, "addr=") {
		opts, err := redis.ParseClusterURL(url)
		if err != nil {
			return nil, errors.New("redis: the cluster's URL cannot be parsed")
		}
		opts.MaintNotificationsConfig = noNotifications()
		opts.MaxRetries, opts.DialerRetries, opts.DialTimeout = maxRetries, 1, dialTimeout
		opts.ContextTimeoutEnabled = true
		return redis.NewClusterClient(opts), nil
	}
	opts, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("redis: the URL cannot be parsed")
	}
	opts.MaintNotificationsConfig = noNotifications()
	opts.MaxRetries, opts.DialerRetries, opts.DialTimeout = maxRetries, 1, dialTimeout
	opts.ContextTimeoutEnabled = true
	return redis.NewClient(opts), nil
}

// noNotifications spares each connection a handshake that only one vendor's servers understand.
func noNotifications() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// Close closes the connections.
func (s *Store) Close() error { return s.client.Close() }

// Ping tells whether Redis answers.
func (s *Store) Ping(ctx context.Context) error {
	return wrap("ping", s.client.Ping(ctx).Err())
}

// ErrUnavailable marks errors of a Redis that does not answer, or refuses for the time being.
var ErrUnavailable = errors.New("redis does not serve")

// ErrFull is returned when Redis has no memory left for an append.
var ErrFull = errors.New("redis is out of memory")

// ErrLeaseLost is returned when a lease is over or another one of the project was given.
var ErrLeaseLost = errors.New("lease is over")

// passing are the replies of a server that will serve again.
var passing = []string{"LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "NOREPLICAS", "MISCONF", "BUSY", "UNKILLABLE"}

// wrap says what was tried, and marks the errors that pass.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	var reply redis.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("redis: %s: %w", what, err)
	case !errors.As(err, &reply):
		return fmt.Errorf("redis: %s: %w: %w", what, ErrUnavailable, err)
	case redis.HasErrorPrefix(err, "OOM"):
		return fmt.Errorf("redis: %s: %w: %w", what, ErrFull, err)
	}
	for _, prefix := range passing {
		if redis.HasErrorPrefix(err, prefix) {
			return fmt.Errorf("redis: %s: %w: %w", what, ErrUnavailable, err)
		}
	}
	return fmt.Errorf("redis: %s: %w", what, err)
}
