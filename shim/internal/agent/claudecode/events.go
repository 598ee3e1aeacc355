package claudecode

import (
	"google.golang.org/protobuf/proto"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/agent"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/payload"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/tool"
)

// call is a payload with its event's name in the documented spelling.
type call struct {
	payload.Object
	name string
}

func (c call) parse() agent.Parsed {
	switch c.name {
	case "UserPromptSubmit":
		return agent.Prompt(c.lifecycle(eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_START), c.Text(keysPrompt...))
	case "PostToolUse":
		return c.toolUse(proto.Bool(true))
	case "PostToolUseFailure":
		return c.toolUse(proto.Bool(false))
	case "Stop":
		lifecycle := c.lifecycle(eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_END)
		return agent.Parsed{Event: agent.Text(eventv1.Kind_KIND_SESSION_SUMMARY, lifecycle, c.Text(keysAnswer...))}
	case "SessionStart":
		return c.sessionStart()
	case "PreCompact", "PostCompact":
		return c.compaction()
	case "SubagentStart", "SubagentStop":
		return c.subagent()
	}
	return c.note()
}

// lifecycle makes the message with the facts that any event can carry.
func (c call) lifecycle(t eventv1.LifecycleType) *eventv1.Lifecycle {
	return &eventv1.Lifecycle{
		Type:       t,
		SessionRef: c.Text(keysTranscript...),
		Model:      c.Text("model"),
		Metadata: agent.Labels(
			"source", c.Text("source"),
			"reason", c.Text("reason"),
			"trigger", c.Text("trigger"),
			"session_title", c.Text("session_title"),
			"stop_hook_active", c.Text("stop_hook_active"),
		),
	}
}

// toolUse makes the event of a finished call. There is a hook of its own for failures, so the
// kind of hook says how the call ended, unless the response itself says that it failed.
func (c call) toolUse(success *bool) agent.Parsed {
	response, _ := c.Lookup(keysResponse...)
	input, _ := c.Lookup(keysToolInput...)
	inner, _ := response.(map[string]any)
	result := payload.Object(inner)
	if stopped, known := result.Bool("interrupted"); known && stopped {
		success = proto.Bool(false)
	}
	if ok, known := result.Bool("success"); known {
		success = &ok
	}
	id := c.Text(keysToolUseID...)
	event := agent.Tool(tool.Call{
		Name:     c.Text(keysToolName...),
		Input:    input,
		Response: payload.Unwrap(response),
		Error:    c.Text("error"),
		Success:  success,
		Duration: agent.Duration(c.Object, result),
	}, id)
	agent.Label(event, "is_interrupt", c.Text("is_interrupt"), "mcp_server", tool.MCPServer(c.Text(keysToolName...)))
	return agent.Parsed{Event: event, DeliveryID: id}
}

func (c call) sessionStart() agent.Parsed {
	lifecycle := c.lifecycle(eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_START)
	lifecycle.PreviousSessionId = c.Text("previous_session_id")
	p := agent.Parsed{Event: agent.Text(eventv1.Kind_KIND_NOTE, lifecycle, ""), Want: agent.WantSessionStart}
	switch c.Text("source") {
	case "compact":
		p.Compaction = agent.CompactionDone
	case "resume":
		p.Event.EventType = "session.resumed"
	}
	return p
}

func (c call) compaction() agent.Parsed {
	lifecycle := c.lifecycle(eventv1.LifecycleType_LIFECYCLE_TYPE_COMPACTION)
	p := agent.Parsed{
		Event:      agent.Text(eventv1.Kind_KIND_NOTE, lifecycle, c.Text("compact_summary", "custom_instructions")),
		Compaction: agent.CompactionBegins,
	}
	if c.name == "PostCompact" {
		p.Compaction = agent.CompactionDone
	}
	return p
}

func (c call) subagent() agent.Parsed {
	t, text := eventv1.LifecycleType_LIFECYCLE_TYPE_SUBAGENT_START, c.Text(keysPrompt...)
	if c.name == "SubagentStop" {
		t, text = eventv1.LifecycleType_LIFECYCLE_TYPE_SUBAGENT_END, c.Text(keysAnswer...)
	}
	lifecycle := c.lifecycle(t)
	lifecycle.SubagentId = c.Text("agent_id", "subagent_id")
	lifecycle.SubagentType = c.Text("agent_type", "subagent_type")
	lifecycle.ToolUseId = c.Text(keysToolUseID...)
	lifecycle.TaskDescription = c.Text("description", "task_description", "task")
	if ref := c.Text("agent_transcript_path"); ref != "" {
		lifecycle.SessionRef = ref
	}
	return agent.Parsed{Event: agent.Text(eventv1.Kind_KIND_NOTE, lifecycle, text), DeliveryID: lifecycle.GetSubagentId()}
}

// notes lists the events whose type differs from that of any other note.
var notes = map[string]string{
	"PreToolUse":        "tool.call.invocation",
	"PermissionRequest": "policy.constraint",
	"PermissionDenied":  "policy.denial",
	"MessageDisplay":    "ui.display.update",
}

func (c call) note() agent.Parsed {
	var lifecycle *eventv1.Lifecycle
	switch c.name {
	case "SessionEnd":
		lifecycle = c.lifecycle(eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_END)
		return agent.Parsed{Event: agent.Text(eventv1.Kind_KIND_NOTE, lifecycle, "")}
	case "StopFailure":
		lifecycle = c.lifecycle(eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_END)
	}
	text := agent.NoteText(c.Object)
	if c.name == "PreToolUse" {
		text = c.Text(keysToolName...)
	}
	p := agent.Parsed{Event: agent.Text(eventv1.Kind_KIND_NOTE, lifecycle, text), DeliveryID: c.Text(keysToolUseID...)}
	if t, ok := notes[c.name]; ok {
		p.Event.EventType = t
	}
	agent.Label(p.Event, "notification_type", c.Text("notification_type"))
	return p
}
