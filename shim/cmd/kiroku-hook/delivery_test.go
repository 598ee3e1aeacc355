//go:build unix

package main_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/relayserver"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

const (
	toolEvent   = `{"hook_event_name":"postToolUse","tool_name":"fs_write"}`
	promptEvent = `{"hook_event_name":"userPromptSubmit","prompt":"use tabs <private>my key</private>"}`
)

func TestAnswerIsPrintedByteForByte(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	text := "<kiroku-context>\n" + strings.Repeat("use tabs\n", 3_000) + "</kiroku-context>"
	got := h.relay(frame.Answer{Status: frame.Accepted, Stdout: []byte(text)})
	require.Equal(t, text, h.run([]byte(promptEvent), "kiro-cli"))
	r := receive(t, got)
	require.True(t, r.Has(frame.Waiting))
	require.Positive(t, r.Budget)
	require.LessOrEqual(t, r.Budget, time.Second)
	require.NotZero(t, r.PID)
	require.Equal(t, os.Getpid(), r.PPID)
	require.Equal(t, os.Getpid(), r.Ancestors[0].PID)
	require.WithinDuration(t, time.Now(), r.Time, time.Minute)
	require.NotEmpty(t, r.Dir)
	require.Empty(t, h.spooled())
}

func TestUnreadStdoutDoesNotMatter(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.relay(frame.Answer{Status: frame.Accepted, Stdout: []byte(strings.Repeat("x", 200<<10))})
	read, write, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = read.Close() })
	full := h.command("kiro-cli")
	full.Stdin, full.Stdout = strings.NewReader(promptEvent), write
	require.NoError(t, full.Run(), "a pipe that nobody empties")

	require.NoError(t, read.Close())
	gone := h.command("kiro-cli")
	gone.Stdin, gone.Stdout = strings.NewReader(promptEvent), write
	require.NoError(t, gone.Run(), "a pipe without a reader")
	require.NoError(t, write.Close())
}

func TestWithoutARelayTheEventRestsScrubbed(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.env = append(h.env, "USER_PROMPT=also <private>my key</private>")
	require.Empty(t, h.run([]byte(promptEvent), "kiro-cli", "<private>my key</private>"))
	spooled := h.spooled()
	require.Len(t, spooled, 1)
	r := spooled[0]
	require.True(t, r.Has(frame.Scrubbed))
	require.NotContains(t, string(frame.Append(nil, &r)), "my key")
	require.Contains(t, string(r.Payload), "use tabs")
	require.NotEmpty(t, r.Ancestors)
	require.Equal(t, os.Getpid(), r.Ancestors[0].PID)
}

func TestHugePayloadWithoutARelayIsCutBeforeItRests(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	payload := `{"hook_event_name":"stop","a":"` + strings.Repeat("word ", 1<<20) + `","cwd":"/srv"}`
	require.Empty(t, h.run([]byte(payload), "kiro-cli"))
	spooled := h.spooled()
	require.Len(t, spooled, 1)
	require.True(t, spooled[0].Has(frame.Truncated|frame.Scrubbed))
	require.EqualValues(t, len(payload), spooled[0].OriginalSize)
	require.Less(t, len(spooled[0].Payload), 3<<20)
}

func TestHungRelayCostsTheBudgetAndNoEvent(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	require.NoError(t, rundir.Ensure(h.paths.Runtime))
	listener, err := net.Listen("unix", h.paths.Socket())
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	for _, event := range []string{toolEvent, promptEvent} {
		started := time.Now()
		require.Empty(t, h.run([]byte(event), "kiro-cli"))
		require.Less(t, time.Since(started), 3*time.Second)
	}
	require.Len(t, h.spooled(), 2)
}

