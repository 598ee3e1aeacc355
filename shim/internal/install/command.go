package install

import (
	"path"
	"strings"
)

const program = "kiroku-hook"

// command is the line that an agent runs. The path is quoted always, so that spaces do no harm.
func (r Request) command(args ...string) string {
	quoted := `"` + r.Hook + `"`
	if r.OS != "windows" {
		quoted = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(r.Hook) + `"`
	}
	return strings.Join(append([]string{quoted, r.Agent}, args...), " ")
}

// never is the end of a command line that must succeed even when the program is gone.
func (r Request) never() string {
	if r.OS == "windows" {
		return " || exit /b 0"
	}
	return " || true"
}

// agentOf returns the agent that a command line of ours names, "" when the line is not ours.
func agentOf(command string) string {
	name, rest := firstWord(strings.TrimSpace(command))
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	if strings.TrimSuffix(base, ".exe") != program {
		return ""
	}
	agent, _ := firstWord(strings.TrimSpace(rest))
	return agent
}

func firstWord(line string) (word, rest string) {
	if quoted, ok := strings.CutPrefix(line, `"`); ok {
		if i := strings.IndexByte(quoted, '"'); i >= 0 {
			return quoted[:i], quoted[i+1:]
		}
	}
	word, rest, _ = strings.Cut(line, " ")
	return word, rest
}
