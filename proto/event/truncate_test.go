package event_test

import (
	"fmt"
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

const pageMark = " [truncated by kiro-learn]"

// cut truncates and checks what must hold for every body: it fits, it is canonical, the input is as before, a second cut
// changes nothing, and a body that fitted is the very same one.
func cut(t require.TestingT, body *eventv1.Body, limit int) *eventv1.Body {
	before := proto.CloneOf(body)
	got, truncated := event.Truncate(body, limit)
	require.True(t, proto.Equal(before, body), "the input was changed")
	require.LessOrEqual(t, event.BodySize(got), limit)
	require.True(t, utf8.ValidString(canonical(t, got)))
	require.IsType(t, body.GetBody(), got.GetBody())
	if event.BodySize(before) > limit {
		require.True(t, truncated)
		require.True(t, event.Truncated(got), "a cut body is marked")
	}
	again, stillTruncated := event.Truncate(got, limit)
	require.Same(t, got, again)
	require.Equal(t, truncated, stillTruncated)
	return got
}

func fields(t require.TestingT, body *eventv1.Body) map[string]any {
	m, ok := body.GetJson().GetData().AsInterface().(map[string]any)
	require.True(t, ok)
	return m
}

func TestTruncateLeavesWhatFits(t *testing.T) {
	t.Parallel()
	body := textBody(strings.Repeat("a", event.MinBodyLimit-len(`{"content":"","type":"text"}`)))
	require.Equal(t, event.MinBodyLimit, event.BodySize(body))
	got, truncated := event.Truncate(body, event.MinBodyLimit)
	require.Same(t, body, got)
	require.False(t, truncated)
	_, truncated = event.Truncate(nil, 1)
	require.False(t, truncated)
}

func TestTruncateRecognisesEarlierCuts(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{pageMark, " " + event.TruncationMark} {
		for _, body := range []*eventv1.Body{
			textBody("start" + mark),
			messageBody(turn("user", "start"+mark), turn("assistant", "ok")),
			data(t, map[string]any{"tool_response": map[string]any{"result": []any{"start" + mark}}}),
		} {
			got, truncated := event.Truncate(body, event.RelayBodyLimit)
			require.Same(t, body, got)
			require.True(t, truncated)
		}
		// Cut again, it has one mark.
		long := cut(t, textBody(strings.Repeat("ab ", 400)+mark), 512).GetText().GetContent()
		require.Equal(t, 1, strings.Count(long, "truncated by"))
		require.True(t, strings.HasSuffix(long, " "+event.TruncationMark))
	}
}

func TestTruncateTextFillsTheLimitBetweenRunes(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]string{"ascii": "a", "two": "ß", "three": "記", "four": "😀", "escaped": "\n", "control": "\x01", "mixed": "a記\"😀\x00"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := strings.Repeat(unit, 2000/len(unit))
			for limit := event.MinBodyLimit; limit < event.MinBodyLimit+20; limit++ {
				got := cut(t, textBody(content), limit)
				head, ok := strings.CutSuffix(got.GetText().GetContent(), " "+event.TruncationMark)
				require.True(t, ok)
				require.True(t, strings.HasPrefix(content, head))
				require.Greater(t, event.BodySize(got), limit-6, "no more is lost than one rune's size")
			}
		})
	}
}

func TestTruncateJSONCutsTheResultFirst(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("line of output\n", 4000)
	input := map[string]any{"command": "make all", "note": strings.Repeat("n", 3000)}
	for name, result := range map[string]any{
		"string": big,
		"list":   []any{map[string]any{"exit_status": "0", "stdout": big, "stderr": "warning: x"}},
		"object": map[string]any{"stdout": big, "code": 7.0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := data(t, map[string]any{
				"tool_name": "execute_bash", "tool_input": input, "tool_response": map[string]any{"success": true, "result": result},
			})
			got := cut(t, body, 8<<10)
			m := fields(t, got)
			require.Equal(t, "execute_bash", m["tool_name"])
			require.Equal(t, input, m["tool_input"])
			require.Greater(t, event.BodySize(got), 8<<10-64, "the limit is used")
			text := fmt.Sprint(m["tool_response"])
			require.Contains(t, text, event.TruncationMark)
			require.Contains(t, text, "line of output")
			require.Contains(t, text, "success:true")
			switch name {
			case "list":
				require.Contains(t, text, "exit_status:0")
				require.Contains(t, text, "stderr:warning: x")
			case "object":
				require.Contains(t, text, "code:7")
			}
		})
	}
}

