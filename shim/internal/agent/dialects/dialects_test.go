package dialects_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/agent"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/dialects"
)

func TestIdentify(t *testing.T) {
	t.Parallel()
	type env = map[string]string
	for name, tt := range map[string]struct {
		argv     []string
		env      env
		programs []string
		payload  string
		want     string
	}{
		"by the command line":               {argv: []string{"kiro-cli"}, payload: `{"hook_event_name":"stop"}`, want: "kiro-cli"},
		"Claude by its transcript":          {argv: []string{"kiro-cli"}, payload: `{"transcript_path":"/home/a/.claude/projects/x/s.jsonl"}`, want: "claude-code"},
		"Claude on Windows":                 {argv: []string{"kiro-cli"}, payload: `{"transcript_path":"C:\\Users\\a\\.claude\\projects\\x\\s.jsonl"}`, want: "claude-code"},
		"Cursor runs Claude's file":         {argv: []string{"claude-code"}, payload: `{"conversation_id":"c","cursor_version":"2.6","hook_event_name":"UserPromptSubmit","prompt":"hi"}`, want: "cursor"},
		"Cursor by its environment":         {argv: []string{"claude-code"}, env: env{"CURSOR_VERSION": "2.6"}, payload: `{"hook_event_name":"stop"}`, want: "cursor"},
		"Devin":                             {argv: []string{"claude-code"}, env: env{"DEVIN_PROJECT_DIR": "/srv"}, payload: `{}`, want: "devin"},
		"Devin's variable beside Claude":    {argv: []string{"claude-code"}, env: env{"DEVIN_PROJECT_DIR": "/srv", "CLAUDE_PROJECT_DIR": "/srv"}, payload: `{}`, want: "claude-code"},
		"the project directory is no proof": {argv: []string{"kiro-cli"}, env: env{"CLAUDE_PROJECT_DIR": "/srv"}, payload: `{}`, want: "kiro-cli"},
		"Gemini":                            {argv: []string{"claude-code"}, env: env{"GEMINI_SESSION_ID": "g"}, payload: `{}`, want: "gemini"},
		"Droid":                             {argv: []string{"claude-code"}, env: env{"FACTORY_PROJECT_DIR": "/srv"}, payload: `{}`, want: "droid"},
		"Codex":                             {argv: []string{"claude-code"}, payload: `{"turn_id":"t","model":"m","hook_event_name":"Stop"}`, want: "codex"},
		"Windsurf":                          {argv: []string{"claude-code"}, payload: `{"agent_action_name":"post_run_command"}`, want: "windsurf"},
		"Cline":                             {argv: []string{"claude-code"}, payload: `{"clineVersion":"3"}`, want: "cline"},
		"Grok":                              {argv: []string{"claude-code"}, payload: `{"hookEventName":"session_start"}`, want: "grok"},
		"Copilot":                           {argv: []string{"claude-code"}, payload: `{"sessionId":"s","timestamp":1790000000}`, want: "copilot"},
		"the CLI reads the IDE's file":      {argv: []string{"kiro-ide"}, programs: []string{"sh", "kiro-cli-chat", "zsh", "kiro"}, payload: `{"hook_event_name":"stop"}`, want: "kiro-cli"},
		"the IDE reads the CLI's file":      {argv: []string{"kiro-cli"}, programs: []string{"sh", "/Applications/Kiro.app/Contents/MacOS/Kiro"}, payload: `{"hook_event_name":"stop"}`, want: "kiro-ide"},
		"an agent that nobody wrote yet":    {argv: []string{"goose"}, payload: `{"event":"stop"}`, want: "goose"},
		"no name":                           {payload: `{"hook_event_name":"stop"}`},
		"a flag is no name":                 {argv: []string{"--help"}, payload: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, ok := dialects.Identify(agent.NewHook(agent.Hook{Argv: tt.argv, Env: tt.env, Programs: tt.programs, Payload: []byte(tt.payload)}))
			require.Equal(t, tt.want != "", ok)
			if ok {
				require.Equal(t, tt.want, d.Surface())
			}
		})
	}
}

func TestForeignPayloadIsUnderstoodAndNotAnswered(t *testing.T) {
	t.Parallel()
	h := agent.NewHook(agent.Hook{
		Argv: []string{"claude-code"}, Dir: "/tmp",
		Payload: []byte(`{"conversation_id":"c1","cursor_version":"2.6","hook_event_name":"beforeSubmitPrompt","prompt":"hi","workspace_roots":["/srv/shop"]}`),
	})
	d, ok := dialects.Identify(h)
	require.True(t, ok)
	parsed := d.Parse(h)
	require.Len(t, parsed, 1)
	require.Equal(t, "c1", parsed[0].Event.GetSessionId())
	require.Equal(t, "/srv/shop", parsed[0].Dir)
	require.Equal(t, "hi", parsed[0].Event.GetBody().GetText().GetContent())
	require.Empty(t, d.Render(parsed[0].Want, "<notes>"))
}

func TestEveryDialectSurvivesAnyPayload(t *testing.T) {
	t.Parallel()
	hostile := []string{
		``, `null`, `[]`, `3`, `"x"`, `{`, `{}`, `{"hook_event_name":12}`, `{"hook_event_name":null,"session_id":{"a":1},"cwd":[]}`,
		`{"hook_event_name":"PostToolUse","tool_name":{},"tool_input":3,"tool_response":[[[{"result":[{"content":{"file":3}}]}]]],"duration_ms":"x"}`,
		`{"hook_event_name":"postToolUse","hook_events":[1,null,{"tool_response":true}]}`, `{"hook_events":{}}`,
		`{"hook_event_name":"UserPromptSubmit","prompt":{"a":1},"prompt_id":["x"]}`, "\x00\x00", "\xff\xfe", "\xfe\xff{",
	}
	for _, name := range dialects.Names() {
		d, ok := dialects.ByName(name)
		require.True(t, ok)
		for _, text := range hostile {
			for _, arg := range []string{"", "promptSubmit", "postToolUse", "agentStop", "other"} {
				h := agent.NewHook(agent.Hook{Argv: []string{name, arg}, Payload: []byte(text), Env: map[string]string{"USER_PROMPT": text}})
				for _, p := range d.Parse(h) {
					require.NotNil(t, p.Event.GetBody())
					require.NotEmpty(t, p.Event.GetEventType())
				}
			}
		}
	}
}
