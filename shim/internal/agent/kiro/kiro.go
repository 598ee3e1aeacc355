// Package kiro reads the JSON hooks that Kiro CLI and Kiro IDE have in common: the classic
// engine's, which carry no session id, and those of CLI v3 and IDE 1.x, which do.
package kiro

import (
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/agent"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/payload"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/tool"
)

// Spellings of the fields, the documented one first.
var (
	keysEvent    = []string{"hook_event_name", "hookEventName"}
	keysSession  = []string{"session_id", "sessionId"}
	keysToolName = []string{"tool_name", "toolName"}
	keysInput    = []string{"tool_input", "toolInput", "toolArgs"}
	keysResponse = []string{"tool_response", "toolResponse", "toolResult"}
	keysCallID   = []string{"tool_use_id", "toolUseId", "tool_call_id"}
	keysAnswer   = []string{"assistant_response", "last_assistant_message"}
)

// events maps both spellings of every event, the payload's and the trigger's, to one.
var events = map[string]string{
	"agentSpawn": "sessionStart", "AgentSpawn": "sessionStart", "sessionStart": "sessionStart", "SessionStart": "sessionStart",
	"sessionEnd": "sessionEnd", "SessionEnd": "sessionEnd",
	"userPromptSubmit": "userPromptSubmit", "UserPromptSubmit": "userPromptSubmit", "promptSubmit": "userPromptSubmit",
	"preToolUse": "preToolUse", "PreToolUse": "preToolUse",
	"postToolUse": "postToolUse", "PostToolUse": "postToolUse",
	"stop": "stop", "Stop": "stop", "agentStop": "stop",
}

// Reader reads JSON hooks.
type Reader struct {
	// EmptyStopIsNote: the agent's stop hook never has an answer, so one without marks the end
	// of a turn and is no summary.
	EmptyStopIsNote bool
}

// Parse reads a payload with one event, or with a list of deferred ones.
func (r Reader) Parse(h agent.Hook) []agent.Parsed {
	if h.Object == nil {
		return nil
	}
	var all []agent.Parsed
	for _, item := range h.Object.List("hook_events") {
		if obj, ok := item.(map[string]any); ok {
			all = append(all, r.one(h, inherit(obj, h.Object)))
		}
	}
	if len(all) > 0 {
		return all
	}
	return []agent.Parsed{r.one(h, h.Object)}
}

// inherit completes a deferred event with the fields of the call that carries it.
func inherit(obj, outer payload.Object) payload.Object {
	merged := payload.Object{}
	for key, v := range outer {
		if key != "hook_events" {
			merged[key] = v
		}
	}
	for key, v := range obj {
		merged[key] = v
	}
	return merged
}

func (r Reader) one(h agent.Hook, o payload.Object) agent.Parsed {
	name := o.Text(keysEvent...)
	p := r.event(o, events[name])
	p.Event.SessionId = o.Text(keysSession...)
	p.Dir = agent.FirstOf(o.Text("cwd"), h.Dir)
	agent.Label(p.Event, "hook_event", name)
	agent.MarkProblems(p.Event, h.Problems)
	return p
}

func (r Reader) event(o payload.Object, name string) agent.Parsed {
	switch name {
	case "sessionStart":
		lifecycle := Lifecycle(eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_START, o)
		return agent.Parsed{Event: agent.Text(eventv1.Kind_KIND_NOTE, lifecycle, ""), Want: agent.WantSessionStart}
	case "sessionEnd":
		lifecycle := Lifecycle(eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_END, o)
		return agent.Parsed{Event: agent.Text(eventv1.Kind_KIND_NOTE, lifecycle, "")}
	case "userPromptSubmit":
		return agent.Prompt(Lifecycle(eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_START, o), o.Text("prompt"))
	case "postToolUse":
		return toolUse(o)
	case "stop":
		return r.Stop(o, o.Text(keysAnswer...))
	case "preToolUse":
		event := agent.Text(eventv1.Kind_KIND_NOTE, nil, o.Text(keysToolName...))
		event.EventType = "tool.call.invocation"
		return agent.Parsed{Event: event, DeliveryID: o.Text(keysCallID...)}
	}
	return agent.Parsed{Event: agent.Text(eventv1.Kind_KIND_NOTE, nil, agent.NoteText(o))}
}

// Stop makes the event of a finished turn.
func (r Reader) Stop(o payload.Object, answer string) agent.Parsed {
	kind := eventv1.Kind_KIND_SESSION_SUMMARY
	if answer == "" && r.EmptyStopIsNote {
		kind = eventv1.Kind_KIND_NOTE
	}
	return agent.Parsed{Event: agent.Text(kind, Lifecycle(eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_END, o), answer)}
}

// Lifecycle makes the message with the facts that a payload may carry.
func Lifecycle(t eventv1.LifecycleType, o payload.Object) *eventv1.Lifecycle {
	return &eventv1.Lifecycle{
		Type:       t,
		SessionRef: o.Text("transcript_path"),
		Model:      o.Text("model"),
		Metadata:   agent.Labels("source", o.Text("source"), "reason", o.Text("reason")),
	}
}

func toolUse(o payload.Object) agent.Parsed {
	response, _ := o.Lookup(keysResponse...)
	input, _ := o.Lookup(keysInput...)
	id := o.Text(keysCallID...)
	inner, _ := response.(map[string]any)
	return agent.Parsed{
		DeliveryID: id,
		Event: agent.Tool(tool.Call{
			Name:     o.Text(keysToolName...),
			Input:    input,
			Response: payload.Unwrap(response),
			Error:    o.Text("error"),
			Duration: agent.Duration(o, inner),
		}, id),
	}
}