func TestRelayThatAnswersNonsense(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"closes":  "",
		"garbage": "HTTP/1.1 200 OK\r\n\r\n",
		"half":    string(frame.AppendAnswer(nil, frame.Answer{Status: frame.Accepted, Stdout: []byte("text")}))[:14],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			require.NoError(t, rundir.Ensure(h.paths.Runtime))
			listener, err := net.Listen("unix", h.paths.Socket())
			require.NoError(t, err)
			t.Cleanup(func() { _ = listener.Close() })
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = conn.Write([]byte(answer))
					_ = conn.Close()
				}
			}()
			require.Empty(t, h.run([]byte(promptEvent), "kiro-cli"))
			require.Len(t, h.spooled(), 1)
		})
	}
}

func TestVerdictsOfTheRelay(t *testing.T) {
	t.Parallel()
	for status, kept := range map[frame.Status]int{frame.Accepted: 0, frame.Rejected: 0, frame.Unavailable: 1, frame.Status(99): 1} {
		t.Run(strconv.Itoa(int(status)), func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.relay(frame.Answer{Status: status})
			// A prompt, because its budget leaves the relay time on a busy machine.
			require.Empty(t, h.run([]byte(promptEvent), "kiro-cli"))
			require.Len(t, h.spooled(), kept)
		})
	}
}

// TestFiftyHooksStartOneRelay starts from nothing: one hook starts the relay, all others find
// it or leave their event in the spool, and none is lost or kept twice.
func TestFiftyHooksStartOneRelay(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	log := filepath.Join(filepath.Dir(h.paths.Runtime), "log")
	self, err := os.Executable()
	require.NoError(t, err)
	h.env = append(h.env, rundir.EnvRelayBin+"="+self, relayLog+"="+log)
	t.Cleanup(func() { stopRelay(t, h.paths) })

	var group sync.WaitGroup
	for range 50 {
		cmd := h.command("kiro-cli")
		cmd.Stdin = strings.NewReader(toolEvent)
		group.Go(func() { require.Empty(t, finish(t, cmd)) })
	}
	group.Wait()
	require.Eventually(t, func() bool {
		_, err := os.Stat(h.paths.Socket())
		return err == nil
	}, patience, 5*time.Millisecond)
	_, err = relayserver.Acquire(h.paths)
	require.ErrorIs(t, err, relayserver.ErrRunning)

	require.Len(t, h.allKeys(log), 50)
	more := 0
	require.Eventually(t, func() bool {
		before := len(loggedKeys(t, log))
		require.Empty(t, h.run([]byte(toolEvent), "kiro-cli"))
		more++
		return len(loggedKeys(t, log)) > before
	}, patience, time.Millisecond, "the relay takes events")
	require.Len(t, h.allKeys(log), 50+more)
}

// stopRelay ends the relay that a hook started and waits until its lock is free.
func stopRelay(t *testing.T, paths rundir.Paths) {
	t.Helper()
	require.Eventually(t, func() bool {
		lock, err := relayserver.Acquire(paths)
		if err == nil {
			_ = lock.Close()
			return true
		}
		content, _ := os.ReadFile(paths.Lock())
		if pid, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
		return false
	}, patience, 10*time.Millisecond)
}

func TestRelayThatCannotLiveIsStartedOnce(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	count := filepath.Join(filepath.Dir(h.paths.Runtime), "count")
	program := filepath.Join(filepath.Dir(h.paths.Runtime), "kiroku")
	script := "#!/bin/sh\necho \"$1 $KIROKU_RELAY_LOCK_FD $KIROKU_IN_HOOK\" >>" + count + "\nexit 1\n"
	require.NoError(t, os.WriteFile(program, []byte(script), 0o700))
	h.env = append(h.env, rundir.EnvRelayBin+"="+program)
	require.Empty(t, h.run([]byte(promptEvent), "kiro-cli"))
	require.Len(t, h.spooled(), 1)
	content, err := os.ReadFile(count)
	require.NoError(t, err)
	require.Equal(t, "relay 3 1\n", string(content))
}

func TestSpooledAndSentCopiesShareTheirKey(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	got := h.relay(frame.Answer{Status: frame.Unavailable})
	require.Empty(t, h.run([]byte(toolEvent), "kiro-cli"))
	sent, spooled := receive(t, got), h.spooled()
	require.Len(t, spooled, 1)
	require.Equal(t, sent.Key(), spooled[0].Key())
}