func TestTruncateJSONCutsAResponseThatIsNoObject(t *testing.T) {
	t.Parallel()
	note := strings.Repeat("n", 5000)
	body := data(t, map[string]any{
		"tool_name": "execute_bash", "tool_input": map[string]any{"note": note}, "tool_response": "Output:\n" + strings.Repeat("x", 9000),
	})
	m := fields(t, cut(t, body, 8<<10))
	require.Equal(t, map[string]any{"note": note}, m["tool_input"])
	require.Contains(t, m["tool_response"], "Output:\nxxx")
}

func TestTruncateJSONThenCutsTheLargestStrings(t *testing.T) {
	t.Parallel()
	body := data(t, map[string]any{
		"tool_name":     "fs_write",
		"tool_input":    map[string]any{"path": "a/b.go", "content": strings.Repeat("c", 600<<10), "note": strings.Repeat("n", 2000)},
		"tool_response": map[string]any{"success": true, "result": "Created the a/b.go file."},
	})
	got := cut(t, body, event.RelayBodyLimit)
	m := fields(t, got)
	require.Equal(t, "fs_write", m["tool_name"])
	input, ok := m["tool_input"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, "a/b.go", input["path"])
	require.Equal(t, strings.Repeat("n", 2000), input["note"])
	require.Contains(t, input["content"], "ccc "+event.TruncationMark)
	require.Equal(t, map[string]any{"success": true, "result": "Created the a/b.go file."}, m["tool_response"])
	require.Greater(t, event.BodySize(got), event.RelayBodyLimit-64)
}

func TestTruncateJSONCutsEqualStringsEqually(t *testing.T) {
	t.Parallel()
	m := fields(t, cut(t, data(t, map[string]any{"a": strings.Repeat("a", 9000), "b": strings.Repeat("b", 7000), "c": strings.Repeat("c", 900)}), 6000))
	require.Len(t, m["a"], len(m["b"].(string)))
	require.Equal(t, strings.Repeat("c", 900), m["c"])
}

func TestTruncateJSONLeavesOutItemsOfHugeContainers(t *testing.T) {
	t.Parallel()
	list := make([]any, 100_000)
	for i := range list {
		list[i] = fmt.Sprintf("src/file_%06d.go", i)
	}
	object := make(map[string]any)
	for i := range 20_000 {
		object[fmt.Sprintf("key_%06d", i)] = i
	}
	for name, v := range map[string]any{"list": list, "object": object} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response := data(t, map[string]any{"tool_name": "glob", "tool_input": map[string]any{"pattern": "**/*.go"}, "tool_response": map[string]any{"result": v}})
			got := cut(t, response, 64<<10)
			m := fields(t, got)
			require.Equal(t, "glob", m["tool_name"])
			require.Equal(t, map[string]any{"pattern": "**/*.go"}, m["tool_input"])
			require.Greater(t, event.BodySize(got), 63<<10)

			input := data(t, map[string]any{"tool_name": "glob", "tool_input": v, "tool_response": "ok"})
			got = cut(t, input, 64<<10)
			require.Equal(t, "glob", fields(t, got)["tool_name"])
			require.Equal(t, "ok", fields(t, got)["tool_response"])
			require.Greater(t, event.BodySize(got), 63<<10)
		})
	}
}

