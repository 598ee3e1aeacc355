package hook

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// scanAll feeds text in chunks of the given size and returns the bytes of the first value.
func scanAll(text string, chunk int) (*scanner, string) {
	var s scanner
	end := 0
	for end < len(text) && !s.done {
		piece := text[end:min(end+chunk, len(text))]
		end += s.feed([]byte(piece))
	}
	return &s, text[:end]
}

func TestScannerFindsTheEndAndTheEvent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, value, event string }{
		"object":          {`{"hook_event_name":"stop"} tail }`, `{"hook_event_name":"stop"}`, "stop"},
		"other spelling":  {`{"a":[1,{"b":2}],"hookEventName" : "Stop"}{"x":1}`, `{"a":[1,{"b":2}],"hookEventName" : "Stop"}`, "Stop"},
		"nested is not":   {`{"tool_input":{"hook_event_name":"x"},"hook_event_name":"y"}`, `{"tool_input":{"hook_event_name":"x"},"hook_event_name":"y"}`, "y"},
		"value is not":    {`{"prompt":"hook_event_name","a":"b"}`, `{"prompt":"hook_event_name","a":"b"}`, ""},
		"in an array":     {`{"l":["hook_event_name","x"],"hook_event_name":"z"}`, `{"l":["hook_event_name","x"],"hook_event_name":"z"}`, "z"},
		"not a string":    {`{"hook_event_name":7,"a":"b"}`, `{"hook_event_name":7,"a":"b"}`, ""},
		"first one":       {`{"hook_event_name":"a","hookEventName":"b"}`, `{"hook_event_name":"a","hookEventName":"b"}`, "a"},
		"braces quoted":   {`{"a":"}]{\"}\\"}x`, `{"a":"}]{\"}\\"}`, ""},
		"array":           {`[{"hook_event_name":"x"}] y`, `[{"hook_event_name":"x"}]`, ""},
		"string":          {`"a\"b" c`, `"a\"b"`, ""},
		"raw newline":     {"{\"a\":\"x\ny\x1b\"}\n", "{\"a\":\"x\ny\x1b\"}", ""},
		"wrong brackets":  {`{"a":1]}`, `{"a":1]`, ""},
		"long event name": {`{"hook_event_name":"` + strings.Repeat("e", 100) + `"}`, `{"hook_event_name":"` + strings.Repeat("e", 100) + `"}`, strings.Repeat("e", maxToken)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for chunk := 1; chunk <= len(tt.text); chunk++ {
				s, value := scanAll(tt.text, chunk)
				require.True(t, s.done)
				require.Equal(t, tt.value, value)
				require.Equal(t, tt.event, s.event)
			}
		})
	}
}

func TestScannerOfValuesWithoutAVisibleEnd(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"12 ", "null", "hello {}", "]x", "{\"a\":", `"open`, ""} {
		s, _ := scanAll(text, 3)
		require.False(t, s.done, text)
	}
	s, _ := scanAll("hello {}", 8)
	require.True(t, s.bare)
}

func TestScannerIsLinearOverEscapes(t *testing.T) {
	t.Parallel()
	s, value := scanAll(`{"a":"`+strings.Repeat(`\\\n`, 1<<20)+`"}`, 1<<20)
	require.True(t, s.done)
	require.Len(t, value, 4<<20+8)
}

func TestLeadingMarks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text  string
		skip  int
		order byteOrder
		known bool
	}{
		"none":              {"{", 0, utf8Bytes, true},
		"two and blanks":    {"\xef\xbb\xbf\xef\xbb\xbf\r\n {", 9, utf8Bytes, true},
		"half a mark":       {"\xef\xbb", 0, utf8Bytes, false},
		"mark alone":        {"\xef\xbb\xbf", 3, utf8Bytes, false},
		"another character": {"\xef\xbc\x81", 0, utf8Bytes, true},
		"little endian":     {"\xff\xfe{\x00", 0, littleEndian, true},
		"big endian":        {"\xfe\xff\x00{", 0, bigEndian, true},
		"half of that":      {"\xff", 0, utf8Bytes, false},
		"stray byte":        {"\xff{", 0, utf8Bytes, true},
		"empty":             {"", 0, utf8Bytes, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			skip, order, known := leadingMarks([]byte(tt.text))
			require.Equal(t, tt.skip, skip)
			require.Equal(t, tt.order, order)
			require.Equal(t, tt.known, known)
		})
	}
}

func encodeUTF16(text string, order byteOrder) []byte {
	var b []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		if order == bigEndian {
			b = append(b, byte(unit>>8), byte(unit))
		} else {
			b = append(b, byte(unit), byte(unit>>8))
		}
	}
	return b
}

func TestScannerOfUTF16(t *testing.T) {
	t.Parallel()
	const value = `{"hook_event_name":"stop","p":"記録 } ∢"}`
	for _, order := range []byteOrder{littleEndian, bigEndian} {
		var s scanner
		whole := encodeUTF16(value, order)
		n := s.feedUTF16(append(whole, 'x', 0, 0, 'x'), order)
		require.True(t, s.done)
		require.Equal(t, len(whole), n)
		require.Equal(t, "stop", s.event)
	}
}

func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`{"hook_event_name":"stop"} tail`, `[[["\\\""]]]`, `{"a":"}"}{`, "\"\\", "{}", "nul", `{"hookName":"` + "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, value := scanAll(string(data), len(data)+1)
		bytewise, same := scanAll(string(data), 1)
		require.Equal(t, value, same)
		require.Equal(t, whole.event, bytewise.event)
		trimmed := bytes.TrimLeft(data, " \t\r\n")
		if len(trimmed) == 0 || !bytes.ContainsAny(trimmed[:1], `{["`) {
			return
		}
		decoder := json.NewDecoder(bytes.NewReader(data))
		var raw json.RawMessage
		if decoder.Decode(&raw) == nil {
			require.True(t, whole.done)
			require.Equal(t, decoder.InputOffset(), int64(len(value)))
		}
	})
}
