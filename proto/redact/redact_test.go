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

func TestStringRemovesInjectedBlocks(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"closed":             {"a <kiroku-context v=\"1\">old</kiroku-context> b", "a  b"},
		"on its own lines":   {"a\n<kiroku-context>\nold\n</kiroku-context>\nb", "a\nb"},
		"any letter case":    {"a<KIROKU-Context>old</kiroku-CONTEXT>b", "ab"},
		"nested":             {"a<kiroku-context>x<kiroku-context>y</kiroku-context>z</kiroku-context>b", "ab"},
		"unclosed":           {"a\n<kiroku-context>old\nolder", "a\n"},
		"tag cut short":      {"a <kiroku-context age=\"1", "a "},
		"written as empty":   {"a<kiroku-context/>b", "ab"},
		"stray closing tag":  {"a</kiroku-context>b", "ab"},
		"entities":           {"a &lt;kiroku-context&gt;old&lt;/kiroku-context&gt;b", "a b"},
		"entities twice":     {"a &amp;lt;kiroku-context&amp;gt;old&amp;lt;/kiroku-context&amp;gt;b", "a b"},
		"escaped for JSON":   {`{"p":"\u003ckiroku-context\u003eold\u003c/kiroku-context\u003eb"}`, `{"p":"b"}`},
		"quoted":             {"a\n> <kiroku-context>\n> old\n> </kiroku-context>\nb", "a\nb"},
		"quoted twice":       {"a\n> > <kiroku-context>\n> > old\n> > </kiroku-context>\nb", "a\nb"},
		"quoted, unclosed":   {"a\n> <kiroku-context>\n> old", "a\n"},
		"two":                {"<kiroku-context>a</kiroku-context>b<kiroku-context>c</kiroku-context>d", "bd"},
		"private in it":      {"a<kiroku-context>b<private>c</kiroku-context>d</private>e", "a"},
		"other element":      {"a <kiroku-contexts>b", "a <kiroku-contexts>b"},
		"its name is no tag": {"the kiroku-context element", "the kiroku-context element"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, redact.String(tc.in))
		})
	}
}

func TestStringRemovesHarnessNoise(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"system-reminder", "local-command-stdout", "local-command-stderr", "local-command-caveat", "command-name", "command-message",
		"command-args", "environment_context",
	} {
		open, end := "<"+name+">", "</"+name+">"
		require.Equal(t, "a\nb", redact.String("a\n"+open+"\nx\n"+end+"\nb"), name)
		require.Equal(t, "ab", redact.String("a"+open+"x"+open+"y"+end+"z"+end+"b"), "nested")
		require.Equal(t, "a "+open+"b", redact.String("a "+open+"b"), "an unclosed one hides no words of the developer")
	}
	require.Equal(t, "fix it", redact.String("<user_query>fix it</user_query>"))
	require.Equal(t, "ac", redact.String("a<command-name>b<command-args>b</command-name>b</command-args>c"), "crossing")
}

func TestStringRepairsWhatCannotBeStored(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a\uFFFDb\uFFFDc", redact.String("a\x00b\xffc"))
	require.Equal(t, "[REDACTED]", redact.String("<private\x00>a"))
}

func TestStringGivesUpOnATextThatNeverSettles(t *testing.T) {
	t.Parallel()
	tag := "<user_query>"
	for range 20 {
		tag = "<user" + tag + "_query>" // each pass removes the innermost tag and so joins the next
	}
	require.Equal(t, "[REDACTED]", redact.String("a"+tag+"b"))
}
