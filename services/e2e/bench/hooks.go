package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// program is one thing to start and wait for.
type program struct {
	name  string
	path  string
	args  []string
	stdin func(run int) []byte
	took  samples
}

// hooks compares the hook with an empty program and with Node's start, run by run in turn.
func (p plan) hooks(ctx context.Context, srv *server, page *strings.Builder) error {
	stage, err := p.newStage(ctx, srv)
	if err != nil {
		return err
	}
	defer stage.close()
	empty, err := stage.buildEmpty(ctx)
	if err != nil {
		return err
	}
	tool := func(run int) []byte {
		return stage.payload("PostToolUse", fmt.Sprintf(`"tool_name":"Bash","tool_input":{"command":"go test ./unit%d"},"tool_response":{"stdout":"ok","stderr":""}`, run))
	}
	prompt := func(run int) []byte {
		text, _ := json.Marshal(fmt.Sprintf("%s (%d)", stage.question(run), run)) // a string cannot fail
		return stage.payload("UserPromptSubmit", `"prompt":`+string(text))
	}
	floor := &program{name: "empty static Go binary", path: empty}
	programs := []*program{
		floor,
		{name: "hook, tool event", path: stage.hook, args: []string{"claude-code"}, stdin: tool},
		{name: fmt.Sprintf("hook, prompt with context from %d records", p.sizes[len(p.sizes)-1]), path: stage.hook, args: []string{"claude-code"}, stdin: prompt},
	}
	if node, err := exec.LookPath("node"); err == nil {
		programs = append(programs, &program{name: "node -e ''", path: node, args: []string{"-e", ""}})
	}
	given, err := stage.runInTurn(ctx, programs, p.hookRuns)
	if err != nil {
		return err
	}
	writeHooks(page, p.hookRuns, given, floor, programs)
	return stage.hung(ctx, page)
}

func writeHooks(page *strings.Builder, runs, given int, floor *program, programs []*program) {
	fmt.Fprintf(page, "\n## Hooks\n\n%d runs of each, in turn, relay warm. %d of the prompts came back with context.\n\n", runs, given)
	page.WriteString("| program | p50 ms | p99 ms | p50 to the floor | p99 to the floor's p99 | budget | |\n|---|---|---|---|---|---|---|\n")
	budgets := map[int][2]float64{1: {1.5, 3}, 2: {2.5, 0}}
	for i, prog := range programs {
		budget, kept := "–", ""
		if b, ok := budgets[i]; ok {
			budget = fmt.Sprintf("p50 ≤ %.1f ×", b[0])
			good := float64(prog.took.at(.5)) <= b[0]*float64(floor.took.at(.5))
			if b[1] > 0 {
				budget += fmt.Sprintf(", p99 ≤ %.0f ×", b[1])
				good = good && float64(prog.took.at(.99)) <= b[1]*float64(floor.took.at(.99))
			}
			kept = verdict(good)
		}
		fmt.Fprintf(page, "| %s | %s | %s | %s | %s | %s | %s |\n", prog.name, ms(prog.took.at(.5)), ms(prog.took.at(.99)),
			ratio(prog.took.at(.5), floor.took.at(.5)), ratio(prog.took.at(.99), floor.took.at(.99)), budget, kept)
	}
	if len(programs) == 4 {
		node := programs[3].took.at(.5)
		fmt.Fprintf(page, "\nNode's start takes %s the tool hook and %s the prompt hook (budget ≥ 7 ×).\n",
			ratio(node, programs[1].took.at(.5)), ratio(node, programs[2].took.at(.5)))
	}
}

// stage is a developer's machine: a project, a relay's directories, the hook.
type stage struct {
	dir, hook, project string
	env                []string
	questions          []string
}

