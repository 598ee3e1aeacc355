// Package retrieval finds records and builds the context of prompts. An answer is a search in memory and one round trip to Postgres, which reads what
// was found under the caller's row-level security together with the project's change sequence: when memory is behind, it
// catches up first and searches again. So what was written, hidden or forgotten before a call is so in its answer, on every replica.
package retrieval

import (
	"errors"

	"github.com/kiroku-dev/kiroku/services/internal/app"
)

// Config is the service's configuration.
type Config struct {
	app.Shared
	Listen  string `env:"KIROKU_RETRIEVAL_LISTEN" envDefault:"127.0.0.1:7604"`
	Metrics string `env:"KIROKU_RETRIEVAL_METRICS" envDefault:"127.0.0.1:7614"`
	// IndexBytes is about how much memory the indexes of all projects may take.
	IndexBytes int `env:"KIROKU_RETRIEVAL_INDEX_BYTES" envDefault:"536870912"`
	// ContextTokens is the budget of a context whose caller names none.
	ContextTokens int32 `env:"KIROKU_CONTEXT_TOKENS" envDefault:"1500"`
}

const (
	minIndexBytes = 1 << 20
	// maxContextTokens is the largest budget that a call may name.
	maxContextTokens = 8000
	minContextTokens = 100
)

// Validate reports everything that is wrong with the configuration.
func (c *Config) Validate() error {
	errs := []error{c.Resolve()}
	if c.IndexBytes < minIndexBytes {
		errs = append(errs, errors.New("KIROKU_RETRIEVAL_INDEX_BYTES: want 1048576 or more"))
	}
	if c.ContextTokens < minContextTokens || c.ContextTokens > maxContextTokens {
		errs = append(errs, errors.New("KIROKU_CONTEXT_TOKENS: want 100 to 8000"))
	}
	return errors.Join(errs...)
}
