package redact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/proto/redact"
)

func TestBytesScrubsValidJSONAsJSON(t *testing.T) {
	t.Parallel()
	out := redact.Bytes([]byte(`{"prompt":"a \u003cprivate>b\u003c/private> c"}`))
	require.JSONEq(t, `{"prompt":"a [REDACTED] c"}`, string(out))
}

func TestBytesCutsFromAPrivateTagInAnyForm(t *testing.T) {
	t.Parallel()
	for _, tag := range []string{
		`<private>`, `<PRIVATE x=\"y\">`, `\u003cprivate\u003e`, `\u003CPrivate\u003E`, `\\u003cprivate\\u003e`, `&lt;private&gt;`,
		`\u0026lt;private>`, `\u003c\u0070rivate\u003e`, `\\u003c\\u0070rivate>`, `<\u0050RIVATE>`, `<priv\u0061te>`, `<\tprivate>`,
	} {
		out := redact.Bytes([]byte(`{"prompt":"a ` + tag + `b</private> c","d":"e`))
		require.Equal(t, `{"prompt":"a [REDACTED]`, string(out), tag) //nolint:testifylint // cut short, so no JSON
	}
}

func TestBytesScrubsWhatIsCutShort(t *testing.T) {
	t.Parallel()
	word, token := "hun"+"ter2", "gh"+"p_"+made(36)
	for name, tc := range map[string]struct{ in, want string }{
		"nothing to hide":     {`{"a":"b\n\u00e9`, `{"a":"b\n\u00e9`},
		"token":               {`{"a":"x ` + token + ` y","b`, `{"a":"x [REDACTED:github-token] y","b`},
		"token cut short":     {`{"a":"x ` + token[:30], `{"a":"x [REDACTED:github-token]`},
		"after an escape":     {`{"a":"x\n` + token, `{"a":"x\n[REDACTED:github-token]`},
		"escaped quotes":      {`{"a":"{\"password\":\"` + word + `\"`, `{"a":"{\"password\":\"[REDACTED:password]\"`},
		"shown by unescaping": {`{"a":"postgres://u:a\u0026b@h`, `{"a":"postgres://u:[REDACTED:url-password]@h`},
		"injected block":      {`{"a":"x\n\u003ckiroku-context v=\"1\"\u003eold`, `{"a":"x\n`},
		"NUL, invalid UTF-8":  {"{\"a\":\"\x00b\xff", "{\"a\":\"\uFFFDb\uFFFD"},
		"no JSON at all":      {"plain " + token, "plain [REDACTED:github-token]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, string(redact.Bytes([]byte(tc.in))))
		})
	}
}
