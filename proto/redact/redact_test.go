package redact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/proto/redact"
)

func TestStringReplacesPrivatePassages(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"no tag":                {"a plain text", "a plain text"},
		"closed":                {"a <private>b</private> c", "a [REDACTED] c"},
		"any letter case":       {"a <PRIVATE>b</pRiVaTe> c", "a [REDACTED] c"},
		"blanks and attributes": {"a <private\treason=\"x > y\" >b</private\n> c", "a [REDACTED] c"},
		"blanks before name":    {"a < private >b< / private > c", "a [REDACTED] c"},
		"nested":                {"a <private>b<private>c</private>d</private> e", "a [REDACTED] e"},
		"two opened one closed": {"a <private>b<private>c</private>d", "a [REDACTED]"},
		"siblings":              {"<private>a</private>b<private>c</private>", "[REDACTED]b[REDACTED]"},
		"unclosed":              {"a <private>b c", "a [REDACTED]"},
		"tag cut short":         {"a <private", "a [REDACTED]"},
		"closing tag cut short": {"a <private>b</private", "a [REDACTED]"},
		"closing tag broken":    {"a <private>b</private c", "a [REDACTED]"},
		"opening tag broken":    {"a <private b </private> c", "a [REDACTED] c"},
		"written as empty":      {"a <private/>b", "a [REDACTED]"},
		"stray closing tag":     {"a </private>b", "a b"},
		"escaped for JSON":      {`a \u003cprivate\u003eb\u003c/private\u003e c`, "a [REDACTED] c"},
		"escaped twice":         {`a \\u003Cprivate\\u003Eb\\u003C\/private\\u003E c`, "a [REDACTED] c"},
		"entities":              {"a &lt;private&#62;b&#x3C;/private&gt; c", "a [REDACTED] c"},
		"other elements stay":   {"Vec<PrivateKey> <private-key> <private_key>", "Vec<PrivateKey> <private-key> <private_key>"},
		"comparison stays":      {"if a < private && b > c {", "if a < private && b > c {"},
		"joined by a removal":   {"<pri<user_query>vate>x", "[REDACTED]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, redact.String(tc.in))
		})
	}
}
