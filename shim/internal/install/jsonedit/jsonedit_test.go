package jsonedit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/install/jsonedit"
)

type entry struct {
	Command string `json:"command"`
	Timeout int    `json:"timeout"`
}

var ours = entry{"x & y", 5}

func TestInsertionKeepsEveryOtherByteAndRemovalUndoesIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ before, after string }{
		"empty object":        {"{}\n", "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"command\": \"x & y\",\n        \"timeout\": 5\n      }\n    ]\n  }\n}\n"},
		"other members, tabs": {"{\n\t\"model\": \"m\"\n}", "{\n\t\"model\": \"m\",\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"command\": \"x & y\",\n\t\t\t\t\"timeout\": 5\n\t\t\t}\n\t\t]\n\t}\n}"},
		"other hooks on the event": {
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"command\": \"other\"}\n    ]\n  }\n}\n",
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"command\": \"other\"},\n      {\n        \"command\": \"x & y\",\n        \"timeout\": 5\n      }\n    ]\n  }\n}\n",
		},
		"comments": {
			"// top\n{\n  /* a */ \"hooks\": {\n    \"Stop\": [\n      1 // one\n      // end\n    ] // after\n  },\n  \"z\": 1\n}\n",
			"// top\n{\n  /* a */ \"hooks\": {\n    \"Stop\": [\n      1, // one\n      // end\n      {\n        \"command\": \"x & y\",\n        \"timeout\": 5\n      }\n    ] // after\n  },\n  \"z\": 1\n}\n",
		},
		"trailing comma": {
			"{\n  \"hooks\": {\n    \"Stop\": [\n      1,\n    ],\n  },\n}\n",
			"{\n  \"hooks\": {\n    \"Stop\": [\n      1,\n      {\n        \"command\": \"x & y\",\n        \"timeout\": 5\n      },\n    ],\n  },\n}\n",
		},
		"one line": {`{"hooks":{"Stop":[1]},"a":[ ]}`, `{"hooks":{"Stop":[1, {"command":"x & y","timeout":5}]},"a":[ ]}`},
		"mark and CRLF": {
			"\xef\xbb\xbf{\r\n  \"a\": 1\r\n}\r\n",
			"\xef\xbb\xbf{\r\n  \"a\": 1,\r\n  \"hooks\": {\r\n    \"Stop\": [\r\n      {\r\n        \"command\": \"x & y\",\r\n        \"timeout\": 5\r\n      }\r\n    ]\r\n  }\r\n}\r\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := []string{"hooks", "Stop"}
			d, err := jsonedit.Parse([]byte(tt.before))
			require.NoError(t, err)
			before, err := d.Elements(path)
			require.NoError(t, err)
			require.NoError(t, d.Append(path, ours))
			require.Equal(t, tt.after, string(d.Bytes()))

			elements, err := d.Elements(path)
			require.NoError(t, err)
			require.Len(t, elements, len(before)+1)
			require.JSONEq(t, `{"command":"x & y","timeout":5}`, string(elements[len(before)]))
			require.NoError(t, d.Remove(path, len(before)))
			require.Equal(t, tt.before, string(d.Bytes()))
		})
	}
}

func TestRemovalKeepsWhatStandsAround(t *testing.T) {
	t.Parallel()
	text := "{\"l\": [\n  1, // one\n  2, // two\n  // before three\n  3\n]}"
	for index, want := range []string{
		"{\"l\": [\n  // one\n  2, // two\n  // before three\n  3\n]}",
		"{\"l\": [\n  1, // one\n  // two\n  // before three\n  3\n]}",
		"{\"l\": [\n  1, // one\n  2 // two\n  // before three\n]}",
	} {
		d, err := jsonedit.Parse([]byte(text))
		require.NoError(t, err)
		require.NoError(t, d.Remove([]string{"l"}, index))
		require.Equal(t, want, string(d.Bytes()))
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	d, err := jsonedit.Parse([]byte("{\n  \"l\": [\n    1, // one\n    2\n  ]\n}"))
	require.NoError(t, err)
	require.NoError(t, d.Replace([]string{"l"}, 0, []int{7}))
	require.Equal(t, //nolint:testifylint // every byte counts
		"{\n  \"l\": [\n    [\n      7\n    ], // one\n    2\n  ]\n}", string(d.Bytes()))
}

func TestWhatCannotBeUnderstoodIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	_, err := jsonedit.Parse([]byte("{\n  \"a\": 1,,\n}"))
	require.ErrorContains(t, err, "line 2")
	_, err = jsonedit.Parse([]byte("[]"))
	require.ErrorIs(t, err, jsonedit.ErrShape)
	for text, place := range map[string]string{
		"{\n  \"hooks\": []\n}":                   "line 2, column 12: \"hooks\" is not an object",
		"{\"hooks\": {\"Stop\": {}}}":             "\"hooks.Stop\" is not a list",
		"{\"hooks\": {}, \"x\": 1, \"hooks\": 2}": "\"hooks\" is there twice",
	} {
		d, err := jsonedit.Parse([]byte(text))
		require.NoError(t, err)
		err = d.Append([]string{"hooks", "Stop"}, ours)
		require.ErrorIs(t, err, jsonedit.ErrShape)
		require.ErrorContains(t, err, place)
		require.Equal(t, text, string(d.Bytes()))
	}
}
