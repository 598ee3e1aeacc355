package agent

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/kiroku-dev/kiroku/proto/event"
	"github.com/kiroku-dev/kiroku/proto/eventtype"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/payload"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/tool"
)

// UnknownTool is the name in the body of a tool event whose agent gave none.
const UnknownTool = "unknown"

// maxLabel is the longest value of a label, in bytes: labels are facts, not content.
const maxLabel = 512

// Labels makes the labels of an event from pairs of key and value, leaving out empty values.
func Labels(pairs ...string) map[string]string {
	labels := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if value := pairs[i+1]; value != "" && len(value) <= maxLabel {
			labels[pairs[i]] = value
		}
	}
	if len(labels) == 0 {
		return nil
	}
	return labels
}

// TextBody makes a body of plain text.
func TextBody(content string) *eventv1.Body {
	return &eventv1.Body{Body: &eventv1.Body_Text{Text: &eventv1.TextBody{Content: content}}}
}

// Text makes an event with a text body and the default type of its kind and place in life. A
// note without words of its own says what happened.
func Text(kind eventv1.Kind, lifecycle *eventv1.Lifecycle, content string) *eventv1.Event {
	if kind == eventv1.Kind_KIND_NOTE && content == "" {
		content = event.MarkerText(lifecycle.GetType())
	}
	return &eventv1.Event{
		Kind:      kind,
		EventType: eventtype.Default(kind, lifecycle.GetType()),
		Lifecycle: lifecycle,
		Body:      TextBody(content),
	}
}

// Tool makes the event of a finished tool call. The body is what the agent gave, under the
// names tool_name, tool_input and tool_response; callID may be empty.
func Tool(call tool.Call, callID string) *eventv1.Event {
	facts := tool.Facts(call)
	response := call.Response
	if response == nil {
		response = responseOfFailure(call)
	}
	input := call.Input
	if input == nil {
		input = map[string]any{}
	}
	name := call.Name
	if name == "" {
		name = UnknownTool
	}
	ev := &eventv1.Event{
		Kind:      eventv1.Kind_KIND_TOOL_USE,
		EventType: toolType(facts),
		Tool:      facts,
		Body: &eventv1.Body{Body: &eventv1.Body_Json{Json: &eventv1.JsonBody{Data: payload.Value(map[string]any{
			"tool_name": name, "tool_input": payload.Unwrap(input), "tool_response": response,
		})}}},
		Missing: tool.Missing(call, callID, facts),
	}
	Label(ev, "tool_use_id", callID)
	return ev
}

// responseOfFailure keeps the error of a call that has no response in the body.
func responseOfFailure(call tool.Call) map[string]any {
	response := map[string]any{}
	if call.Error != "" {
		response["error"] = call.Error
		response["success"] = false
	}
	return response
}

func toolType(facts *eventv1.ToolFacts) string {
	switch {
	case facts.GetClass() == eventv1.ToolClass_TOOL_CLASS_MCP:
		return "mcp.tool.result"
	case facts.Success != nil && !facts.GetSuccess():
		return "tool.execution.failed"
	}
	return "tool.call.result"
}

// Label adds labels to an event, as pairs of key and value; empty values are left out.
func Label(ev *eventv1.Event, pairs ...string) {
	labels := Labels(pairs...)
	if labels == nil {
		return
	}
	if ev.GetMetadata() == nil {
		ev.Metadata = &eventv1.Metadata{}
	}
	if ev.GetMetadata().GetLabels() == nil {
		ev.Metadata.Labels = map[string]string{}
	}
	maps.Copy(ev.GetMetadata().GetLabels(), labels)
}

// Correlate names the turn that an event belongs to, by the agent's own id; "" for none.
func Correlate(ev *eventv1.Event, id string) {
	if id == "" || len(id) > maxLabel {
		return
	}
	if ev.GetMetadata() == nil {
		ev.Metadata = &eventv1.Metadata{}
	}
	ev.Metadata.CorrelationId = id
}

// NoteText finds the words in a payload that nobody has a special use for.
func NoteText(o payload.Object) string {
	for _, name := range []string{"message", "text", "content", "prompt", "summary", "compact_summary", "last_assistant_message", "error", "reason", "path", "file_path"} {
		if text := o.Text(name); text != "" {
			return text
		}
	}
	return ""
}

// Duration reads the length of a call from any of the fields that agents use, in milliseconds.
func Duration(objects ...payload.Object) time.Duration {
	for _, o := range objects {
		for _, name := range []string{"duration_ms", "durationMs", "total_duration_ms", "totalDurationMs"} {
			if ms, ok := o.Number(name); ok && ms > 0 && ms < math.MaxInt32 {
				return time.Duration(ms * float64(time.Millisecond))
			}
		}
	}
	return 0
}

// MarkProblems notes in the labels what had to be overlooked in the payload.
func MarkProblems(ev *eventv1.Event, p payload.Problems) {
	Label(ev, "payload_cut", onlyTrue(p.Cut), "payload_repaired", onlyTrue(p.Repaired), "payload_tail", onlyTrue(p.Tail))
}

func onlyTrue(b bool) string {
	if !b {
		return ""
	}
	return strconv.FormatBool(b)
}

// FirstOf returns the first text that is not empty.
func FirstOf(texts ...string) string {
	if i := slices.IndexFunc(texts, func(s string) bool { return s != "" }); i >= 0 {
		return texts[i]
	}
	return ""
}
