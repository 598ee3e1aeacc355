package event

import (
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// Bytes of the canonical JSON around the parts that vary.
const (
	textFrame    = len(`{"content":,"type":"text"}`)
	messageFrame = len(`{"turns":[],"type":"message"}`)
	turnFrame    = len(`{"content":,"role":}`)
	jsonFrame    = len(`{"data":,"type":"json"}`)
	nullSize     = len("null")
)

// BodySize returns the length of the body's canonical JSON in bytes without building it. Where there is none, it counts
// an invalid byte of a string as the replacement character, and a number that is not finite or an unset value as null.
func BodySize(body *eventv1.Body) int {
	switch shape := body.GetBody().(type) {
	case *eventv1.Body_Text:
		return textFrame + stringSize(shape.Text.GetContent())
	case *eventv1.Body_Message:
		size := messageFrame
		for i, turn := range shape.Message.GetTurns() {
			size += turnSize(turn)
			if i > 0 {
				size++
			}
		}
		return size
	case *eventv1.Body_Json:
		return jsonFrame + valueSize(shape.Json.GetData())
	default:
		return nullSize
	}
}

func turnSize(turn *eventv1.Turn) int {
	return turnFrame + stringSize(turn.GetContent()) + stringSize(turn.GetRole())
}

func valueSize(v *structpb.Value) int {
	return measure(v, nil)
}

// measure returns the size of a value and, when sizes is not nil, notes that of every value within it.
func measure(v *structpb.Value, sizes map[*structpb.Value]int) int {
	size := nullSize
	switch kind := v.GetKind().(type) {
	case *structpb.Value_BoolValue:
		if !kind.BoolValue {
			size = len("false")
		}
	case *structpb.Value_NumberValue:
		size = numberSize(kind.NumberValue)
	case *structpb.Value_StringValue:
		size = stringSize(kind.StringValue)
	case *structpb.Value_ListValue:
		values := kind.ListValue.GetValues()
		size = containerFrame(len(values))
		for _, child := range values {
			size += measure(child, sizes)
		}
	case *structpb.Value_StructValue:
		fields := kind.StructValue.GetFields()
		size = containerFrame(len(fields))
		for key, child := range fields {
			size += stringSize(key) + len(":") + measure(child, sizes)
		}
	}
	if sizes != nil {
		sizes[v] = size
	}
	return size
}

// containerFrame is the size of the brackets and commas around n items.
func containerFrame(n int) int {
	return len("[]") + max(n-1, 0)
}

func numberSize(f float64) int {
	var room [32]byte
	b, err := appendNumber(room[:0], f)
	if err != nil {
		return nullSize
	}
	return len(b)
}

// stringSize is the size of a string in canonical JSON, with its quotes.
func stringSize(s string) int {
	size := len(`""`)
	for i := range len(s) {
		size += int(escapedSize[s[i]])
	}
	if !utf8.ValidString(s) {
		size += (len(string(utf8.RuneError)) - 1) * invalidBytes(s)
	}
	return size
}

// invalidBytes counts the bytes of s that belong to no valid UTF-8 sequence.
func invalidBytes(s string) int {
	n := 0
	for i := 0; i < len(s); {
		r, width := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && width == 1 {
			n++
		}
		i += width
	}
	return n
}
