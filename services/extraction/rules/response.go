package rules

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// response is what a tool answered, whatever shape the agent gives it.
type response struct {
	text    strings.Builder
	exit    int
	hasExit bool
	success tristate
	// interrupted: the user stopped the tool; it neither failed nor worked.
	interrupted bool
}

// tristate is yes, no or not said.
type tristate int

const (
	unsaid tristate = iota
	yes
	no
)

func toTristate(b bool) tristate {
	if b {
		return yes
	}
	return no
}

// responseTextKeys are the fields that hold words, in the order in which they are read.
var responseTextKeys = []string{"error", "stderr", "stdout", "output", "text", "content", "result", "message", "llmContent", "tool_output"}

// exitKeys are the fields that hold an exit status, as a number or in a string.
var exitKeys = []string{"exit_code", "exitCode", "exit_status", "exitStatus", "returncode", "return_code"}

const (
	responseDepth = 4
	responseItems = 16
)

// readResponse reads a string, a list, an object such as {stdout, stderr} or {success, result: […]}, or nothing.
func readResponse(v *structpb.Value) *response {
	r := &response{}
	r.read(v, 0)
	return r
}

func (r *response) read(v *structpb.Value, depth int) {
	if depth > responseDepth {
		return
	}
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		if inner := embedded(kind.StringValue); inner != nil && depth < 2 {
			r.read(inner, depth+1)
			return
		}
		r.addText(kind.StringValue)
	case *structpb.Value_ListValue:
		for i, item := range kind.ListValue.GetValues() {
			if i == responseItems {
				return
			}
			r.read(item, depth+1)
		}
	case *structpb.Value_StructValue:
		r.readFields(kind.StructValue.GetFields(), depth)
	}
}

func (r *response) readFields(fields map[string]*structpb.Value, depth int) {
	for _, key := range exitKeys {
		if code, ok := number(fields[key]); ok {
			r.exit, r.hasExit = code, true
		}
	}
	if b, ok := fields["success"].GetKind().(*structpb.Value_BoolValue); ok {
		r.success = toTristate(b.BoolValue)
	}
	for _, key := range []string{"is_error", "isError"} {
		if fields[key].GetBoolValue() {
			r.success = no
		}
	}
	r.interrupted = r.interrupted || fields["interrupted"].GetBoolValue()
	for _, key := range responseTextKeys {
		if v, ok := fields[key]; ok {
			r.read(v, depth+1)
		}
	}
}

func (r *response) addText(s string) {
	if s == "" || r.text.Len() > 2*scanLimit {
		return
	}
	if r.text.Len() > 0 {
		r.text.WriteByte('\n')
	}
	r.text.WriteString(ends(s))
	if r.hasExit {
		return
	}
	if code, ok := exitInText(s); ok {
		r.exit, r.hasExit = code, true
	}
}

// maxEmbedded bounds the JSON in a string that is decoded.
const maxEmbedded = 64 << 10

// embedded decodes an object that an agent gives as JSON in a string; nil when the string is none.
func embedded(s string) *structpb.Value {
	if len(s) > maxEmbedded || !strings.HasPrefix(s, "{\"") || !strings.HasSuffix(s, "}") {
		return nil
	}
	v := &structpb.Value{}
	if err := v.UnmarshalJSON([]byte(s)); err != nil {
		return nil
	}
	return v
}

func number(v *structpb.Value) (int, bool) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		if kind.NumberValue >= -1e9 && kind.NumberValue <= 1e9 {
			return int(kind.NumberValue), true
		}
	case *structpb.Value_StringValue:
		if len(kind.StringValue) < 12 {
			code, err := strconv.Atoi(strings.TrimSpace(kind.StringValue))
			return code, err == nil
		}
	}
	return 0, false
}

// exitInText finds "Exit code 1" in the first or last line, where agents that only give text write it.
func exitInText(s string) (int, bool) {
	s = strings.TrimSpace(s)
	first, _, _ := strings.Cut(s, "\n")
	last := s[strings.LastIndexByte(s, '\n')+1:]
	for _, line := range []string{last, first} {
		rest, ok := cutFold(strings.TrimSpace(head(line, 64)), "exit code")
		if !ok {
			continue
		}
		if code, err := strconv.Atoi(strings.Trim(rest, " :=.")); err == nil {
			return code, true
		}
	}
	return 0, false
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// toolBody gives the parts of a tool event's canonical body; a body of another shape is the response.
func toolBody(ev *eventv1.Event) (name string, input map[string]*structpb.Value, answer *structpb.Value) {
	data := ev.GetBody().GetJson().GetData()
	fields := data.GetStructValue().GetFields()
	if fields == nil {
		if data == nil {
			return "", nil, structpb.NewStringValue(bodyText(ev, ""))
		}
		return "", nil, data
	}
	return fields["tool_name"].GetStringValue(), fields["tool_input"].GetStructValue().GetFields(), fields["tool_response"]
}

// bodyText is an event's text. Of a conversation it is the last turn of the role, or the last of all.
func bodyText(ev *eventv1.Event, role string) string {
	switch body := ev.GetBody().GetBody().(type) {
	case *eventv1.Body_Text:
		return body.Text.GetContent()
	case *eventv1.Body_Message:
		turns := body.Message.GetTurns()
		for i := len(turns) - 1; i >= 0; i-- {
			if turns[i].GetRole() == role || role == "" {
				return turns[i].GetContent()
			}
		}
	case *eventv1.Body_Json:
		data := body.Json.GetData()
		if s := data.GetStringValue(); s != "" {
			return s
		}
		fields := data.GetStructValue().GetFields()
		for _, key := range []string{"content", "text", "prompt", "message", "response"} {
			if s := fields[key].GetStringValue(); s != "" {
				return s
			}
		}
	}
	return ""
}
