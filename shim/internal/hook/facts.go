package hook

import (
	"os"
	"strings"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

const (
	promptVar = "USER_PROMPT"
	// maxValue bounds one variable in bytes; only a prompt may be longer.
	maxValue  = 4 << 10
	maxPrompt = 256 << 10
)

// facts are the variables that tell which agent called, for which project and session. All
// others stay here: an environment is full of secrets.
var facts = map[string]bool{
	promptVar: true, "HOME": true, "PWD": true, "CODEX_HOME": true,
	"CLAUDECODE": true, "CLAUDE_PROJECT_DIR": true, "CLAUDE_PLUGIN_ROOT": true,
	"CURSOR_VERSION": true, "CURSOR_PROJECT_DIR": true,
	"DEVIN_PROJECT_DIR": true, "FACTORY_PROJECT_DIR": true,
	"GEMINI_SESSION_ID": true, "GEMINI_PROJECT_DIR": true,
}

// agentFacts picks the allowed variables from an environment.
func agentFacts(environ []string) []frame.Var {
	vars := make([]frame.Var, 0, 16)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !facts[name] && !ownFact(name) {
			continue
		}
		limit := maxValue
		if name == promptVar {
			limit = maxPrompt
		}
		vars = append(vars, frame.Var{Name: name, Value: value[:min(len(value), limit)]})
	}
	return vars
}

// ownFact passes our own settings on, but nothing that may hold a credential.
func ownFact(name string) bool {
	if !strings.HasPrefix(name, "KIROKU_") {
		return false
	}
	for _, secret := range [...]string{"TOKEN", "SECRET", "PASSWORD", "KEY", "URL"} {
		if strings.Contains(name, secret) {
			return false
		}
	}
	return true
}

// relayEnviron is what a relay gets of our environment: it outlives this agent and serves the
// others too, so nothing of the agent's goes along.
func relayEnviron(environ []string) []string {
	kept := make([]string, 0, 16)
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if name != rundir.EnvLockFD && name != rundir.EnvInHook && relayVar(name) {
			kept = append(kept, entry)
		}
	}
	return append(kept, rundir.EnvLockFD+"=3", rundir.EnvInHook+"=1")
}

func relayVar(name string) bool {
	switch strings.ToUpper(name) {
	case "HOME", "USER", "LOGNAME", "PATH", "SHELL", "LANG", "TZ", "TMPDIR",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR":
		return true
	}
	for _, prefix := range [...]string{"KIROKU_", "XDG_", "LC_", "OTEL_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// isSet reports whether a switch in the environment is on.
func isSet(name string) bool {
	value := os.Getenv(name)
	return value != "" && value != "0"
}

// workingDir is "" when the directory is gone and the environment does not name it either.
func workingDir() string {
	if dir, err := getcwd(); err == nil {
		return dir
	}
	return os.Getenv("PWD")
}
