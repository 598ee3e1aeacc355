// Package kiroide is the dialect of Kiro IDE: 0.x, whose hooks get an argument and an
// environment variable, and 1.x, whose hooks get JSON.
package kiroide

import (
	"google.golang.org/protobuf/proto"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/agent"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/kiro"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/payload"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/tool"
)

// Surface is the agent's name in events and on the hook's command line.
const Surface = "kiro-ide"

// PromptVariable is where version 0.x puts the prompt, or a tool call as JSON.
const PromptVariable = "USER_PROMPT"

// Dialect implements agent.Dialect.
type Dialect struct{}

var _ agent.Dialect = Dialect{}

// Surface implements agent.Dialect.
func (Dialect) Surface() string { return Surface }

// Parse implements agent.Dialect. JSON that names its event wins over the arguments; a call
// with neither is nothing.
func (Dialect) Parse(h agent.Hook) []agent.Parsed {
	reader := kiro.Reader{EmptyStopIsNote: true}
	if _, named := h.Object.Lookup("hook_event_name", "hookEventName"); named {
		return reader.Parse(h)
	}
	if h.Arg(1) == "" {
		return nil
	}
	text := h.Env[PromptVariable]
	p := parseArgument(reader, h.Arg(1), text)
	p.Dir = h.Dir
	agent.Label(p.Event, "hook_event", h.Arg(1))
	return []agent.Parsed{p}
}

func parseArgument(reader kiro.Reader, event, text string) agent.Parsed {
	switch event {
	case "promptSubmit":
		return agent.Prompt(kiro.Lifecycle(eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_START, nil), text)
	case "postToolUse":
		return toolUse(text)
	case "agentStop":
		return reader.Stop(nil, text)
	}
	return agent.Parsed{Event: agent.Text(eventv1.Kind_KIND_NOTE, nil, text)}
}

// toolUse reads a call of version 0.x. JSON that cannot be read still makes an event, with an
// unknown tool and whatever was there as the response.
func toolUse(text string) agent.Parsed {
	o, problems, ok := payload.DecodeObject([]byte(text))
	if !ok && text != "" {
		o = payload.Object{"toolResult": text}
	}
	call := tool.Call{Name: o.Text("toolName", "tool_name")}
	if input := o.Object("toolArgs", "tool_input"); input != nil {
		call.Input = map[string]any(input)
	}
	response := map[string]any{}
	if result, given := o.Lookup("toolResult", "tool_response"); given {
		response["result"] = result
	}
	if success, given := o.Lookup("toolSuccess"); given {
		response["success"] = success
	}
	if success, known := o.Bool("toolSuccess"); known {
		call.Success = proto.Bool(success)
	}
	call.Response = response
	p := agent.Parsed{Event: agent.Tool(call, "")}
	agent.MarkProblems(p.Event, problems)
	return p
}

// Render implements agent.Dialect: what a hook prints joins the context as it is.
func (Dialect) Render(want agent.Want, text string) []byte {
	if want == agent.WantNothing {
		return nil
	}
	return agent.Plain(text)
}
