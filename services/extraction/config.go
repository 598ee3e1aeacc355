// Package extraction makes records of events: it leases batches of one project, reads the whole turns that they belong to, extracts, and commits
// records, event states and the run log in one transaction that carries the lease's fencing token.
package extraction

import (
	"errors"
	"time"

	"github.com/kiroku-dev/kiroku/services/internal/app"
)

// Config is the service's configuration.
type Config struct {
	app.Shared
	Listen       string        `env:"KIROKU_EXTRACTION_LISTEN" envDefault:"127.0.0.1:7603"`
	Metrics      string        `env:"KIROKU_EXTRACTION_METRICS" envDefault:"127.0.0.1:7613"`
	BufferAddr   string        `env:"KIROKU_BUFFER_ADDR" envDefault:"127.0.0.1:7602"`
	Workers      int           `env:"KIROKU_EXTRACTION_WORKERS" envDefault:"3"`
	Lease        time.Duration `env:"KIROKU_EXTRACTION_LEASE" envDefault:"60s"`
	MaxEvents    int32         `env:"KIROKU_EXTRACTION_MAX_EVENTS" envDefault:"500"`
	PendingLimit time.Duration `env:"KIROKU_PENDING_LIMIT" envDefault:"15m"`
}

// Validate reports everything that is wrong with the configuration.
func (c *Config) Validate() error {
	errs := []error{c.Resolve()}
	if c.Workers < 1 || c.Workers > 64 {
		errs = append(errs, errors.New("KIROKU_EXTRACTION_WORKERS: want 1 to 64"))
	}
	if c.Lease < 5*time.Second || c.Lease > 10*time.Minute {
		errs = append(errs, errors.New("KIROKU_EXTRACTION_LEASE: want 5s to 10m"))
	}
	if c.MaxEvents < 1 || c.MaxEvents > 2000 {
		errs = append(errs, errors.New("KIROKU_EXTRACTION_MAX_EVENTS: want 1 to 2000"))
	}
	if c.PendingLimit <= 0 {
		errs = append(errs, errors.New("KIROKU_PENDING_LIMIT: want more than 0"))
	}
	return errors.Join(errs...)
}
