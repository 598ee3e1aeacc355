// Package eventtype is the registry of fine event types: dotted names such as "tool.call.result", each with its
// category, the kind it usually has and the current version of its payload.
//
// The registry is data. It holds 48 published types in 12 categories, and 10 extra ones that later writers of the same
// model use: they are accepted and marked, so that their events can be stored beside the others.
package eventtype

import (
	"slices"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// Category is a group of event types.
type Category string

// The 12 categories of the published types, and Memory, which holds extra types only.
const (
	Session         Category = "session"
	Agent           Category = "agent"
	Tool            Category = "tool"
	Model           Category = "model"
	UI              Category = "ui"
	Policy          Category = "policy"
	Context         Category = "context"
	SelfObservation Category = "self_observation"
	ToolCalling     Category = "tool_calling"
	ToolAuthoring   Category = "tool_authoring"
	ToolImprovement Category = "tool_improvement"
	MCP             Category = "mcp"

	Memory Category = "memory"
)

// Type is one event type.
type Type struct {
	// Name is the dotted name, unique in the registry.
	Name string
	// Category is the group it is listed in. It is not always the name's first part: "agent.self_observed" is SelfObservation.
	Category Category
	// Kind is the kind that an event of this type has when nothing else is known.
	Kind eventv1.Kind
	// Version is the newest version of the payload that this build knows.
	Version Version
	// Extra marks the types outside the published 48.
	Extra bool
}

// Lookup returns the type with that exact name.
func Lookup(name string) (Type, bool) {
	i, ok := index[name]
	if !ok {
		return Type{}, false
	}
	return registry[i], true
}

// All returns every type, the 48 published ones by category in the published order, then the extras. The slice is the caller's.
func All() []Type { return slices.Clone(registry) }

// Categories returns the 12 categories of the published types in the published order. The slice is the caller's.
func Categories() []Category { return slices.Clone(categories) }

// Default returns the type of an event whose writer named none. It is empty for a kind that is not one of the four.
//
//	prompt                             ui.user.input
//	tool_use                           tool.call.result
//	session_summary                    model.response
//	note, session start                session.created
//	note, session end                  session.completed
//	note, turn end (an empty answer)   model.response
//	note, compaction                   context.window.updated
//	note, anything else                context.state.changed
func Default(kind eventv1.Kind, lifecycle eventv1.LifecycleType) string {
	switch kind {
	case eventv1.Kind_KIND_PROMPT:
		return "ui.user.input"
	case eventv1.Kind_KIND_TOOL_USE:
		return "tool.call.result"
	case eventv1.Kind_KIND_SESSION_SUMMARY:
		return "model.response"
	case eventv1.Kind_KIND_NOTE:
		return defaultOfNote(lifecycle)
	default:
		return ""
	}
}

func defaultOfNote(lifecycle eventv1.LifecycleType) string {
	switch lifecycle {
	case eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_START:
		return "session.created"
	case eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_END:
		return "session.completed"
	case eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_END:
		return "model.response"
	case eventv1.LifecycleType_LIFECYCLE_TYPE_COMPACTION:
		return "context.window.updated"
	default:
		return "context.state.changed"
	}
}
