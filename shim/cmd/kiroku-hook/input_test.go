//go:build unix

package main_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

func TestStdinForms(t *testing.T) {
	t.Parallel()
	const value = `{"hook_event_name":"postToolUse","cwd":"/srv/shop"}`
	h := newHost(t)
	got := h.relay(frame.Answer{Status: frame.Accepted})
	for name, tt := range map[string]struct{ stdin, payload, event string }{
		"plain":        {value, value, "postToolUse"},
		"mark":         {"\xef\xbb\xbf" + value, value, "postToolUse"},
		"two marks":    {"\xef\xbb\xbf\xef\xbb\xbf\r\n" + value + "\r\n", value, "postToolUse"},
		"tail":         {value + "\nlog line } {", value, "postToolUse"},
		"two values":   {value + value, value, "postToolUse"},
		"bad bytes":    {"{\"prompt\":\"caf\xe9\"}", "{\"prompt\":\"caf\xe9\"}", ""},
		"escaped NUL":  {`{"a":"\u0000"}`, `{"a":"\u0000"}`, ""},
		"utf-16":       {"\xff\xfe{\x00}\x00\n\x00", "\xff\xfe{\x00}\x00", ""},
		"garbage":      {"Traceback (most recent call last):\n", "Traceback (most recent call last):\n", ""},
		"cut off":      {`{"hook_event_name":"stop","a":"`, `{"hook_event_name":"stop","a":"`, "stop"},
		"empty":        {"", "", ""},
		"only a mark":  {"\xef\xbb\xbf", "", ""},
		"nested event": {`{"x":{"hook_event_name":"a"}}`, `{"x":{"hook_event_name":"a"}}`, ""},
	} {
		require.Empty(t, h.run([]byte(tt.stdin), "kiro-cli"), name)
		r := receive(t, got)
		require.Equal(t, tt.payload, string(r.Payload), name)
		require.Equal(t, tt.event, r.Event, name)
	}
}

func TestStdinThatIsNeverClosed(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	got := h.relay(frame.Answer{Status: frame.Accepted})
	read, write, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = read.Close(); _ = write.Close() })
	_, err = write.WriteString(`{"session_id":"s1"}`)
	require.NoError(t, err)
	cmd := h.command("claude-code")
	cmd.Stdin = read
	require.Empty(t, finish(t, cmd))
	require.JSONEq(t, `{"session_id":"s1"}`, string(receive(t, got).Payload))
}

func TestPromptInTheEnvironmentWithASilentStdin(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	got := h.relay(frame.Answer{Status: frame.Accepted, Stdout: []byte("recalled")})
	h.env = append(h.env, "USER_PROMPT=fix the test\nplease", "SECRET_THING=x")
	read, write, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = read.Close(); _ = write.Close() })
	cmd := h.command("kiro-ide", "promptSubmit")
	cmd.Stdin = read
	require.Equal(t, "recalled", finish(t, cmd))

	r := receive(t, got)
	require.Equal(t, []string{"kiro-ide", "promptSubmit"}, r.Argv)
	require.Equal(t, "promptSubmit", r.Event)
	require.True(t, r.Has(frame.Waiting))
	require.Empty(t, r.Payload)
	prompt, _ := r.Lookup("USER_PROMPT")
	require.Equal(t, "fix the test\nplease", prompt)
	_, leaked := r.Lookup("SECRET_THING")
	require.False(t, leaked)
}

func TestStdinWithoutAnAgentBehindIt(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	got := h.relay(frame.Answer{Status: frame.Accepted})
	null := h.command("kiro-cli")
	require.Empty(t, finish(t, null)) // no Stdin set is the null device
	require.Empty(t, receive(t, got).Payload)

	closed := h.command()
	closed.Path, closed.Args = "/bin/sh", []string{"sh", "-c", `exec "$0" kiro-cli <&-`, hookProgram}
	require.Empty(t, finish(t, closed))
	require.Empty(t, receive(t, got).Payload)

	directory, err := os.Open("/")
	require.NoError(t, err)
	t.Cleanup(func() { _ = directory.Close() })
	odd := h.command("kiro-cli")
	odd.Stdin = directory
	require.Empty(t, finish(t, odd))
	require.Empty(t, receive(t, got).Payload)
}

// TestLargePayloadArrivesWhole allows for a machine that cannot move so much within the budget.
func TestLargePayloadArrivesWhole(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	got := h.relay(frame.Answer{Status: frame.Accepted})
	payload := []byte(`{"hook_event_name":"postToolUse","tool_response":"` + strings.Repeat("x", 20<<20) + `"}`)
	require.Empty(t, h.run(payload, "kiro-cli"))
	r := h.kept(got)
	if r.Flags&(frame.Scrubbed|frame.Incomplete) != 0 {
		return
	}
	require.True(t, bytes.Equal(payload, r.Payload))
	require.Zero(t, r.Flags&frame.Truncated)
}

func TestPayloadBeyondTheLimitKeepsBothEnds(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	got := h.relay(frame.Answer{Status: frame.Accepted})
	payload := []byte(`{"hook_event_name":"postToolUse","tool_response":"` + strings.Repeat("word ", 14<<20) + `","cwd":"/srv"}`)
	read, write, err := os.Pipe()
	require.NoError(t, err)
	cmd := h.command("kiro-cli")
	cmd.Stdin = read
	written := make(chan error, 1)
	go func() {
		_, err := io.Copy(write, bytes.NewReader(payload))
		_ = write.Close()
		written <- err
	}()
	require.Empty(t, finish(t, cmd))
	_ = read.Close()

	r := h.kept(got)
	require.True(t, bytes.HasPrefix(r.Payload, payload[:1<<10]))
	if <-written != nil {
		// A machine too slow to read all of it in time keeps what it saw.
		require.True(t, r.Has(frame.Incomplete))
		return
	}
	require.True(t, r.Has(frame.Truncated))
	require.Less(t, len(r.Payload), 4<<20)
	sum := sha256.Sum256(payload)
	require.Equal(t, sum[:], r.Digest)
	require.EqualValues(t, len(payload), r.OriginalSize)
	require.True(t, json.Valid(r.Payload))
	require.True(t, bytes.HasSuffix(r.Payload, []byte(`"cwd":"/srv"}`)))
}

func TestDependenciesStaySmall(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		"github.com/kiroku-dev/kiroku/proto/redact",
		"github.com/kiroku-dev/kiroku/shim/cmd/kiroku-hook",
		"github.com/kiroku-dev/kiroku/shim/internal/frame",
		"github.com/kiroku-dev/kiroku/shim/internal/hook",
		"github.com/kiroku-dev/kiroku/shim/internal/process",
		"github.com/kiroku-dev/kiroku/shim/internal/rundir",
		"github.com/kiroku-dev/kiroku/shim/internal/spool",
		"golang.org/x/sys/unix",
	}, strings.Fields(string(out)))

	deps := func(pkg string) []string {
		out, err := exec.Command("go", "list", "-deps", pkg).Output()
		require.NoError(t, err)
		return strings.Fields(string(out))
	}
	for _, banned := range []string{"net", "net/http", "crypto/tls", "os/exec", "log/slog", "text/template"} {
		require.NotContains(t, deps("."), banned)
	}
	for _, banned := range []string{"encoding/json", "regexp", "fmt"} {
		require.NotContains(t, deps("../../internal/hook"), banned, "on the path of every call")
	}
	info, err := os.Stat(hookProgram)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(4<<20))
}
