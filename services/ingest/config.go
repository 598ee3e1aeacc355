// Package ingest stores events: it validates, scrubs and commits them, hands them to the buffer, and on a prompt asks
// for context beside that.
package ingest

import (
	"github.com/kiroku-dev/kiroku/services/internal/app"
)

// Config is the service's configuration.
type Config struct {
	app.Shared
	Listen        string `env:"KIROKU_INGEST_LISTEN" envDefault:"127.0.0.1:7601"`
	Metrics       string `env:"KIROKU_INGEST_METRICS" envDefault:"127.0.0.1:7611"`
	BufferAddr    string `env:"KIROKU_BUFFER_ADDR" envDefault:"127.0.0.1:7602"`
	RetrievalAddr string `env:"KIROKU_RETRIEVAL_ADDR" envDefault:"127.0.0.1:7604"`
}

// Validate reports everything that is wrong with the configuration.
func (c *Config) Validate() error { return c.Resolve() }
