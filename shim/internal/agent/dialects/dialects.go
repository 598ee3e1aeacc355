// Package dialects lists the coding agents that the shim understands and decides which of them
// is calling. The name on the command line is only a hint: agents run one another's hook files.
package dialects

import (
	"path"
	"strings"

	"github.com/kiroku-dev/kiroku/shim/internal/agent"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/claudecode"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/kirocli"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/kiroide"
)

// all is every agent with a dialect of its own. Adding an agent adds its package and a line here.
var all = []agent.Dialect{
	claudecode.Dialect{},
	kirocli.Dialect{},
	kiroide.Dialect{},
}

// ByName returns the dialect of a surface.
func ByName(surface string) (agent.Dialect, bool) {
	for _, d := range all {
		if d.Surface() == surface {
			return d, true
		}
	}
	return nil, false
}

// Names lists the surfaces that have a dialect.
func Names() []string {
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.Surface()
	}
	return names
}

// Identify decides whose hook this is: by what no other agent has in its environment or
// payload, then by where the transcript lies, and only then by the command line. An agent that
// has no dialect here is read as the imitation of Claude Code that most are, under its own
// name, and gets no answer. False means that nobody can tell.
func Identify(h agent.Hook) (agent.Dialect, bool) {
	surface := byMarks(h)
	if surface == "" {
		surface = byTranscript(h)
	}
	named := h.Arg(0)
	if surface == "" {
		surface = amongKiro(named, h)
	}
	if d, ok := ByName(surface); ok {
		return d, true
	}
	if !isName(surface) {
		return nil, false
	}
	return claudecode.Dialect{Foreign: surface}, true
}

// byMarks knows an agent by variables and fields that only it has.
func byMarks(h agent.Hook) string {
	has := func(name string) bool { return h.Env[name] != "" }
	field := func(names ...string) bool { _, ok := h.Object.Lookup(names...); return ok }
	event := h.Object.Text("hook_event_name", "hookEventName")
	switch {
	case has("CURSOR_VERSION") || field("cursor_version"):
		return "cursor"
	case has("DEVIN_PROJECT_DIR") && !has("CLAUDE_PROJECT_DIR"):
		return "devin"
	case has("GEMINI_SESSION_ID"):
		return "gemini"
	case has("FACTORY_PROJECT_DIR"):
		return "droid"
	case field("agent_action_name"):
		return "windsurf"
	case field("clineVersion"):
		return "cline"
	case field("turn_id") && field("model") && isPascal(event):
		return "codex"
	case strings.Contains(h.Object.Text("hookEventName"), "_"):
		return "grok"
	case field("sessionId") && isNumeric(h.Object, "timestamp"):
		return "copilot"
	}
	return ""
}

// isName keeps a mistyped command line from becoming an agent.
func isName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && s[0] != '-'
}

func isPascal(s string) bool { return s != "" && s[0] >= 'A' && s[0] <= 'Z' }

func isNumeric(o map[string]any, name string) bool {
	v := o[name]
	_, text := v.(string)
	_, known := agent.Hook{Object: o}.Object.Number(name)
	return known && !text
}

// transcripts maps a part of the transcript's path to the agent that keeps its transcripts there.
var transcripts = []struct{ part, surface string }{
	{"/.claude/projects/", claudecode.Surface},
	{"/.codex/sessions/", "codex"},
	{"/.gemini/tmp/", "gemini"},
	{"/.qwen/", "qwen"},
	{"/.factory/sessions/", "droid"},
	{"/.copilot/session-state/", "copilot"},
	{"/.cursor/", "cursor"},
}

func byTranscript(h agent.Hook) string {
	ref := strings.ReplaceAll(h.Object.Text("transcript_path", "transcriptPath"), `\`, "/")
	for _, t := range transcripts {
		if strings.Contains(ref, t.part) {
			return t.surface
		}
	}
	return ""
}

// amongKiro tells the CLI from the IDE: both read the same hook file, so the name in it cannot.
// The nearest of the two among the processes above the hook decides, else the name stands.
func amongKiro(named string, h agent.Hook) string {
	if named != kirocli.Surface && named != kiroide.Surface {
		return named
	}
	for _, program := range h.Programs {
		switch base := path.Base(strings.ReplaceAll(program, `\`, "/")); {
		case strings.HasPrefix(base, "kiro-cli"):
			return kirocli.Surface
		case base == "kiro" || base == "Kiro" || strings.HasPrefix(base, "Kiro Helper"):
			return kiroide.Surface
		}
	}
	return named
}
