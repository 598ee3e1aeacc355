package claudecode

import (
	"bytes"
	"encoding/json"

	"github.com/kiroku-dev/kiroku/shim/internal/agent"
)

// answer is the only document that the shim prints for Claude Code.
type answer struct {
	Output output `json:"hookSpecificOutput"`
}

type output struct {
	Event   string `json:"hookEventName"`
	Context string `json:"additionalContext"`
}

// Render implements agent.Dialect. JSON is used although plain text would do, because text that
// happens to be JSON would be read as a decision.
func (d Dialect) Render(want agent.Want, text string) []byte {
	text = agent.Injectable(text)
	if text == "" || d.Foreign != "" {
		return nil
	}
	out := output{Context: text}
	switch want {
	case agent.WantPrompt:
		out.Event = "UserPromptSubmit"
	case agent.WantSessionStart:
		out.Event = "SessionStart"
	default:
		return nil
	}
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer{Output: out}); err != nil {
		return nil
	}
	return buf.Bytes()
}
