//go:build unix

package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/relayserver"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
	"github.com/kiroku-dev/kiroku/shim/internal/spool"
)

// relayLog names the file that a relay started by a hook writes its requests to. The prefix
// lets it pass into the relay's environment.
const relayLog = "KIROKU_TEST_RELAY_LOG"

// patience is how long a condition may take on a machine that has much else to do. The budgets
// themselves are measured by the benchmarks.
const patience = 20 * time.Second

// hookProgram is the binary under test, built once as it is released.
var hookProgram string

func TestMain(m *testing.M) {
	if log := os.Getenv(relayLog); log != "" && len(os.Args) == 2 && os.Args[1] == "relay" {
		os.Exit(runRelay(log))
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kiroku-hook-test")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	hookProgram = filepath.Join(dir, "kiroku-hook")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", hookProgram, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("building the hook: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// runRelay is the relay that hooks start in these tests: it logs keys and payloads.
func runRelay(log string) int {
	paths := rundir.FromEnvironment()
	lock, err := relayserver.Acquire(paths)
	if err != nil {
		return 1
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	handler := func(_ context.Context, r frame.Request) frame.Answer {
		f, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return frame.Answer{Status: frame.Unavailable}
		}
		defer func() { _ = f.Close() }()
		if _, err := fmt.Fprintf(f, "%s %s\n", r.Key(), hex.EncodeToString(r.Payload)); err != nil {
			return frame.Answer{Status: frame.Unavailable}
		}
		return frame.Answer{Status: frame.Accepted}
	}
	if relayserver.Serve(ctx, paths, lock, handler, relayserver.Options{Idle: time.Minute}) != nil {
		return 1
	}
	return 0
}

// host is a machine's corner for one test.
type host struct {
	t     *testing.T
	paths rundir.Paths
	env   []string
}

func newHost(t *testing.T) *host {
	t.Helper()
	dir, err := os.MkdirTemp("", "kh") //nolint:usetesting // t.TempDir is too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	paths := rundir.Paths{Runtime: filepath.Join(dir, "run"), State: filepath.Join(dir, "state")}
	return &host{t: t, paths: paths, env: []string{
		"HOME=" + dir, "PATH=/usr/bin:/bin",
		rundir.EnvRuntime + "=" + paths.Runtime, rundir.EnvState + "=" + paths.State,
		rundir.EnvRelayBin + "=/nonexistent/kiroku",
	}}
}

// relay serves the host with a handler until the test ends, and returns what it received.
func (h *host) relay(answer frame.Answer) <-chan frame.Request {
	h.t.Helper()
	lock, err := relayserver.Acquire(h.paths)
	require.NoError(h.t, err)
	got, ready, finished := make(chan frame.Request, 64), make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(h.t.Context())
	go func() {
		defer close(finished)
		_ = relayserver.Serve(ctx, h.paths, lock, func(_ context.Context, r frame.Request) frame.Answer {
			got <- r
			return answer
		}, relayserver.Options{Ready: func() { close(ready) }})
		_ = lock.Close()
	}()
	h.t.Cleanup(func() {
		cancel()
		<-finished
	})
	<-ready
	return got
}

// command prepares a hook call with the host's environment.
func (h *host) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	h.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, hookProgram, args...)
	cmd.Env = h.env
	cmd.Dir = filepath.Dir(h.paths.Runtime)
	return cmd
}

// run calls the hook and returns its stdout. Exit code 0 and a silent stderr are always asked.
func (h *host) run(stdin []byte, args ...string) string {
	h.t.Helper()
	cmd := h.command(args...)
	cmd.Stdin = bytes.NewReader(stdin)
	return finish(h.t, cmd)
}

func finish(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run())
	require.Empty(t, stderr.String())
	return stdout.String()
}

// spooled returns the frames left on disk.
func (h *host) spooled() []frame.Request {
	h.t.Helper()
	entries, err := spool.List(h.paths.SpoolDirs())
	require.NoError(h.t, err)
	requests := make([]frame.Request, 0, len(entries))
	for _, entry := range entries {
		info, err := os.Stat(entry.Path)
		require.NoError(h.t, err)
		require.Equal(h.t, os.FileMode(0o600), info.Mode().Perm())
		r, err := entry.Load()
		require.NoError(h.t, err)
		requests = append(requests, r)
	}
	return requests
}

// kept returns the one frame that reached the relay or, where the machine was too slow for
// the budget, the spool.
func (h *host) kept(got <-chan frame.Request) frame.Request {
	h.t.Helper()
	if spooled := h.spooled(); len(spooled) > 0 {
		return spooled[0]
	}
	return receive(h.t, got)
}

func receive(t *testing.T, ch <-chan frame.Request) frame.Request {
	t.Helper()
	select {
	case r := <-ch:
		return r
	case <-time.After(patience):
		require.FailNow(t, "the relay got nothing")
		panic("unreachable")
	}
}

// loggedKeys reads what started relays logged.
func loggedKeys(t *testing.T, log string) map[string]int {
	t.Helper()
	keys := make(map[string]int)
	f, err := os.Open(log)
	if os.IsNotExist(err) {
		return keys
	}
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	for scan := bufio.NewScanner(f); scan.Scan(); {
		key, _, _ := bytes.Cut(scan.Bytes(), []byte(" "))
		keys[string(key)]++
	}
	return keys
}

// allKeys is what started relays logged and what hooks spooled.
func (h *host) allKeys(log string) map[string]int {
	keys := loggedKeys(h.t, log)
	for _, r := range h.spooled() {
		keys[r.Key()]++
	}
	return keys
}
