package event_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/kiroku-dev/kiroku/proto/event"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

func textBody(content string) *eventv1.Body {
	return &eventv1.Body{Body: &eventv1.Body_Text{Text: &eventv1.TextBody{Content: content}}}
}

func messageBody(turns ...*eventv1.Turn) *eventv1.Body {
	return &eventv1.Body{Body: &eventv1.Body_Message{Message: &eventv1.MessageBody{Turns: turns}}}
}

func turn(role, content string) *eventv1.Turn { return &eventv1.Turn{Role: role, Content: content} }

func jsonBody(v *structpb.Value) *eventv1.Body {
	return &eventv1.Body{Body: &eventv1.Body_Json{Json: &eventv1.JsonBody{Data: v}}}
}

// data makes a json body of Go values.
func data(t require.TestingT, v any) *eventv1.Body {
	value, err := structpb.NewValue(v)
	require.NoError(t, err)
	return jsonBody(value)
}

func canonical(t require.TestingT, body *eventv1.Body) string {
	b, err := event.CanonicalBody(body)
	require.NoError(t, err)
	return string(b)
}

func TestCanonicalBodyHasThePublishedShape(t *testing.T) {
	t.Parallel()
	tool := map[string]any{"tool_name": "fs_read", "tool_response": []any{true, false, nil, 1}, "tool_input": map[string]any{"path": "a.go"}}
	for want, body := range map[string]*eventv1.Body{
		`{"content":"","type":"text"}`:                     textBody(""),
		`{"content":"use </b> & \"WAL\"\n","type":"text"}`: textBody("use </b> & \"WAL\"\n"),
		`{"turns":[],"type":"message"}`:                    messageBody(),
		`{"turns":[{"content":"why?","role":"user"},{"content":"so","role":"assistant"}],"type":"message"}`:               messageBody(turn("user", "why?"), turn("assistant", "so")),
		`{"data":{"tool_input":{"path":"a.go"},"tool_name":"fs_read","tool_response":[true,false,null,1]},"type":"json"}`: data(t, tool),
		`{"data":{},"type":"json"}`: data(t, map[string]any{}),
		`{"data":[],"type":"json"}`: data(t, []any{}),
	} {
		require.Equal(t, want, canonical(t, body)) // byte for byte
	}
}

// The numbers of RFC 8785, appendix B, by their IEEE bits, and the borders of ECMAScript's notations.
func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0",
		0x8000000000000000: "0",
		0x0000000000000001: "5e-324",
		0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308",
		0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000",
		0x444b1ae4d6e2ef4f: "999999999999999900000",
		0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
		0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332",
		0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334",
		0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		got := canonical(t, jsonBody(structpb.NewNumberValue(math.Float64frombits(bits))))
		require.Equal(t, `{"data":`+want+`,"type":"json"}`, got, "%016x", bits)
	}
	for f, want := range map[float64]string{1e-7: "1e-7", 1.5e-10: "1.5e-10", 1e100: "1e+100", 4.50: "4.5", 2e-3: "0.002", -1: "-1", 1e20: "100000000000000000000"} {
		require.Equal(t, `{"data":`+want+`,"type":"json"}`, canonical(t, jsonBody(structpb.NewNumberValue(f))))
	}
}

// The key order of RFC 8785, section 3.2.3: by UTF-16 code units, where U+1F600 (D83D DE00) comes before U+FB33.
func TestCanonicalKeyOrder(t *testing.T) {
	t.Parallel()
	keys := []string{"\u20ac", "\r", "\ufb33", "1", "\U0001F600", "\u0080", "\u00f6"}
	fields := map[string]any{}
	for _, key := range keys {
		fields[key] = true
	}
	want := `{"\r":true,"1":true,"` + "\u0080" + `":true,"ö":true,"€":true,"😀":true,"` + "\ufb33" + `":true}`
	require.Equal(t, `{"data":`+want+`,"type":"json"}`, canonical(t, data(t, fields)))

	want = `{"data":{"":1,"a":2,"aa":3,"b":4},"type":"json"}`
	require.Equal(t, want, canonical(t, data(t, map[string]any{"b": 4, "aa": 3, "a": 2, "": 1})))
}

func TestCanonicalEscapes(t *testing.T) {
	t.Parallel()
	want := `{"content":"\u0000\u0001\b\t\n\u000b\f\r\u001f \"\\/` + "\u007f\u2028\u2029😀" + `","type":"text"}`
	require.Equal(t, want, canonical(t, textBody("\x00\x01\b\t\n\v\f\r\x1f \"\\/\u007f\u2028\u2029😀")))
}

func TestCanonicalBodyRefuses(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]*eventv1.Body{
		"nil":           nil,
		"no shape":      {},
		"nan":           jsonBody(structpb.NewNumberValue(math.NaN())),
		"infinite":      jsonBody(structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewNumberValue(math.Inf(-1))}})),
		"no data":       jsonBody(nil),
		"unset value":   jsonBody(&structpb.Value{}),
		"bad text":      textBody("\xff"),
		"bad role":      messageBody(turn("\xc3(", "")),
		"bad content":   messageBody(turn("user", "a\xe2\x82")),
		"bad key":       jsonBody(structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"\xff": structpb.NewNullValue()}})),
		"bad surrogate": textBody("\xed\xa0\x80"),
	} {
		got, err := event.CanonicalBody(body)
		require.ErrorIs(t, err, event.ErrNotCanonical, name)
		require.Nil(t, got, name)
	}
}