func TestTruncateJSONKeepsHugeToolNamesAndInputsReadable(t *testing.T) {
	t.Parallel()
	huge := map[string]any{}
	for i := range 2000 {
		huge[fmt.Sprint(i)] = strings.Repeat("v", 100)
	}
	got := cut(t, data(t, map[string]any{"tool_name": strings.Repeat("t", 1<<20), "tool_input": huge, "tool_response": huge, "other": huge}), 16<<10)
	m := fields(t, got)
	require.Contains(t, m["tool_name"], "ttt")
	input, ok := m["tool_input"].(map[string]any)
	require.True(t, ok)
	require.Greater(t, len(input), 30)
	for _, key := range []string{"tool_response", "other"} {
		part, ok := m[key].(map[string]any)
		require.True(t, ok, key)
		require.Greater(t, len(part), 30, key)
	}
}

func TestTruncateFlattensWhatIsNestedTooDeeply(t *testing.T) {
	t.Parallel()
	for _, wrap := range []func(*structpb.Value) *structpb.Value{
		func(v *structpb.Value) *structpb.Value {
			return structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewNumberValue(1), v}})
		},
		func(v *structpb.Value) *structpb.Value {
			return structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"k": v}})
		},
	} {
		v := structpb.NewStringValue("the bottom")
		for range event.MaxBodyDepth {
			v = wrap(v)
		}
		fits, truncated := event.Truncate(jsonBody(v), event.RelayBodyLimit)
		require.Same(t, v, fits.GetJson().GetData())
		require.False(t, truncated)

		for range 4000 {
			v = wrap(v)
		}
		before := proto.CloneOf(v)
		got, truncated := event.Truncate(jsonBody(v), event.RelayBodyLimit)
		require.True(t, truncated)
		require.True(t, proto.Equal(before, v))
		require.Contains(t, canonical(t, got), "the bottom")
		again, _ := event.Truncate(got, event.RelayBodyLimit)
		require.Same(t, got, again)
		require.LessOrEqual(t, event.BodySize(cut(t, jsonBody(v), 1024)), 1024)
	}
}

func TestTruncateMessageFromTheLastTurnBackwards(t *testing.T) {
	t.Parallel()
	first, second := strings.Repeat("a", 3000), strings.Repeat("b", 3000)
	got := cut(t, messageBody(turn("user", first), turn("assistant", second), turn("user", "and now?")), 5000)
	turns := got.GetMessage().GetTurns()
	require.Len(t, turns, 3)
	require.Equal(t, first, turns[0].GetContent())
	require.Contains(t, turns[1].GetContent(), "bbb "+event.TruncationMark)
	require.Equal(t, "and now?", event.Query(got), "a short question is still there")

	got = cut(t, messageBody(turn("user", first), turn("assistant", second), turn("user", strings.Repeat("c", 3000))), 5000)
	turns = got.GetMessage().GetTurns()
	require.Equal(t, first, turns[0].GetContent())
	require.Contains(t, turns[1].GetContent(), "bbb "+event.TruncationMark)
	require.Contains(t, turns[2].GetContent(), "ccc "+event.TruncationMark)
	require.Greater(t, len(turns[1].GetContent()), len(turns[2].GetContent()))
}

func TestTruncateMessageLeavesOutTurnsButNotTheQuery(t *testing.T) {
	t.Parallel()
	var turns []*eventv1.Turn
	for i := range 20_000 {
		turns = append(turns, turn("assistant", fmt.Sprintf("step %d", i)))
	}
	turns = append(turns, turn("user", "which step failed?"), turn("assistant", "thinking"))
	got := cut(t, messageBody(turns...), 64<<10)
	require.Equal(t, "which step failed?", event.Query(got))
	require.Equal(t, "step 0", got.GetMessage().GetTurns()[0].GetContent())
	require.Greater(t, event.BodySize(got), 63<<10)

	got = cut(t, messageBody(turn(strings.Repeat("r", 1<<20), strings.Repeat("q", 1<<20))), event.MinBodyLimit)
	require.Len(t, got.GetMessage().GetTurns(), 1)
	require.Contains(t, got.GetMessage().GetTurns()[0].GetContent(), "qqq")
}

