package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/proto/redact"
	"github.com/kiroku-dev/kiroku/shim/internal/hook"
	"github.com/kiroku-dev/kiroku/shim/internal/player"
	"github.com/kiroku-dev/kiroku/shim/internal/relay"
	"github.com/kiroku-dev/kiroku/shim/internal/relay/servertest"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

// The test binary is kiroku and kiroku-hook too, so that tests run the real programs.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"kiroku":      main,
		"kiroku-hook": func() { hook.Run(hook.Settings{Version: version, Scrub: redact.Bytes}) },
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: func(env *testscript.Env) error {
		runtime, err := os.MkdirTemp("", "kr") //nolint:usetesting // a socket's path must be short
		if err != nil {
			return err
		}
		server := servertest.New(t)
		server.Change(func(s *servertest.Server) { s.Context = recalled })
		env.Defer(func() {
			stopRelay(runtime, filepath.Join(env.WorkDir, "state"))
			_ = os.RemoveAll(runtime)
		})
		env.Vars = append(env.Vars,
			"HOME="+env.WorkDir, "XDG_CONFIG_HOME=", "KIROKU_DATA_DIR="+filepath.Join(env.WorkDir, "data"),
			"KIROKU_RUNTIME_DIR="+runtime, "KIROKU_STATE_DIR="+filepath.Join(env.WorkDir, "state"),
			"KIROKU_INGEST_ADDR="+server.Addr, "KIROKU_RETRIEVAL_ADDR="+server.Addr, "GOOD_TOKEN="+servertest.Token,
		)
		return nil
	}})
}

func recalled(_ context.Context, r *retrievalv1.BuildContextRequest) (string, error) {
	if r.GetPurpose() != retrievalv1.Purpose_PURPOSE_PROMPT {
		return "", nil
	}
	return "<kiroku-context>\n- totals are cents\n</kiroku-context>", nil
}

func stopRelay(runtime, state string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, _ = relay.Ask(ctx, rundir.Paths{Runtime: runtime, State: state}, relay.ControlStop)
}

// machine is a developer's machine: directories, and the programs on a path.
type machine struct {
	t     *testing.T
	paths rundir.Paths
	env   []string
}

func newMachine(t *testing.T, server *servertest.Server) *machine {
	t.Helper()
	base, err := os.MkdirTemp("", "km") //nolint:usetesting // a socket's path must be short
	require.NoError(t, err)
	m := &machine{t: t, paths: rundir.Paths{Runtime: filepath.Join(base, "run"), State: filepath.Join(base, "state")}}
	self, err := exec.LookPath("kiroku")
	require.NoError(t, err)
	m.env = append(os.Environ(),
		"HOME="+base, "KIROKU_IN_HOOK=", "KIROKU_TOKEN="+servertest.Token, "KIROKU_RELAY_BIN="+self,
		"KIROKU_RUNTIME_DIR="+m.paths.Runtime, "KIROKU_STATE_DIR="+m.paths.State,
		"KIROKU_INGEST_ADDR="+server.Addr, "KIROKU_RETRIEVAL_ADDR="+server.Addr,
	)
	t.Cleanup(func() {
		stopRelay(m.paths.Runtime, m.paths.State)
		require.Eventually(t, func() bool { return os.RemoveAll(base) == nil }, 10*time.Second, 50*time.Millisecond)
	})
	return m
}

// fire runs kiroku-hook as an agent does.
func (m *machine) fire(payload string, args ...string) string {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), "kiroku-hook", args...)
	cmd.Stdin, cmd.Env = strings.NewReader(payload), m.env
	out, err := cmd.Output()
	require.NoError(m.t, err, "a hook always succeeds")
	return string(out)
}

func (m *machine) await(good func(relay.Status) bool) relay.Status {
	m.t.Helper()
	var status relay.Status
	require.Eventually(m.t, func() bool {
		s, live, err := relay.CurrentStatus(m.t.Context(), m.paths)
		status = s
		return err == nil && live && good(s)
	}, 20*time.Second, 20*time.Millisecond)
	return status
}

func prompt(text string) string {
	return fmt.Sprintf(`{"session_id":"s1","cwd":"/","hook_event_name":"UserPromptSubmit","prompt":%q}`, text)
}

