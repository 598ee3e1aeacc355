package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/proto/redact"
)

func decode(t *testing.T, text string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	require.NoError(t, decoder.Decode(&v))
	return v
}

func TestValueScrubsEveryStringAndKey(t *testing.T) {
	t.Parallel()
	word := "hun" + "ter2"
	for name, tc := range map[string]struct{ in, want string }{
		"scalars":             {`[1.50, 12345678901234567890, true, null, "a"]`, `[1.50, 12345678901234567890, true, null, "a"]`},
		"strings":             {`{"a":["<private>b</private>",{"c":"<private>d"}]}`, `{"a":["[REDACTED]",{"c":"[REDACTED]"}]}`},
		"lines":               {`["+<private>", "+a", "+</private>b", "c"]`, `["+[REDACTED]", "[REDACTED]", "[REDACTED]b", "c"]`},
		"lines, nested":       {`["<private>", "<private>a", "</private>b", "</private>c"]`, `["[REDACTED]", "[REDACTED]", "[REDACTED]", "[REDACTED]c"]`},
		"lines, reopened":     {`["<private>", "</private>a<private>", "b</private>"]`, `["[REDACTED]", "[REDACTED]a[REDACTED]", "[REDACTED]"]`},
		"lines, not closed":   {`[["a<private>", "b", {"c":"d"}, 1], "e"]`, `[["a[REDACTED]", "[REDACTED]", "[REDACTED]", "[REDACTED]"], "e"]`},
		"each member alone":   {`{"a":"<private>","b":"c"}`, `{"a":"[REDACTED]","b":"c"}`},
		"keys":                {`{"<private>a</private>":1}`, `{"[REDACTED]":1}`},
		"keys that collide":   {`{"<private>b":2,"<private>a":1,"[REDACTED]":3}`, `{"[REDACTED]":3,"[REDACTED]#2":1,"[REDACTED]#3":2}`},
		"named password":      {`{"password":"` + word + `","n":"` + word + `"}`, `{"password":"[REDACTED:password]","n":"` + word + `"}`},
		"named pass":          {`{"pass":"` + word + `","passed":"` + word + `"}`, `{"pass":"[REDACTED:password]","passed":"` + word + `"}`},
		"named header":        {`{"Authorization":["Bearer ` + word + `"]}`, `{"Authorization":["[REDACTED:authorization]"]}`},
		"named entry":         {`[{"name":"DB_PASSWORD","value":"` + word + `"}]`, `[{"name":"DB_PASSWORD","value":"[REDACTED:password]"}]`},
		"entry without name":  {`{"name":1,"value":"` + word + `"}`, `{"name":1,"value":"` + word + `"}`},
		"named in an array":   {`{"api_keys":["` + made(20) + `"]}`, `{"api_keys":["[REDACTED:api-key]"]}`},
		"named but no secret": {`{"token":"expired","max_tokens":"40960000","secret":"${S}","password":"two words1"}`, `{"token":"expired","max_tokens":"40960000","secret":"${S}","password":"two words1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, before := decode(t, tc.in), decode(t, tc.in)
			once := redact.Value(in)
			require.Equal(t, decode(t, tc.want), once)
			require.Equal(t, before, in, "the input is not changed")
			require.Equal(t, once, redact.Value(once), "scrubbing twice")
		})
	}
}

func TestValueEndsDeepNesting(t *testing.T) {
	t.Parallel()
	nested := func(depth int) any {
		return decode(t, strings.Repeat(`[{"a":`, depth/2)+`"deep"`+strings.Repeat(`}]`, depth/2))
	}
	require.Equal(t, nested(200), redact.Value(nested(200)))
	encoded, err := json.Marshal(redact.Value(nested(202)))
	require.NoError(t, err)
	require.Contains(t, string(encoded), `"[REDACTED:nesting]"`)
	require.NotContains(t, string(encoded), "deep")
}

func TestJSONKeepsNumbersAndCharacters(t *testing.T) {
	t.Parallel()
	out, err := redact.JSON([]byte(" {\"b\":1.50,\"a\":\"x < y & z\\u0000\\ud800\",\"c\":\"\\u003cprivate\\u003ed\"} \n"))
	require.NoError(t, err)
	require.Equal(t, "{\"a\":\"x < y & z\uFFFD\uFFFD\",\"b\":1.50,\"c\":\"[REDACTED]\"}", string(out)) //nolint:testifylint // the spelling of numbers and characters counts
}

func TestJSONRefusesWhatIsNotOneValue(t *testing.T) {
	t.Parallel()
	word := "hun" + "ter2"
	for _, raw := range []string{"", "  ", "{", `{"a":"` + word, word, `{} ` + word, `{}{}`, strings.Repeat("[", 20000)} {
		_, err := redact.JSON([]byte(raw))
		require.Error(t, err, raw)
		require.NotContains(t, err.Error(), word)
	}
}
