package event

import (
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

const (
	// TruncationMark ends a text that was cut; it is also the value of a list's or object's last item when items were left out.
	TruncationMark = "[truncated by kiroku]"
	// foreignMark is the mark of the published shims of the same wire format.
	foreignMark = "[truncated by kiro-learn]"
	// readable is the size that everything keeps while something larger can still give way.
	readable = 256
	// maxRole is the size of a turn's role.
	maxRole = 64
)

// Truncate returns a body whose canonical JSON has at most limit bytes, and whether content is missing from it: cut now,
// or marked as cut before. The body itself is not changed; what it shares with the result must not be changed either.
// When it fits, it is returned as it is. A limit below MinBodyLimit counts as MinBodyLimit.
//
// A text loses its end. A json body loses the end of tool_response.result first (a string, list or object, or
// tool_response itself when it is no object), then that of the largest other strings, then items of its lists and
// objects, tool_name and tool_input last. A message loses content from the last turn backwards, then whole turns, its
// query (the last user turn) last. Nothing goes below 256 bytes while something larger can give way. Texts are cut
// between runes and end in TruncationMark. Lists and objects nested deeper than MaxBodyDepth become their JSON text.
func Truncate(body *eventv1.Body, limit int) (*eventv1.Body, bool) {
	limit = max(limit, MinBodyLimit)
	if BodySize(body) <= limit && !tooDeep(body) {
		return body, Truncated(body)
	}
	switch shape := body.GetBody().(type) {
	case *eventv1.Body_Text:
		content := cutString(shape.Text.GetContent(), limit-textFrame)
		return &eventv1.Body{Body: &eventv1.Body_Text{Text: &eventv1.TextBody{Content: content}}}, true
	case *eventv1.Body_Message:
		turns := cutTurns(shape.Message.GetTurns(), limit)
		return &eventv1.Body{Body: &eventv1.Body_Message{Message: &eventv1.MessageBody{Turns: turns}}}, true
	case *eventv1.Body_Json:
		data := cutData(shape.Json.GetData(), limit-jsonFrame)
		return &eventv1.Body{Body: &eventv1.Body_Json{Json: &eventv1.JsonBody{Data: data}}}, true
	default:
		return body, false
	}
}

// Truncated reports whether content of the body is marked as cut, by this package or by the published shims.
func Truncated(body *eventv1.Body) bool {
	switch shape := body.GetBody().(type) {
	case *eventv1.Body_Text:
		return hasMark(shape.Text.GetContent())
	case *eventv1.Body_Message:
		for _, turn := range shape.Message.GetTurns() {
			if hasMark(turn.GetContent()) {
				return true
			}
		}
		return false
	case *eventv1.Body_Json:
		return valueHasMark(shape.Json.GetData())
	default:
		return false
	}
}

func valueHasMark(v *structpb.Value) bool {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return hasMark(kind.StringValue)
	case *structpb.Value_ListValue:
		for _, child := range kind.ListValue.GetValues() {
			if valueHasMark(child) {
				return true
			}
		}
	case *structpb.Value_StructValue:
		for _, child := range kind.StructValue.GetFields() {
			if valueHasMark(child) {
				return true
			}
		}
	}
	return false
}

func hasMark(s string) bool {
	return strings.HasSuffix(s, TruncationMark) || strings.HasSuffix(s, foreignMark)
}

// cutString returns s, or as much of it as has at most size bytes in canonical JSON together with its quotes and the
// mark. Where not even the mark fits it returns the empty string. A mark that s had is not kept within.
func cutString(s string, size int) string {
	if stringSize(s) <= size {
		return s
	}
	s = withoutMark(s)
	room := size - len(`""`) - len(" ") - len(TruncationMark)
	end := 0
	for end < len(s) {
		width, cost := 1, int(escapedSize[s[end]])
		if s[end] >= utf8.RuneSelf {
			width, cost = runeCost(s[end:])
		}
		if cost > room {
			break
		}
		room -= cost
		end += width
	}
	if end > 0 {
		return s[:end] + " " + TruncationMark
	}
	if size >= len(`""`)+len(TruncationMark) {
		return TruncationMark
	}
	return ""
}

// runeCost returns the width of the first rune of s and its size in canonical JSON.
func runeCost(s string) (width, cost int) {
	r, width := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && width == 1 {
		return 1, len(string(utf8.RuneError))
	}
	return width, width
}

func withoutMark(s string) string {
	for _, mark := range []string{TruncationMark, foreignMark} {
		if head, ok := strings.CutSuffix(s, mark); ok {
			return strings.TrimSuffix(head, " ")
		}
	}
	return s
}

// withMark marks a text as cut without cutting it.
func withMark(s string) string {
	switch {
	case hasMark(s):
		return s
	case s == "":
		return TruncationMark
	default:
		return s + " " + TruncationMark
	}
}