func (p plan) newStage(ctx context.Context, srv *server) (*stage, error) {
	dir, err := os.MkdirTemp("", "kb") // short: sockets go below it
	if err != nil {
		return nil, err
	}
	st := &stage{dir: dir, hook: filepath.Join(p.bin, "kiroku-hook"), project: filepath.Join(dir, "project"), questions: prompts(p.sizes[len(p.sizes)-1])}
	token := filepath.Join(dir, "token")
	for path, content := range map[string]string{token: srv.token, filepath.Join(st.project, ".kiroku.toml"): "project = \"" + benchProject + "\"\n"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	st.env = append(os.Environ(), "KIROKU_TOKEN_FILE="+token, "KIROKU_RELAY_BIN="+filepath.Join(p.bin, "kiroku"))
	for name, value := range srv.addresses {
		st.env = append(st.env, name+"="+value)
	}
	return st, st.warm(ctx, "r")
}

// payload is one of Claude Code's hook payloads, in a session of its own for every prompt, so that none is suppressed.
func (st *stage) payload(event, fields string) []byte {
	return []byte(fmt.Sprintf(`{"session_id":"bench-%d","hook_event_name":%q,"cwd":%q,%s}`, time.Now().UnixNano(), event, st.project, fields))
}

func (st *stage) question(run int) string { return st.questions[run%len(st.questions)] }

// relay gives the environment of one relay's directories.
func (st *stage) relay(name string) []string {
	return append(st.env[:len(st.env):len(st.env)], "KIROKU_RUNTIME_DIR="+filepath.Join(st.dir, name), "KIROKU_STATE_DIR="+filepath.Join(st.dir, name+"-state"))
}

// warm starts the relay by a first hook and waits until prompts bring context.
func (st *stage) warm(ctx context.Context, relay string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	st.env = st.relay(relay)
	for run := 0; ; run++ {
		text, _ := json.Marshal(st.question(run))
		out, _, err := st.once(ctx, st.hook, []string{"claude-code"}, st.payload("UserPromptSubmit", `"prompt":`+string(text)), st.env)
		if err != nil {
			return fmt.Errorf("no prompt brought context: %w", err)
		}
		if len(out) > 0 {
			return nil
		}
	}
}

func (st *stage) once(ctx context.Context, path string, args []string, stdin []byte, env []string) ([]byte, time.Duration, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = env, st.project, bytes.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout = &out
	began := time.Now()
	err := cmd.Run()
	return out.Bytes(), time.Since(began), err
}

// runInTurn runs every program once a round and tells how many prompts brought context.
func (st *stage) runInTurn(ctx context.Context, programs []*program, rounds int) (given int, err error) {
	for round := range rounds {
		for _, prog := range programs {
			var stdin []byte
			if prog.stdin != nil {
				stdin = prog.stdin(round)
			}
			out, took, err := st.once(ctx, prog.path, prog.args, stdin, st.env)
			if err != nil {
				return given, fmt.Errorf("%s: %w", prog.name, err)
			}
			prog.took = append(prog.took, took)
			if len(out) > 0 {
				given++
			}
		}
	}
	return given, nil
}

func (st *stage) buildEmpty(ctx context.Context) (string, error) {
	source, binary := filepath.Join(st.dir, "empty.go"), filepath.Join(st.dir, "empty")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
}

// hung measures hooks whose server takes connections and says nothing.
func (st *stage) hung(ctx context.Context, page *strings.Builder) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	env := append(st.relay("h"), "KIROKU_INGEST_ADDR="+listener.Addr().String(), "KIROKU_RETRIEVAL_ADDR="+listener.Addr().String())
	page.WriteString("\nServer that takes connections and says nothing, 20 runs each:\n\n| hook | p50 ms | worst ms | budget | |\n|---|---|---|---|---|\n")
	for _, c := range []struct {
		event, fields string
		budget        time.Duration
	}{
		{"PostToolUse", `"tool_name":"Read","tool_input":{"file_path":"a.go"},"tool_response":"x"`, 200 * time.Millisecond},
		{"Stop", `"last_assistant_message":"done"`, 200 * time.Millisecond},
		{"UserPromptSubmit", `"prompt":"how do we run the migration"`, time.Second},
		{"SessionStart", `"source":"startup"`, time.Second},
	} {
		var took samples
		for range 20 {
			_, d, err := st.once(ctx, st.hook, []string{"claude-code"}, st.payload(c.event, c.fields), env)
			if err != nil {
				return fmt.Errorf("hung server, %s: %w", c.event, err)
			}
			took = append(took, d)
		}
		fmt.Fprintf(page, "| %s | %s | %s | %d ms | %s |\n", c.event, ms(took.at(.5)), ms(took.at(1)), c.budget.Milliseconds(), verdict(took.at(1) <= c.budget))
	}
	return nil
}

// close ends the relays, whose process numbers their locks hold, and removes the directory.
func (st *stage) close() {
	for _, name := range []string{"r", "h"} {
		content, err := os.ReadFile(filepath.Join(st.dir, name, "relay.lock"))
		if pid, convErr := strconv.Atoi(strings.TrimSpace(string(content))); err == nil && convErr == nil {
			_ = syscall.Kill(pid, syscall.SIGTERM) // it may have ended by itself
		}
	}
	_ = os.RemoveAll(st.dir)
}
