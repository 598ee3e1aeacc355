// Package claudecode is the dialect of Claude Code, and of the agents that run its hook files.
package claudecode

import (
	"github.com/kiroku-dev/kiroku/shim/internal/agent"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/payload"
)

// Surface is the agent's name in events and on the hook's command line.
const Surface = "claude-code"

// Dialect implements agent.Dialect.
type Dialect struct {
	// Foreign is the surface of another agent that speaks this dialect; empty for Claude Code
	// itself. A foreign agent gets no answer: nothing is known of how it would read one.
	Foreign string
}

var _ agent.Dialect = Dialect{}

// Surface implements agent.Dialect.
func (d Dialect) Surface() string { return agent.FirstOf(d.Foreign, Surface) }

// Spellings of the fields, the documented one first.
var (
	keysEvent      = []string{"hook_event_name", "hookEventName", "hookName", "event"}
	keysSession    = []string{"session_id", "sessionId", "conversation_id", "conversationId", "thread_id"}
	keysDir        = []string{"cwd", "working_dir", "workingDirectory"}
	keysTranscript = []string{"transcript_path", "transcriptPath"}
	keysPromptID   = []string{"prompt_id", "promptId", "turn_id", "generation_id"}
	keysPrompt     = []string{"prompt", "user_prompt", "userPrompt"}
	keysToolName   = []string{"tool_name", "toolName"}
	keysToolInput  = []string{"tool_input", "toolInput", "tool_args", "toolArgs"}
	keysResponse   = []string{"tool_response", "toolResponse", "tool_result", "toolResult", "tool_output"}
	keysToolUseID  = []string{"tool_use_id", "toolUseId", "tool_call_id"}
	keysAnswer     = []string{"last_assistant_message", "lastAssistantMessage", "assistant_response"}
)

// Parse implements agent.Dialect.
func (d Dialect) Parse(h agent.Hook) []agent.Parsed {
	if h.Object == nil {
		return nil
	}
	c := call{Object: h.Object, name: eventName(h.Object)}
	p := c.parse()
	p.Event.SessionId = c.Text(keysSession...)
	p.Dir = agent.FirstOf(c.Text(keysDir...), firstRoot(c.Object), h.Env["CLAUDE_PROJECT_DIR"], h.Dir)
	if p.DeliveryID == "" {
		p.DeliveryID = c.Text(keysPromptID...)
	}
	agent.Label(p.Event,
		"hook_event", c.name,
		"prompt_id", c.Text(keysPromptID...),
		"permission_mode", c.Text("permission_mode"),
		"agent_id", c.Text("agent_id"),
		"agent_type", c.Text("agent_type"),
	)
	agent.Correlate(p.Event, c.Text(keysPromptID...))
	agent.MarkProblems(p.Event, h.Problems)
	return []agent.Parsed{p}
}

func eventName(o payload.Object) string {
	name := o.Text(keysEvent...)
	if known, ok := aliases[name]; ok {
		return known
	}
	return name
}

// aliases maps the spellings of agents that imitate these hooks.
var aliases = map[string]string{
	"sessionStart": "SessionStart", "session_start": "SessionStart",
	"sessionEnd": "SessionEnd", "session_end": "SessionEnd",
	"userPromptSubmit": "UserPromptSubmit", "user_prompt_submit": "UserPromptSubmit", "beforeSubmitPrompt": "UserPromptSubmit", "userPromptSubmitted": "UserPromptSubmit",
	"preToolUse": "PreToolUse", "pre_tool_use": "PreToolUse", "BeforeTool": "PreToolUse",
	"postToolUse": "PostToolUse", "post_tool_use": "PostToolUse", "AfterTool": "PostToolUse",
	"postToolUseFailure": "PostToolUseFailure", "post_tool_use_failure": "PostToolUseFailure",
	"stop": "Stop", "AfterAgent": "Stop", "agentStop": "Stop",
	"subagentStart": "SubagentStart", "subagentStop": "SubagentStop", "preCompact": "PreCompact", "PreCompress": "PreCompact",
}

// firstRoot is where agents without a working directory keep it.
func firstRoot(o payload.Object) string {
	for _, item := range o.List("workspace_roots", "workspaceRoots") {
		if root, ok := item.(string); ok {
			return root
		}
	}
	return ""
}
