package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
)

const (
	// kiroTimeoutMS is in milliseconds, the unit of the classic engine's agent files.
	kiroTimeoutMS = 5000
	// kiroTimeout is in seconds, the unit of hook files.
	kiroTimeout = 5
	// kiroAgent is the agent that gets the hooks when none is named.
	kiroAgent = "kiroku"
)

// errForeign means a file under our name that we did not write.
var errForeign = errors.New("there is a file of this name that is not ours")

// kiroEvents pairs the classic engine's events with the triggers of v3 and IDE 1.x.
var kiroEvents = []struct{ event, trigger string }{
	{"agentSpawn", "SessionStart"},
	{"userPromptSubmit", "UserPromptSubmit"},
	{"postToolUse", "PostToolUse"},
	{"stop", "Stop"},
}

// agentHook is a hook in a classic agent file.
type agentHook struct {
	Command string `json:"command"`
	Timeout int    `json:"timeout_ms"`
}

// agentFile is the agent that is made when there is none.
type agentFile struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tools       []string `json:"tools"`
}

// hookFile is a standalone hook file of v3 and IDE 1.x.
type hookFile struct {
	Version string         `json:"version"`
	Hooks   []hookFileHook `json:"hooks"`
}

type hookFileHook struct {
	Name    string         `json:"name"`
	Trigger string         `json:"trigger"`
	Action  hookFileAction `json:"action"`
	Timeout int            `json:"timeout"`
	Enabled bool           `json:"enabled"`
}

type hookFileAction struct {
	Type    string `json:"type"`
	Command string `json:"command"`
}

// oldHook is a hook file of IDE 0.x.
type oldHook struct {
	Enabled     bool       `json:"enabled"`
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Version     string     `json:"version"`
	When        oldTrigger `json:"when"`
	Then        oldAction  `json:"then"`
}

type oldTrigger struct {
	Type      string   `json:"type"`
	ToolTypes []string `json:"toolTypes,omitempty"`
}

type oldAction struct {
	Type    string `json:"type"`
	Command string `json:"command"`
}

var kiroCLI = installer{
	scope: User,
	files: func(r Request) []target { return []target{kiroAgentFile(r), kiroHookFile(r)} },
	notes: func(r Request) []string {
		name := r.agentName()
		return []string{
			fmt.Sprintf("The classic engine runs hooks only with the agent that holds them: kiro-cli chat --agent %s,", name),
			fmt.Sprintf("or make it the default: kiro-cli settings chat.defaultAgent %s. Version 3 needs neither.", name),
		}
	},
}

// kiroIDE is installed per project: user-level hooks are not loaded by every version.
var kiroIDE = installer{
	scope: Project,
	files: func(r Request) []target {
		files := []target{kiroHookFile(r)}
		for _, old := range []struct{ file, event, says string }{
			{"prompt", "promptSubmit", "Adds what the team learned to the prompt."},
			{"tool", "postToolUse", "Remembers what tools did."},
			{"stop", "agentStop", "Remembers how a turn ended."},
		} {
			files = append(files, kiroOldHook(r, old.file, old.event, old.says))
		}
		return files
	},
	notes: func(Request) []string {
		return []string{"Kiro IDE may ask whether to trust the command; allow it once."}
	},
}

func (r Request) agentName() string {
	if r.AgentFile == "" {
		return kiroAgent
	}
	return r.AgentFile
}

func kiroAgentFile(r Request) target {
	entries := make([]wanted, len(kiroEvents))
	for i, e := range kiroEvents {
		entries[i] = wanted{
			path:    []string{"hooks", e.event},
			element: agentHook{Command: r.command(), Timeout: kiroTimeoutMS},
			ours: func(element json.RawMessage) bool {
				var hook agentHook
				return json.Unmarshal(element, &hook) == nil && agentOf(hook.Command) == r.Agent
			},
		}
	}
	fresh := agentFile{Name: r.agentName(), Description: "The default agent, with the team's memory.", Tools: []string{"*"}}
	return target{
		path: filepath.Join(r.root(), ".kiro", "agents", r.agentName()+".json"),
		install: func(before []byte) ([]byte, error) {
			if before == nil {
				var err error
				if before, err = encode(fresh); err != nil {
					return nil, err
				}
			}
			return put(before, entries)
		},
		uninstall: func(before []byte) ([]byte, error) {
			after, err := take(before, entries)
			// What is left of an agent that we made is nobody's.
			if made, encodeErr := encode(fresh); encodeErr == nil && same(after, fresh) && len(after) <= len(made) {
				return nil, err
			}
			return after, err
		},
	}
}

// kiroHookFile is one file for both, CLI v3 and IDE 1.x: they read the same directory, and the
// relay tells them apart.
func kiroHookFile(r Request) target {
	file := hookFile{Version: "v1"}
	for _, e := range kiroEvents {
		file.Hooks = append(file.Hooks, hookFileHook{
			Name: "kiroku-" + e.event, Trigger: e.trigger, Timeout: kiroTimeout, Enabled: true,
			Action: hookFileAction{Type: "command", Command: r.command()},
		})
	}
	t := whole(r, file, func(data []byte) []string {
		var found hookFile
		var lines []string
		if json.Unmarshal(data, &found) == nil {
			for _, hook := range found.Hooks {
				lines = append(lines, hook.Action.Command)
			}
		}
		return lines
	})
	t.path = filepath.Join(r.root(), ".kiro", "hooks", "kiroku.json")
	return t
}

func kiroOldHook(r Request, name, event, says string) target {
	hook := oldHook{
		Enabled: true, Name: "Kiroku " + name, Description: says, Version: "1",
		When: oldTrigger{Type: event},
		Then: oldAction{Type: "runCommand", Command: r.command(event) + r.never()},
	}
	if event == "postToolUse" {
		hook.When.ToolTypes = []string{"*"}
	}
	t := whole(r, hook, func(data []byte) []string {
		var found oldHook
		if json.Unmarshal(data, &found) != nil {
			return nil
		}
		return []string{found.Then.Command}
	})
	t.path = filepath.Join(r.root(), ".kiro", "hooks", "kiroku-"+name+".kiro.hook")
	return t
}
