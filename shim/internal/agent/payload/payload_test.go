package payload_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/agent/payload"
)

func utf16le(s string) []byte {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}

func TestDecodeIsLenient(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	cases := map[string]struct {
		in       []byte
		want     any
		problems payload.Problems
	}{
		"plain":                   {[]byte(`{"a":[1,true,null,"x"]}`), object{"a": []any{json.Number("1"), true, nil, "x"}}, payload.Problems{}},
		"two marks":               {[]byte("\xef\xbb\xbf\xef\xbb\xbf{\"conversation_id\":\"c1\"}"), object{"conversation_id": "c1"}, payload.Problems{}},
		"utf-16":                  {utf16le(`{"prompt":"grüße 😀"}`), object{"prompt": "grüße 😀"}, payload.Problems{}},
		"utf-16 without mark":     {utf16le(`{"p":"x"}`)[2:], object{"p": "x"}, payload.Problems{}},
		"tail":                    {[]byte("{\"a\":1}\r\nmore"), object{"a": json.Number("1")}, payload.Problems{Tail: true}},
		"crlf after":              {[]byte("{\"a\":1}\r\n"), object{"a": json.Number("1")}, payload.Problems{}},
		"lone surrogate":          {[]byte(`{"a":"x\ud83dy"}`), object{"a": "x\ufffdy"}, payload.Problems{Repaired: true}},
		"surrogate pair":          {[]byte(`{"a":"\uD83D\ude00"}`), object{"a": "😀"}, payload.Problems{}},
		"escaped NUL":             {[]byte(`{"a":"b\u0000c"}`), object{"a": "b\x00c"}, payload.Problems{}},
		"spelled-out escape":      {[]byte(`{"a":"\\u0000"}`), object{"a": `\u0000`}, payload.Problems{}},
		"bad UTF-8":               {[]byte("{\"prompt\":\"caf\xe9 au\"}"), object{"prompt": "caf\ufffd au"}, payload.Problems{Repaired: true}},
		"raw newline":             {[]byte("{\"a\":\"x\ny\x1bz\"}"), object{"a": "x\ny\x1bz"}, payload.Problems{Repaired: true}},
		"unescaped Windows path":  {[]byte(`{"a":"C:\Users\ana"}`), object{"a": `C:\Users\ana`}, payload.Problems{Repaired: true}},
		"keys differ by case":     {[]byte(`{"ID":"a","id":"b","Id":"c"}`), object{"ID": "a", "id": "b", "Id": "c"}, payload.Problems{}},
		"big integer":             {[]byte(`{"n":12345678901234567890}`), object{"n": json.Number("12345678901234567890")}, payload.Problems{}},
		"cut in a string":         {[]byte(`{"session_id":"s","prompt":"hel`), object{"session_id": "s", "prompt": "hel"}, payload.Problems{Cut: true}},
		"cut after a key":         {[]byte(`{"session_id":"s","pro`), object{"session_id": "s"}, payload.Problems{Cut: true}},
		"cut in a list":           {[]byte(`{"a":[1,{"b":2`), object{"a": []any{json.Number("1"), object{"b": json.Number("2")}}}, payload.Problems{Cut: true}},
		"trailing comma":          {[]byte(`{"a":1,}`), object{"a": json.Number("1")}, payload.Problems{}},
		"empty":                   {nil, nil, payload.Problems{Empty: true}},
		"only space and a mark":   {[]byte("\xef\xbb\xbf \r\n"), nil, payload.Problems{Empty: true}},
		"no JSON":                 {[]byte("hello"), nil, payload.Problems{Cut: true}},
		"not an object":           {[]byte(`"text"`), "text", payload.Problems{}},
		"concatenated second one": {[]byte(`{"a":1}{"a":2}`), object{"a": json.Number("1")}, payload.Problems{Tail: true}},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, problems := payload.Decode(tt.in)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.problems, problems)
		})
	}
}

func TestDeepNestingIsKeptAsText(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 20_000) + `"]"` + strings.Repeat("]", 20_000)
	v, problems := payload.Decode([]byte(`{"tool_response":` + deep + `,"cwd":"/srv"}`))
	require.Equal(t, payload.Problems{}, problems)
	obj := payload.Object(v.(map[string]any))
	require.Equal(t, "/srv", obj.Text("cwd"))

	inner, depth := obj["tool_response"], 0
	for list, ok := inner.([]any); ok; list, ok = inner.([]any) {
		inner, depth = list[0], depth+1
	}
	require.Equal(t, payload.MaxDepth-1, depth)
	require.Equal(t, deep[depth:len(deep)-depth], inner)
}

func TestObjectFields(t *testing.T) {
	t.Parallel()
	obj, _, ok := payload.DecodeObject([]byte(`{"sessionId":"camel","session_id":"snake","SESSION_ID":"no",
		"n":12,"f":"1.5","yes":"true","args":"{\"command\":\"ls\"}","patch":"*** Begin Patch","twice":"\"{}\"","list":[1]}`))
	require.True(t, ok)
	require.Equal(t, "snake", obj.Text("session_id", "sessionId"), "the proper spelling beats an alias")
	require.Empty(t, obj.Text("Session_Id"), "case is not folded")
	require.Equal(t, "12", obj.Text("n"))
	f, known := obj.Number("f")
	require.True(t, known)
	require.InDelta(t, 1.5, f, 0)
	_, known = obj.Number("patch")
	require.False(t, known)
	yes, known := obj.Bool("yes")
	require.True(t, known && yes)
	require.Equal(t, "ls", obj.Object("args").Text("command"))
	require.Nil(t, obj.Object("patch"))
	require.Equal(t, `"{}"`, payload.Unwrap(obj["twice"]), "text is read once, not again and again")
	require.Len(t, obj.List("list"), 1)
}

func TestValueKeepsDigits(t *testing.T) {
	t.Parallel()
	v, _ := payload.Decode([]byte(`{"id":12345678901234567890,"edge":9007199254740992,"neg":-9007199254740993,"huge":1e999,"pi":3.25,"list":[false,null]}`))
	got, err := json.Marshal(payload.Value(v).AsInterface())
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"12345678901234567890","edge":9007199254740992,"neg":"-9007199254740993","huge":"1e999","pi":3.25,"list":[false,null]}`, string(got))
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5e3,"x\u00e9\n"],"b":{"c":null}}`, "\xff\xfe{\x00}\x00", `{"a":"\ud83d`, `[[[[`, `{"a":tru`, "\xef\xbb\xbf[]x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, _ := payload.Decode(data)
		_ = payload.Value(got)
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		var want any
		if json.Valid(data) && !bytes.ContainsRune(data, 0) && decoder.Decode(&want) == nil && depth(want) < payload.MaxDepth {
			require.True(t, reflect.DeepEqual(want, got), "want %#v, got %#v", want, got)
		}
	})
}

func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			deepest = max(deepest, depth(item))
		}
		return deepest + 1
	case map[string]any:
		for _, item := range v {
			deepest = max(deepest, depth(item))
		}
		return deepest + 1
	}
	return 0
}