// Cutting by steps would take minutes for these.
func TestTruncateHugeStrings(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("0123456789abcde\n", 64<<20/16)
	for _, body := range []*eventv1.Body{
		textBody(huge), data(t, map[string]any{"tool_response": map[string]any{"result": huge[:8<<20]}}),
	} {
		got, truncated := event.Truncate(body, event.RelayBodyLimit)
		require.True(t, truncated)
		require.InDelta(t, event.RelayBodyLimit, event.BodySize(got), 4)
	}
}

func TestTruncateAlwaysFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := bodies().Draw(t, "body")
		if rapid.Bool().Draw(t, "tool") {
			body = data(t, map[string]any{
				"tool_name": jsonValues(1).Draw(t, "name"), "tool_input": jsonValues(3).Draw(t, "input"),
				"tool_response": map[string]any{"result": jsonValues(3).Draw(t, "result"), "x": jsonValues(2).Draw(t, "x")},
			})
		}
		inflate(body, rapid.SampledFrom([]int{1, 10, 100}).Draw(t, "factor"))
		cut(t, body, rapid.IntRange(event.MinBodyLimit, 4000).Draw(t, "limit"))
	})
}

// inflate makes every string of a body that many times as long, since drawn strings are short.
func inflate(body *eventv1.Body, factor int) {
	switch shape := body.GetBody().(type) {
	case *eventv1.Body_Text:
		shape.Text.Content = strings.Repeat(shape.Text.GetContent(), factor)
	case *eventv1.Body_Message:
		for _, turn := range shape.Message.GetTurns() {
			turn.Content = strings.Repeat(turn.GetContent(), factor)
			turn.Role = strings.Repeat(turn.GetRole(), factor)
		}
	case *eventv1.Body_Json:
		inflateValue(shape.Json.GetData(), factor)
	}
}

func inflateValue(v *structpb.Value, factor int) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		kind.StringValue = strings.Repeat(kind.StringValue, factor)
	case *structpb.Value_ListValue:
		for _, child := range kind.ListValue.GetValues() {
			inflateValue(child, factor)
		}
	case *structpb.Value_StructValue:
		inflated := map[string]*structpb.Value{}
		for key, child := range kind.StructValue.GetFields() {
			inflateValue(child, factor)
			if !strings.HasPrefix(key, "tool_") && key != "result" {
				key = strings.Repeat(key, factor)
			}
			inflated[key] = child
		}
		kind.StructValue.Fields = inflated
	}
}

func FuzzTruncate(f *testing.F) {
	long := strings.Repeat("xyz ", 300)
	for _, seed := range []string{
		`{"type":"text","content":"` + long + `"}`,
		`{"type":"text","content":"` + long + `[truncated by kiro-learn]"}`,
		`{"type":"message","turns":[{"role":"user","content":"` + long + `"},{"role":"assistant","content":"` + long + `"}]}`,
		`{"type":"json","data":{"tool_name":"t","tool_input":{"a":"` + long + `"},"tool_response":{"result":["` + long + `",{"b":"` + long + `"}]}}}`,
		`{"type":"json","data":[` + strings.Repeat(`"a",`, 500) + `1]}`,
		`{"type":"json","data":{"` + long + `":{"` + long + `":1}}}`,
		`{"type":"json","data":` + strings.Repeat(`{"k":[`, 300) + strings.Repeat(`]}`, 300) + `}`,
	} {
		f.Add([]byte(seed), uint16(300))
	}
	f.Fuzz(func(t *testing.T, in []byte, limit uint16) {
		body, err := event.BodyFromJSON(in)
		if err != nil {
			return
		}
		cut(t, body, max(int(limit), event.MinBodyLimit))
	})
}
