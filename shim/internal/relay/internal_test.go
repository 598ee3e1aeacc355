package relay

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/agent"
	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

func TestOnlyAStrictlyNewerReleaseDisplaces(t *testing.T) {
	t.Parallel()
	require.True(t, newer("v1.2.4", "v1.2.3"))
	require.True(t, newer("v1.10.0", "1.9.9"))
	for _, pair := range [][2]string{{"v1.2.3", "v1.2.3"}, {"v1.2.3", "v1.2.4"}, {"dev", "v1.0.0"}, {"v2.0.0", "dev"}, {"", ""}, {"v1.2", "v1.1"}, {"v1.2.3-4-gabc", "v1.2.2"}} {
		require.False(t, newer(pair[0], pair[1]), "%q over %q", pair[0], pair[1])
	}
}

func TestLogNeverGrowsBeyondTwoFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, err := OpenLog(dir)
	require.NoError(t, err)
	line := append(bytes.Repeat([]byte("x"), 1<<20), '\n')
	for range 12 {
		n, err := log.Write(line)
		require.NoError(t, err)
		require.Equal(t, len(line), n)
	}
	require.NoError(t, log.Close())
	for _, name := range []string{LogName, LogName + ".1"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(maxLog))
		require.Positive(t, info.Size())
	}
}

func TestSessionsAreBoundedAndOutliveTheProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.json")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	s := loadSessions(path, clock)
	prompt := func(id string) *eventv1.Event {
		return &eventv1.Event{Kind: eventv1.Kind_KIND_PROMPT, SessionId: id, EventId: "prompt of " + id}
	}
	for i := range maxSessions + 10 {
		s.advance("a", prompt(strconv.Itoa(i)), agent.CompactionNone)
	}
	require.Len(t, s.all, maxSessions)

	again := loadSessions(path, clock)
	tool := &eventv1.Event{Kind: eventv1.Kind_KIND_TOOL_USE, SessionId: strconv.Itoa(maxSessions)}
	require.Equal(t, "prompt of "+strconv.Itoa(maxSessions), again.advance("a", tool, agent.CompactionNone).parent)
	require.Empty(t, again.advance("other agent", tool, agent.CompactionNone).parent)

	require.NoError(t, os.WriteFile(path, []byte(`{"x":null`), 0o600))
	require.Empty(t, loadSessions(path, clock).all, "a file that cannot be read costs links, nothing else")
}

func TestEventIDIsThatOfTheHookCall(t *testing.T) {
	t.Parallel()
	r := &frame.Request{Argv: []string{"a"}, PID: 7, Time: time.Date(2026, 1, 1, 0, 0, 0, 5, time.UTC)}
	copied := *r
	copied.Payload, copied.Flags = []byte("scrubbed"), frame.Scrubbed
	require.Equal(t, eventID(r, "host", 0), eventID(&copied, "host", 0))
	seen := map[string]bool{eventID(r, "host", 0): true}
	for _, other := range []string{eventID(r, "host", 1), eventID(r, "other", 0), eventID(&frame.Request{Argv: []string{"a"}, PID: 8, Time: r.Time}, "host", 0)} {
		require.False(t, seen[other])
		seen[other] = true
	}
	require.NotEmpty(t, eventID(&frame.Request{Time: time.Unix(-5, 0)}, "host", 0))
}

func TestAgentProcessIsAboveTheShells(t *testing.T) {
	t.Parallel()
	line := func(names ...string) []frame.Process {
		var all []frame.Process
		for i, name := range names {
			all = append(all, frame.Process{PID: 100 - i, Name: name})
		}
		return all
	}
	for want, ancestors := range map[string][]frame.Process{
		"kiro-cli": line("sh", "-bash", "/usr/bin/env", "kiro-cli", "zsh"),
		"node":     line("node"),
		"zsh":      line("bash", "zsh"),
		`C:\x.exe`: line(`C:\Windows\System32\cmd.exe`, `C:\x.exe`),
	} {
		got, known := agentProcess(ancestors)
		require.True(t, known)
		require.Equal(t, want, got.Name)
	}
	_, known := agentProcess(nil)
	require.False(t, known)
}