func TestContentHash(t *testing.T) {
	t.Parallel()
	require.Equal(t, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", event.ContentHash(nil))
}

// jsonValues draws any JSON value as Go's encoding/json would decode it.
func jsonValues(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(),
		rapid.Custom(func(t *rapid.T) any {
			f := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
			if math.IsNaN(f) || math.IsInf(f, 0) {
				return float64(rapid.Int32().Draw(t, "int"))
			}
			return f
		}),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(jsonValues(depth-1), 0, 5).AsAny(),
		rapid.MapOfN(rapid.String(), jsonValues(depth-1), 0, 5).AsAny(),
	)...)
}

func bodies() *rapid.Generator[*eventv1.Body] {
	return rapid.Custom(func(t *rapid.T) *eventv1.Body {
		switch rapid.IntRange(0, 2).Draw(t, "shape") {
		case 0:
			return textBody(rapid.String().Draw(t, "content"))
		case 1:
			var turns []*eventv1.Turn
			for range rapid.IntRange(0, 6).Draw(t, "turns") {
				role := rapid.SampledFrom([]string{"user", "assistant", "system", ""}).Draw(t, "role")
				turns = append(turns, turn(role, rapid.String().Draw(t, "content")))
			}
			return messageBody(turns...)
		default:
			return data(t, jsonValues(3).Draw(t, "data"))
		}
	})
}

func TestCanonicalBodyProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := bodies().Draw(t, "body")
		b := canonical(t, body)
		require.True(t, json.Valid([]byte(b)))
		require.True(t, utf8.ValidString(b))
		require.Equal(t, len(b), event.BodySize(body))

		back, err := event.BodyFromJSON([]byte(b))
		require.NoError(t, err)
		require.Equal(t, b, canonical(t, back))

		wire, err := proto.Marshal(body)
		require.NoError(t, err)
		var again eventv1.Body
		require.NoError(t, proto.Unmarshal(wire, &again))
		require.Equal(t, b, canonical(t, &again), "the same bytes whatever the order of map keys")
	})
}

// BodySize must also be a bound for what has no canonical JSON, since Truncate decides by it.
func TestBodySizeCountsWhatIsNotCanonical(t *testing.T) {
	t.Parallel()
	require.Equal(t, len(`{"content":"`)+3*4+len(`a","type":"text"}`), event.BodySize(textBody("\xff\xc3\xe2\x82a")))
	require.Equal(t, len(`{"data":null,"type":"json"}`), event.BodySize(jsonBody(structpb.NewNumberValue(math.NaN()))))
	require.Equal(t, len(`{"data":null,"type":"json"}`), event.BodySize(jsonBody(nil)))
	require.Equal(t, 4, event.BodySize(nil))
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"type":"text","content":"a\u0000b\ud800"}`,
		`{"type":"message","turns":[{"role":"user","content":"q"}]}`,
		`{"type":"json","data":{"tool_name":"execute_bash","tool_input":{"command":"ls"},"tool_response":{"success":true,"result":[{"exit_status":"0","stdout":"a\nb"}]}}}`,
		`{"type":"json","data":{"😀":1e21,"\ufb33":-0.0,"":[1E-7,{}]}}`,
		`{"type":"json","data":1e400}`, `{"type":"json"}`, `{}`, `[]`, "\ufeff{}", strings.Repeat("[", 300),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		body, err := event.BodyFromJSON(in)
		if err != nil {
			require.ErrorIs(t, err, event.ErrBodyJSON)
			return
		}
		b := canonical(t, body)
		require.Equal(t, len(b), event.BodySize(body))
		back, err := event.BodyFromJSON([]byte(b))
		require.NoError(t, err)
		require.Equal(t, b, canonical(t, back), "canonical JSON is a fixed point")
	})
}

// toolEvent is the usual event of a tool, with a body of about 1 KB.
func toolEvent() *eventv1.Event {
	value, err := structpb.NewValue(map[string]any{
		"tool_name":  "execute_bash",
		"tool_input": map[string]any{"command": "go test ./internal/store/...", "summary": "run the tests of the store"},
		"tool_response": map[string]any{"success": true, "result": []any{map[string]any{
			"exit_status": "0", "stderr": "", "stdout": strings.Repeat("ok  \texample.com/app/internal/store\t0.412s\n", 20),
		}}},
	})
	if err != nil {
		panic(err)
	}
	ev := goodEvent()
	ev.Kind = eventv1.Kind_KIND_TOOL_USE
	ev.EventType = "tool.call.result"
	ev.Body = jsonBody(value)
	return ev
}

func BenchmarkCanonicalBody(b *testing.B) {
	body := toolEvent().GetBody()
	b.SetBytes(int64(event.BodySize(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := event.CanonicalBody(body); err != nil {
			b.Fatal(err)
		}
	}
}
