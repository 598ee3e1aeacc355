//go:build unix

package main_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
	"github.com/kiroku-dev/kiroku/shim/internal/spool"
)

func TestOddCommandLines(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for _, args := range [][]string{
		nil,
		{"--help"},
		{"-h"},
		{"-bogus", "--x=1"},
		{"unknown-agent", "unknownEvent"},
		{"", ""},
		{"\xff\xfe"},
		{"kiro-ide", strings.Repeat("e", 100_000)},
	} {
		require.Empty(t, h.run([]byte(toolEvent), args...), "%q", args)
	}
	require.Equal(t, "kiroku-hook dev\n", h.run(nil, "--version"))
}

func TestGuardsAgainstRecursion(t *testing.T) {
	t.Parallel()
	for _, name := range []string{rundir.EnvInHook, rundir.EnvDisable} {
		h := newHost(t)
		got := h.relay(frame.Answer{Status: frame.Accepted, Stdout: []byte("x")})
		h.env = append(h.env, name+"=1")
		require.Empty(t, h.run([]byte(promptEvent), "kiro-cli"))
		h.env = append(h.env, name+"=0")
		require.Equal(t, "x", h.run([]byte(promptEvent), "kiro-cli"))
		receive(t, got)
		require.Empty(t, got)
		require.Empty(t, h.spooled())
	}
}

func TestNothingInTheEnvironment(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.env = []string{rundir.EnvRuntime + "=" + h.paths.Runtime}
	h.paths.State = ""
	require.Empty(t, h.run([]byte(toolEvent), "kiro-cli"))
	require.Len(t, h.spooled(), 1)
}

func TestNowhereToWrite(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	blocked := filepath.Join(filepath.Dir(h.paths.Runtime), "file")
	require.NoError(t, os.WriteFile(blocked, nil, 0o600))
	h.env = append(h.env, rundir.EnvRuntime+"="+blocked+"/run", rundir.EnvState+"="+blocked+"/state", "HOME="+blocked)
	require.Empty(t, h.run([]byte(promptEvent), "kiro-cli"))
}

func TestUnusableRuntimeDirectoryLeavesTheStateDirectory(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	// A link could lead into a directory of somebody else.
	require.NoError(t, os.Symlink(t.TempDir(), h.paths.Runtime))
	require.Empty(t, h.run([]byte(toolEvent), "kiro-cli"))
	entries, err := spool.List([]string{filepath.Join(h.paths.State, "spool")})
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestDeletedWorkingDirectory(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	got := h.relay(frame.Answer{Status: frame.Accepted})
	gone := filepath.Join(filepath.Dir(h.paths.Runtime), "gone")
	require.NoError(t, os.Mkdir(gone, 0o700))
	cmd := h.command()
	cmd.Path = "/bin/sh"
	cmd.Args = []string{"sh", "-c", `cd "$1" && rmdir "$1" && exec "$0" kiro-cli`, hookProgram, gone}
	cmd.Stdin = strings.NewReader(toolEvent)
	require.Empty(t, finish(t, cmd))
	require.Equal(t, gone, receive(t, got).Dir)
}

func TestTerminationStillStoresTheEvent(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		h := newHost(t)
		require.NoError(t, rundir.Ensure(h.paths.Runtime))
		listener, err := net.Listen("unix", h.paths.Socket())
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		cmd := h.command("kiro-cli")
		cmd.Stdin = strings.NewReader(promptEvent)
		require.NoError(t, cmd.Start())
		conn, err := listener.Accept()
		require.NoError(t, err)
		_, err = io.ReadFull(conn, make([]byte, 64)) // the hook now waits for its answer
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(sig))
		require.NoError(t, cmd.Wait())
		require.Len(t, h.spooled(), 1)
		_ = conn.Close()
	}
}

func TestKilledHookLeavesNothingHalf(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	for delay := range 8 {
		cmd := h.command("kiro-cli")
		cmd.Stdin = strings.NewReader(toolEvent)
		require.NoError(t, cmd.Start())
		time.AfterFunc(time.Duration(delay)*2*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
	}
	for _, r := range h.spooled() { // decodes every frame
		require.JSONEq(t, toolEvent, string(r.Payload))
	}
}
