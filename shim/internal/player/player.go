// Package player plays recorded hooks: each line of a recording becomes one real call of
// kiroku-hook, with one relay for each recorded actor.
package player

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/agent/claudecode"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/payload"
	"github.com/kiroku-dev/kiroku/shim/internal/config"
	"github.com/kiroku-dev/kiroku/shim/internal/relay"
)

// maxLine is the longest line of a recording in bytes.
const maxLine = 64 << 20

// progressEvery is how many hooks go between two lines of progress.
const progressEvery = 100

// Line is one recorded hook call.
type Line struct {
	// At is when it was called, RFC 3339 with an offset; now when empty.
	At string `json:"at"`
	// Actor is whose agent called it.
	Actor string `json:"actor"`
	// Agent is the agent; "claude-code" when empty. Event is the second argument, for agents
	// that have one.
	Agent string `json:"agent"`
	Event string `json:"event"`
	// Env is added to the hook's environment.
	Env map[string]string `json:"env"`
	// Hook is what the hook gets on stdin.
	Hook json.RawMessage `json:"hook"`
}

// Answer is what a prompt got, as one line of JSON.
type Answer struct {
	At        string `json:"at"`
	Actor     string `json:"actor"`
	SessionID string `json:"session_id"`
	Prompt    string `json:"prompt"`
	// Context is the text that the agent would put before its model.
	Context string `json:"context"`
	// LatencyMS is the whole life of the hook's process, in milliseconds.
	LatencyMS float64 `json:"latency_ms"`
}

// Options say how to play.
type Options struct {
	// Hook and Kiroku are the absolute paths of the programs.
	Hook, Kiroku string
	// StateDir holds a directory for each actor.
	StateDir string
	// Project names the project of all lines; the directory of each line decides when empty.
	Project string
	// Roots are directories that are the root of the project in the recording, to make paths
	// relative; the first directory of a session when none fits.
	Roots []string
	// Answers gets one Answer for each prompt; it may be nil.
	Answers io.Writer
	// Progress gets lines for people; it may be nil.
	Progress io.Writer
	// Environ is the environment of the programs, without what the player sets.
	Environ []string
}

// Summary is what was played.
type Summary struct {
	// Hooks and Prompts count calls, Answered those prompts that got context.
	Hooks, Prompts, Answered int
	// Actors counts relays.
	Actors int
}

type player struct {
	Options
	actors  map[string]*actor
	roots   map[string]string
	sockets string
	summary Summary
}

// Play plays a recording to its end, waits until each relay has sent what it has, and stops
// them. The recording's order is kept: a hook starts when the one before it has ended.
func Play(ctx context.Context, recording io.Reader, opts Options) (summary Summary, err error) {
	if opts.Progress == nil {
		opts.Progress = io.Discard
	}
	if opts.Answers == nil {
		opts.Answers = io.Discard
	}
	// A socket's path is short by law, a state directory is not.
	sockets, err := os.MkdirTemp("", "kiroku")
	if err != nil {
		return Summary{}, err
	}
	p := &player{Options: opts, actors: map[string]*actor{}, roots: map[string]string{}, sockets: sockets}
	defer func() {
		err = errors.Join(err, p.stop(ctx), os.RemoveAll(sockets))
		summary = p.summary
	}()
	lines := bufio.NewScanner(recording)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for number := 1; lines.Scan(); number++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := p.line(ctx, lines.Bytes()); err != nil {
			return p.summary, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return p.summary, fmt.Errorf("recording: %w", err)
	}
	return p.summary, p.settle(ctx)
}

