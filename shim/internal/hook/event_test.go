package hook

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

func TestWantsContext(t *testing.T) {
	t.Parallel()
	for _, event := range []string{
		"userPromptSubmit", "UserPromptSubmit", "user_prompt_submit", "promptSubmit", "beforeSubmitPrompt",
		"SessionStart", "session-start", "agentSpawn", "BeforeAgent", "pre_user_prompt", "TaskStart",
	} {
		require.True(t, wantsContext(event), event)
	}
	for _, event := range []string{"", "postToolUse", "Stop", "SessionEnd", "x", strings.Repeat("userPromptSubmit", 9)} {
		require.False(t, wantsContext(event), event)
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	started := time.Unix(1_000, 0)
	after := func(d time.Duration) time.Time { return started.Add(d) }
	require.Equal(t, after(120*time.Millisecond), deadline(started, after(time.Millisecond), false, 10))
	require.Equal(t, after(900*time.Millisecond), deadline(started, after(time.Millisecond), true, 10))
	// What came late on stdin still has its moment with the relay, and what is large a longer one.
	require.Equal(t, after(950*time.Millisecond), deadline(started, after(900*time.Millisecond), false, 10))
	require.Equal(t, after(790*time.Millisecond), deadline(started, after(100*time.Millisecond), false, 64<<20))
}

func TestFactsAreAnAllowList(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("p", maxValue+1)
	got := agentFacts([]string{
		"HOME=/home/ana", "AWS_SECRET_ACCESS_KEY=s", "USER_PROMPT=" + long, "CURSOR_VERSION=" + long, "CLAUDECODE",
		"KIROKU_PROJECT=shop", "KIROKU_TOKEN=t", "KIROKU_POSTGRES_URL=u", "NOT_KIROKU_X=1",
	})
	require.Equal(t, []frame.Var{
		{Name: "HOME", Value: "/home/ana"},
		{Name: "USER_PROMPT", Value: long},
		{Name: "CURSOR_VERSION", Value: long[:maxValue]},
		{Name: "CLAUDECODE"},
		{Name: "KIROKU_PROJECT", Value: "shop"},
	}, got)
}

func TestRelayInheritsNothingOfTheAgent(t *testing.T) {
	t.Parallel()
	got := relayEnviron([]string{
		"HOME=/home/ana", "PATH=/bin", "KIROKU_TOKEN_FILE=/t", "XDG_RUNTIME_DIR=/run/user/7", "https_proxy=http://p",
		"CLAUDE_PROJECT_DIR=/srv", "USER_PROMPT=x", "ANTHROPIC_API_KEY=k", "KIROKU_RELAY_LOCK_FD=9",
	})
	require.Equal(t, []string{
		"HOME=/home/ana", "PATH=/bin", "KIROKU_TOKEN_FILE=/t", "XDG_RUNTIME_DIR=/run/user/7", "https_proxy=http://p",
		"KIROKU_RELAY_LOCK_FD=3", "KIROKU_IN_HOOK=1",
	}, got)
}
