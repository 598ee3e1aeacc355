package relay_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/relay/servertest"
)

const private = "HUSH-4711"

// Every field of every payload kind may hold something private, spelled in every way.
func TestPrivateTextNeverRestsAnywhere(t *testing.T) {
	t.Parallel()
	server := servertest.Unstarted(t)
	g := newRig(t, server.Addr)
	g.start()
	spellings := []string{
		"<private>" + private + "</private>", "a <PRIVATE>" + private + "</PRIVATE> b", "<private><private>x</private>" + private + "</private>",
		"open <private> " + private, `\u003cprivate\u003e` + private + `\u003c/private\u003e`, `<pri\u0076ate reason=\"x\">` + private + `</private>`,
	}
	n := 0
	for _, spelled := range spellings {
		for _, payload := range payloadsWith(spelled) {
			require.Equal(t, frame.Accepted, g.send(request(payload.agent, payload.text)).Status)
			n++
		}
		r := request("kiro-ide", "")
		var decoded string
		require.NoError(t, json.Unmarshal([]byte(`"`+spelled+`"`), &decoded))
		r.Argv, r.Env = []string{"kiro-ide", "promptSubmit"}, []frame.Var{{Name: "USER_PROMPT", Value: decoded}}
		g.send(r)
		n++
	}
	requireNotOnDisk(t, filepath.Dir(g.paths.State))
	server.Start(t)
	for _, ev := range server.Await(t, n) {
		require.NotContains(t, ev.String(), private)
	}
	for _, q := range server.Questions() {
		require.NotContains(t, q.String(), private)
	}
	g.stop()
	requireNotOnDisk(t, filepath.Dir(g.paths.State))
}

type spelledPayload struct{ agent, text string }

func payloadsWith(s string) []spelledPayload {
	return []spelledPayload{
		{"claude-code", claude("UserPromptSubmit", `,"prompt":"`+s+`"`)},
		{"claude-code", claude("Stop", `,"last_assistant_message":"`+s+`"`)},
		{"claude-code", claude("Notification", `,"message":"`+s+`"`)},
		{"claude-code", claude("Novelty", `,"text":"`+s+`"`)},
		{"claude-code", claude("PostCompact", `,"compact_summary":"`+s+`"`)},
		{"claude-code", claude("SubagentStart", `,"agent_id":"`+s+`","agent_type":"`+s+`","description":"`+s+`","prompt":"`+s+`"`)},
		{"claude-code", claude("SessionStart", `,"source":"`+s+`","model":"`+s+`","session_title":"`+s+`"`)},
		{"claude-code", claude("PostToolUse", `,"tool_name":"`+s+`","tool_use_id":"`+s+`","tool_input":{"command":"`+s+`","`+s+`":["`+s+`"]},"tool_response":{"stdout":"`+s+`","deep":[{"x":"`+s+`"}]}`)},
		{"claude-code", claude("PostToolUse", `,"tool_name":"Write","tool_input":{"file_path":"/srv/`+s+`"},"tool_response":"`+s+`"`)},
		{"claude-code", claude("PostToolUseFailure", `,"tool_name":"Bash","tool_input":"`+s+`","error":"`+s+`"`)},
		{"claude-code", `{"session_id":"` + s + `","cwd":"/srv/` + s + `","hook_event_name":"Stop","permission_mode":"` + s + `","transcript_path":"` + s + `","prompt_id":"` + s + `"}`},
		{"claude-code", `{"session_id":"s","cwd":"/srv/shop","hook_event_name":"` + s + `"}`},
		{"kiro-cli", `{"hook_event_name":"userPromptSubmit","cwd":"/srv/shop","prompt":"` + s + `"}`},
		{"kiro-cli", `{"hook_event_name":"postToolUse","cwd":"/srv/shop","tool_name":"execute_bash","tool_input":{"command":"` + s + `"},"tool_response":{"success":true,"result":[{"stdout":"` + s + `"}]}}`},
		{"kiro-cli", `{"hook_event_name":"stop","cwd":"/srv/shop","assistant_response":"` + s + `"}`},
	}
}

func requireNotOnDisk(t *testing.T, dir string) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		if entry.Type().IsRegular() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(data), private, path)
			files++
		}
		return nil
	}))
	require.Greater(t, files, 2)
}
