package install

import (
	"encoding/json"
	"path/filepath"
)

// claudeTimeout is in seconds, Claude Code's unit. The hook itself ends within one.
const claudeTimeout = 5

// claudeEvents lists the events that are worth a process. PreToolUse is not: the event after
// the tool tells everything.
var claudeEvents = []string{
	"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop",
	"SubagentStart", "SubagentStop", "PreCompact", "SessionEnd",
}

type claudeGroup struct {
	Matcher *string      `json:"matcher,omitempty"`
	Hooks   []claudeHook `json:"hooks"`
}

type claudeHook struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

// claudeCode keeps the project scope in the local settings: the path of the program is this
// machine's own and must not be committed.
var claudeCode = installer{
	scope: User,
	files: func(r Request) []target {
		path := filepath.Join(r.root(), ".claude", "settings.json")
		if r.Scope == Project {
			path = filepath.Join(r.root(), ".claude", "settings.local.json")
		}
		entries := claudeEntries(r)
		return []target{{
			path:      path,
			install:   func(before []byte) ([]byte, error) { return put(before, entries) },
			uninstall: func(before []byte) ([]byte, error) { return take(before, entries) },
		}}
	},
	notes: func(Request) []string {
		return []string{"Claude Code reads its settings when a session starts; /hooks shows what it knows."}
	},
}

func claudeEntries(r Request) []wanted {
	entries := make([]wanted, len(claudeEvents))
	for i, event := range claudeEvents {
		entries[i] = wanted{
			path:    []string{"hooks", event},
			element: claudeGroup{Hooks: []claudeHook{{Type: "command", Command: r.command(), Timeout: claudeTimeout}}},
			ours:    func(element json.RawMessage) bool { return isClaudeGroup(element, r.Agent) },
		}
	}
	return entries
}

// isClaudeGroup tells a group that holds our hook and nothing else. A group in which somebody
// put our hook beside others is theirs.
func isClaudeGroup(element json.RawMessage, agent string) bool {
	var group claudeGroup
	return json.Unmarshal(element, &group) == nil && len(group.Hooks) == 1 && agentOf(group.Hooks[0].Command) == agent
}
