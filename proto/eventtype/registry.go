package eventtype

import eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"

// Short names keep the table readable. A tool_use is a finished call, so types that mark the start of one are notes.
const (
	prompt  = eventv1.Kind_KIND_PROMPT
	toolUse = eventv1.Kind_KIND_TOOL_USE
	summary = eventv1.Kind_KIND_SESSION_SUMMARY
	note    = eventv1.Kind_KIND_NOTE
)

// v1 is the first version of every payload.
var v1 = Version{Major: 1, Minor: 0}

var categories = []Category{
	Session, Agent, Tool, Model, UI, Policy, Context, SelfObservation, ToolCalling, ToolAuthoring, ToolImprovement, MCP,
}

var registry = []Type{
	{Name: "session.created", Category: Session, Kind: note, Version: v1},
	{Name: "session.resumed", Category: Session, Kind: note, Version: v1},
	{Name: "session.paused", Category: Session, Kind: note, Version: v1},
	{Name: "session.completed", Category: Session, Kind: note, Version: v1},
	{Name: "session.failed", Category: Session, Kind: note, Version: v1},
	{Name: "session.cancelled", Category: Session, Kind: note, Version: v1},

	{Name: "agent.thinking", Category: Agent, Kind: note, Version: v1},
	{Name: "agent.decision", Category: Agent, Kind: note, Version: v1},
	{Name: "agent.tool_invocation", Category: Agent, Kind: note, Version: v1},

	{Name: "tool.execution.started", Category: Tool, Kind: note, Version: v1},
	{Name: "tool.execution.completed", Category: Tool, Kind: toolUse, Version: v1},
	{Name: "tool.execution.failed", Category: Tool, Kind: toolUse, Version: v1},

	{Name: "model.request", Category: Model, Kind: note, Version: v1},
	{Name: "model.response", Category: Model, Kind: summary, Version: v1},
	{Name: "model.stream.delta", Category: Model, Kind: note, Version: v1},

	{Name: "ui.user.input", Category: UI, Kind: prompt, Version: v1},
	{Name: "ui.display.update", Category: UI, Kind: note, Version: v1},
	{Name: "ui.action", Category: UI, Kind: note, Version: v1},

	{Name: "policy.approval", Category: Policy, Kind: note, Version: v1},
	{Name: "policy.denial", Category: Policy, Kind: note, Version: v1},
	{Name: "policy.constraint", Category: Policy, Kind: note, Version: v1},

	{Name: "context.window.updated", Category: Context, Kind: note, Version: v1},
	{Name: "context.state.changed", Category: Context, Kind: note, Version: v1},

	{Name: "agent.self_observed", Category: SelfObservation, Kind: note, Version: v1},
	{Name: "agent.pattern_detected", Category: SelfObservation, Kind: note, Version: v1},

	{Name: "tool.call.invocation", Category: ToolCalling, Kind: note, Version: v1},
	{Name: "tool.call.result", Category: ToolCalling, Kind: toolUse, Version: v1},

	{Name: "tool.authored.proposed", Category: ToolAuthoring, Kind: note, Version: v1},
	{Name: "tool.authored.created", Category: ToolAuthoring, Kind: note, Version: v1},
	{Name: "tool.authored.rejected", Category: ToolAuthoring, Kind: note, Version: v1},

	{Name: "tool.improvement.suggested", Category: ToolImprovement, Kind: note, Version: v1},
	{Name: "tool.improvement.auto_created", Category: ToolImprovement, Kind: note, Version: v1},
	{Name: "tool.improvement.auto_improved", Category: ToolImprovement, Kind: note, Version: v1},

	{Name: "mcp.connected", Category: MCP, Kind: note, Version: v1},
	{Name: "mcp.disconnected", Category: MCP, Kind: note, Version: v1},
	{Name: "mcp.tools_discovered", Category: MCP, Kind: note, Version: v1},
	{Name: "mcp.tool.invocation", Category: MCP, Kind: note, Version: v1},
	{Name: "mcp.tool.result", Category: MCP, Kind: toolUse, Version: v1},
	{Name: "mcp.server.started", Category: MCP, Kind: note, Version: v1},
	{Name: "mcp.server.stopped", Category: MCP, Kind: note, Version: v1},
	{Name: "mcp.server.tool.invocation", Category: MCP, Kind: note, Version: v1},
	{Name: "mcp.server.tool.result", Category: MCP, Kind: toolUse, Version: v1},
	{Name: "mcp.tool.registered", Category: MCP, Kind: note, Version: v1},
	{Name: "mcp.tool.unregistered", Category: MCP, Kind: note, Version: v1},
	{Name: "mcp.tool.state_changed", Category: MCP, Kind: note, Version: v1},
	{Name: "mcp.search", Category: MCP, Kind: note, Version: v1},
	{Name: "mcp.search.result", Category: MCP, Kind: note, Version: v1},
	{Name: "mcp.error", Category: MCP, Kind: note, Version: v1},

	{Name: "session.attestation", Category: Session, Kind: note, Version: v1, Extra: true},
	{Name: "memory.operation", Category: Memory, Kind: note, Version: v1, Extra: true},
	{Name: "memory.stored", Category: Memory, Kind: note, Version: v1, Extra: true},
	{Name: "memory.fallback", Category: Memory, Kind: note, Version: v1, Extra: true},
	{Name: "memory.retrieved", Category: Memory, Kind: note, Version: v1, Extra: true},
	{Name: "memory.updated", Category: Memory, Kind: note, Version: v1, Extra: true},
	{Name: "memory.type", Category: Memory, Kind: note, Version: v1, Extra: true},
	{Name: "memory.shared", Category: Memory, Kind: note, Version: v1, Extra: true},
	{Name: "memory.search", Category: Memory, Kind: note, Version: v1, Extra: true},
	{Name: "memory.search.result", Category: Memory, Kind: note, Version: v1, Extra: true},
}

// index finds a type's place in the registry by name.
var index = func() map[string]int {
	byName := make(map[string]int, len(registry))
	for i, t := range registry {
		byName[t.Name] = i
	}
	return byName
}()

// newestMajor is the highest major version of any payload that this build knows.
var newestMajor = func() int {
	newest := 0
	for _, t := range registry {
		newest = max(newest, t.Version.Major)
	}
	return newest
}()
