// Package buffer holds events between ingest and extraction. It owns Redis, in which a copy of every unfinished event waits until its
// project is due, and hands them out in leases: one project, one worker, until a time.
//
// Postgres is the truth. A reconciler compares it with Redis and feeds what is missing, whatever the reason: Redis was flushed, ingest
// could not reach the buffer, or a project had more than its share.
package buffer

import (
	"errors"
	"fmt"
	"time"

	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
	"github.com/kiroku-dev/kiroku/services/internal/app"
)

// Config is the service's configuration.
type Config struct {
	app.Shared
	Listen       string `env:"KIROKU_BUFFER_LISTEN" envDefault:"127.0.0.1:7602"`
	Metrics      string `env:"KIROKU_BUFFER_METRICS" envDefault:"127.0.0.1:7612"`
	RedisURL     string `env:"KIROKU_REDIS_URL"`
	RedisURLFile string `env:"KIROKU_REDIS_URL_FILE"`
	// RedisPrefix begins every key, so that several installations can share a Redis.
	RedisPrefix string `env:"KIROKU_REDIS_PREFIX" envDefault:"kiroku"`
	// DueBytes, DueIdle and DueAge make a project due: by what waits, by silence, by the oldest event.
	DueBytes int64         `env:"KIROKU_BUFFER_DUE_BYTES" envDefault:"262144"`
	DueIdle  time.Duration `env:"KIROKU_BUFFER_DUE_IDLE" envDefault:"30s"`
	DueAge   time.Duration `env:"KIROKU_BUFFER_DUE_AGE" envDefault:"5m"`
	// DueTurnEnd makes a project due when a turn ends; a session's end always does. TurnEndDelay lets siblings that come late join.
	DueTurnEnd   bool          `env:"KIROKU_BUFFER_DUE_TURN_END" envDefault:"true"`
	TurnEndDelay time.Duration `env:"KIROKU_BUFFER_TURN_END_DELAY" envDefault:"150ms"`
	// CeilingBytes bound what one project may hold in Redis.
	CeilingBytes int64 `env:"KIROKU_BUFFER_CEILING_BYTES" envDefault:"16777216"`
	// MaxAttempts of an event before it becomes a dead letter.
	MaxAttempts int `env:"KIROKU_BUFFER_MAX_ATTEMPTS" envDefault:"5"`
	// Reconcile is how often Redis is compared with Postgres.
	Reconcile time.Duration `env:"KIROKU_BUFFER_RECONCILE" envDefault:"5s"`
	// FeedGrace is how old an event must be before the reconciler feeds it: until then ingest hands it over itself.
	FeedGrace time.Duration `env:"KIROKU_BUFFER_FEED_GRACE" envDefault:"10s"`
	// PendingLimit is the age of the oldest unfinished event from which on warnings are logged.
	PendingLimit time.Duration `env:"KIROKU_PENDING_LIMIT" envDefault:"15m"`
}

// minCeiling is room for the largest call of ingest.
const minCeiling = 1 << 20

// Validate reads secrets from their files and reports everything that is wrong with the configuration.
func (c *Config) Validate() error {
	problems := []error{c.Resolve(), app.ReadSecret(&c.RedisURL, c.RedisURLFile, "KIROKU_REDIS_URL")}
	refuse := func(bad bool, name, want string) {
		if bad {
			problems = append(problems, fmt.Errorf("%s %s", name, want))
		}
	}
	refuse(c.RedisPrefix == "", "KIROKU_REDIS_PREFIX", "must not be empty")
	refuse(c.DueBytes < 1, "KIROKU_BUFFER_DUE_BYTES", "must be at least 1")
	refuse(c.DueIdle <= 0, "KIROKU_BUFFER_DUE_IDLE", "must be above 0")
	refuse(c.DueAge < c.DueIdle, "KIROKU_BUFFER_DUE_AGE", "must not be below KIROKU_BUFFER_DUE_IDLE")
	refuse(c.TurnEndDelay < 0, "KIROKU_BUFFER_TURN_END_DELAY", "must not be negative")
	refuse(c.CeilingBytes < max(minCeiling, c.DueBytes), "KIROKU_BUFFER_CEILING_BYTES", "must be at least 1048576, and KIROKU_BUFFER_DUE_BYTES")
	refuse(c.MaxAttempts < 1, "KIROKU_BUFFER_MAX_ATTEMPTS", "must be at least 1")
	refuse(c.Reconcile < 100*time.Millisecond, "KIROKU_BUFFER_RECONCILE", "must be at least 100ms")
	refuse(c.FeedGrace < 0, "KIROKU_BUFFER_FEED_GRACE", "must not be negative")
	refuse(c.PendingLimit <= 0, "KIROKU_PENDING_LIMIT", "must be above 0")
	return errors.Join(problems...)
}

func (c *Config) policy() redisstream.Policy {
	return redisstream.Policy{DueBytes: c.DueBytes, DueIdle: c.DueIdle, DueAge: c.DueAge, CeilingBytes: c.CeilingBytes}
}
