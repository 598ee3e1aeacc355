// Package kirocli is the dialect of Kiro CLI: the classic engine (1.x and 2.x) and v3.
package kirocli

import (
	"github.com/kiroku-dev/kiroku/shim/internal/agent"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/kiro"
)

// Surface is the agent's name in events and on the hook's command line.
const Surface = "kiro-cli"

// Dialect implements agent.Dialect.
type Dialect struct{}

var _ agent.Dialect = Dialect{}

// Surface implements agent.Dialect.
func (Dialect) Surface() string { return Surface }

// Parse implements agent.Dialect. A stop without an answer is stored as the empty summary that
// it is: the classic engine gives the answer whenever there was one.
func (Dialect) Parse(h agent.Hook) []agent.Parsed { return kiro.Reader{}.Parse(h) }

// Render implements agent.Dialect: what a hook prints joins the context as it is.
func (Dialect) Render(want agent.Want, text string) []byte {
	if want == agent.WantNothing {
		return nil
	}
	return agent.Plain(text)
}