// The whole way of an event through real processes, with the relay killed in the middle.
func TestKilledRelayLosesNothing(t *testing.T) {
	t.Parallel()
	server := servertest.Unstarted(t)
	m := newMachine(t, server)
	for i := range 5 {
		m.fire(prompt(strconv.Itoa(i)), "claude-code")
	}
	status := m.await(func(s relay.Status) bool { return s.Queue.Pending == 5 })
	process, err := os.FindProcess(status.PID)
	require.NoError(t, err)
	require.NoError(t, process.Signal(syscall.SIGKILL))
	require.Eventually(t, func() bool {
		_, err := relay.Ask(t.Context(), m.paths, relay.ControlStatus)
		return err != nil
	}, 10*time.Second, 10*time.Millisecond)

	server.Start(t)
	for i := 5; i < 10; i++ {
		m.fire(prompt(strconv.Itoa(i)), "claude-code")
	}
	var got []string
	for _, ev := range server.Await(t, 10) {
		got = append(got, ev.GetBody().GetText().GetContent())
	}
	require.ElementsMatch(t, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}, got)
	require.Equal(t, []string{"0", "1", "2", "3", "4"}, got[:5], "what was journaled before the kill comes first")
}

func TestReplayPlaysEachActorThroughItsOwnRelay(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	server.Change(func(s *servertest.Server) { s.Context = recalled })
	hookPath, err := exec.LookPath("kiroku-hook")
	require.NoError(t, err)
	kiroku, err := exec.LookPath("kiroku")
	require.NoError(t, err)
	recording := `{"at":"2026-01-05T12:17:31+01:00","actor":"dev-1","hook":{"session_id":"a","cwd":"/home/dev-1/x/api","hook_event_name":"UserPromptSubmit","prompt":"why cents?"}}
{"at":"2026-01-05T12:17:32+01:00","actor":"dev-2","hook":{"session_id":"b","cwd":"/home/dev-2/x","hook_event_name":"SessionStart","source":"startup"}}

{"at":"2026-01-05T12:17:33+01:00","actor":"dev-1","hook":{"session_id":"a","cwd":"/home/dev-1/x/api","hook_event_name":"PostToolUse","tool_name":"Read","tool_use_id":"t","tool_input":{"file_path":"/home/dev-1/x/api/cart.go"},"tool_response":{}}}
{"at":"2026-01-05T12:17:34+01:00","actor":"dev-2","agent":"kiro-cli","hook":{"cwd":"/home/dev-2/x","hook_event_name":"userPromptSubmit","prompt":"why floats?"}}
`
	var answers, progress bytes.Buffer
	summary, err := player.Play(t.Context(), strings.NewReader(recording), player.Options{
		Hook: hookPath, Kiroku: kiroku, StateDir: t.TempDir(), Project: "x", Roots: []string{"/home/dev-1/x", "/home/dev-2/x"},
		Answers: &answers, Progress: &progress,
		Environ: append(os.Environ(), "KIROKU_TOKEN="+servertest.Token, "KIROKU_INGEST_ADDR="+server.Addr, "KIROKU_RETRIEVAL_ADDR="+server.Addr),
	})
	require.NoError(t, err)
	require.Equal(t, player.Summary{Hooks: 4, Prompts: 2, Answered: 2, Actors: 2}, summary)

	byActor := map[string]int{}
	for _, ev := range server.Events() {
		byActor[ev.GetActorId()]++
		require.Contains(t, ev.GetValidTime(), "2026-01-05T12:17:3")
		require.Equal(t, "x", ev.GetProjectName())
		if ev.GetTool() != nil {
			require.Equal(t, []string{"api/cart.go"}, ev.GetTool().GetFiles())
			require.NotEmpty(t, ev.GetParentEventId())
		}
	}
	require.Equal(t, map[string]int{"dev-1": 2, "dev-2": 2}, byActor)

	decoder := json.NewDecoder(&answers)
	for _, want := range []string{"why cents?", "why floats?"} {
		var a player.Answer
		require.NoError(t, decoder.Decode(&a))
		require.Equal(t, want, a.Prompt)
		require.Equal(t, "<kiroku-context>\n- totals are cents\n</kiroku-context>", strings.TrimSpace(a.Context))
	}
}

func TestReplayNamesTheLineThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\n{\"hook\":{}}\n", "\nno\n"} {
		_, err := player.Play(t.Context(), strings.NewReader(text), player.Options{StateDir: t.TempDir()})
		require.ErrorContains(t, err, "line 2")
	}
}
