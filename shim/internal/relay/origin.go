package relay

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kiroku-dev/kiroku/shim/internal/agent"
	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

// hookOf makes the call that dialects read of the frame that the hook sent.
func hookOf(r *frame.Request) agent.Hook {
	env := make(map[string]string, len(r.Env))
	for _, v := range r.Env {
		env[v.Name] = v.Value
	}
	programs := make([]string, len(r.Ancestors))
	for i, p := range r.Ancestors {
		programs[i] = p.Name
	}
	return agent.NewHook(agent.Hook{Argv: r.Argv, Env: env, Dir: r.Dir, Time: r.Time, Programs: programs, Payload: r.Payload})
}

// launchers are programs that stand between an agent and its hooks.
var launchers = []string{"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "csh", "tcsh", "cmd", "powershell", "pwsh", "env", "timeout", "nice", "nohup"}

// agentProcess finds the process of the agent: the nearest above the hook that is no shell, or
// the topmost of them. False when nothing is known.
func agentProcess(ancestors []frame.Process) (frame.Process, bool) {
	for _, p := range ancestors {
		name := strings.TrimPrefix(strings.TrimSuffix(strings.ToLower(path.Base(strings.ReplaceAll(p.Name, `\`, "/"))), ".exe"), "-")
		if !slices.Contains(launchers, name) {
			return p, true
		}
	}
	if len(ancestors) == 0 {
		return frame.Process{}, false
	}
	return ancestors[len(ancestors)-1], true
}

// processKey names the life of the agent's process; the hook's parent where that is unknown.
func processKey(r *frame.Request) string {
	if p, known := agentProcess(r.Ancestors); known {
		return strconv.Itoa(p.PID) + "@" + strconv.FormatUint(p.Start, 36)
	}
	return "parent " + strconv.Itoa(r.PPID)
}

// digest hashes parts that cannot run into one another.
func digest(parts ...string) []byte {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(strconv.Itoa(len(part))))
		h.Write([]byte{':'})
		h.Write([]byte(part))
	}
	return h.Sum(nil)
}

// maxSessionID is the longest session id on the wire, in bytes.
const maxSessionID = 128

// sessionID returns the agent's own id of its session, or one that stays the same for one life
// of the agent's process in one project. Two agents in one directory are two sessions.
func sessionID(given, surface string, r *frame.Request, projectID, host string) (id string, synthetic bool) {
	switch {
	case given == "":
		return "syn_" + hex.EncodeToString(digest(surface, processKey(r), projectID, host)[:16]), true
	case len(given) > maxSessionID:
		return "long_" + hex.EncodeToString(digest(given)[:16]), false
	}
	return given, false
}