func (p *player) line(ctx context.Context, text []byte) error {
	var line Line
	if err := json.Unmarshal(text, &line); err != nil {
		return err
	}
	if line.Actor == "" || len(line.Hook) == 0 {
		return errors.New(`want "actor" and "hook"`)
	}
	a, err := p.actor(ctx, line.Actor)
	if err != nil {
		return err
	}
	hook, _, _ := payload.DecodeObject(line.Hook)
	stdout, took, err := p.fire(ctx, a, line, hook)
	if err != nil {
		return err
	}
	p.summary.Hooks++
	if prompt := promptOf(line, hook); prompt != "" {
		if err := p.answer(line, hook, prompt, stdout, took); err != nil {
			return err
		}
	}
	if p.summary.Hooks%progressEvery == 0 {
		_, _ = fmt.Fprintf(p.Progress, "%d hooks, %d prompts, %d with context, up to %s\n", p.summary.Hooks, p.summary.Prompts, p.summary.Answered, line.At)
	}
	return nil
}

// fire runs the hook as the recorded agent did.
func (p *player) fire(ctx context.Context, a *actor, line Line, hook payload.Object) ([]byte, time.Duration, error) {
	name := line.Agent
	if name == "" {
		name = claudecode.Surface
	}
	args := []string{name}
	if line.Event != "" {
		args = append(args, line.Event)
	}
	cmd := exec.CommandContext(ctx, p.Hook, args...) //nolint:gosec // the program is the caller's choice
	cmd.Stdin = bytes.NewReader(line.Hook)
	cmd.Env = append(a.environ(p), relay.EnvAt+"="+line.At)
	for key, value := range line.Env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	dir := hook.Text("cwd")
	cmd.Dir = a.state
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		cmd.Dir = dir
	}
	if p.Project != "" {
		cmd.Env = append(cmd.Env, relay.EnvProject+"="+p.Project, relay.EnvProjectRoot+"="+p.root(hook.Text("session_id"), dir))
	}
	started := time.Now()
	stdout, err := cmd.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", filepath.Base(p.Hook), err)
	}
	return stdout, time.Since(started), nil
}

// root is the recorded project's root for a directory.
func (p *player) root(session, dir string) string {
	best := ""
	for _, root := range p.Roots {
		if (dir == root || strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/")) && len(root) > len(best) {
			best = root
		}
	}
	if best != "" {
		return best
	}
	if _, known := p.roots[session]; !known {
		p.roots[session] = dir
	}
	return p.roots[session]
}

func promptOf(line Line, hook payload.Object) string {
	switch hook.Text("hook_event_name") {
	case "UserPromptSubmit", "userPromptSubmit":
		return hook.Text("prompt")
	}
	if line.Event == "promptSubmit" {
		return line.Env["USER_PROMPT"]
	}
	return ""
}

func (p *player) answer(line Line, hook payload.Object, prompt string, stdout []byte, took time.Duration) error {
	text := string(stdout)
	if obj, _, ok := payload.DecodeObject(stdout); ok {
		text = obj.Object("hookSpecificOutput").Text("additionalContext")
	}
	p.summary.Prompts++
	if text != "" {
		p.summary.Answered++
	}
	encoder := json.NewEncoder(p.Answers)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(Answer{
		At: line.At, Actor: line.Actor, SessionID: hook.Text("session_id"), Prompt: prompt, Context: text,
		LatencyMS: float64(took.Microseconds()) / 1000,
	})
}

// without leaves out variables that would let a hook do nothing, or reach another relay.
func without(environ []string) []string {
	var kept []string
	for _, entry := range environ {
		switch name, _, _ := strings.Cut(entry, "="); name {
		case "KIROKU_IN_HOOK", "KIROKU_DISABLE", "KIROKU_RUNTIME_DIR", "KIROKU_STATE_DIR", "KIROKU_RELAY_BIN", "KIROKU_RELAY_LOCK_FD",
			config.EnvActAs, relay.EnvAt, relay.EnvProject, relay.EnvProjectRoot,
			"CLAUDECODE", "CLAUDE_PROJECT_DIR", "CURSOR_VERSION", "USER_PROMPT", "GEMINI_SESSION_ID", "FACTORY_PROJECT_DIR", "DEVIN_PROJECT_DIR":
		default:
			kept = append(kept, entry)
		}
	}
	return kept
}
