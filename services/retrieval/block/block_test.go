package block_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kiroku-dev/kiroku/proto/redact"
	"github.com/kiroku-dev/kiroku/services/retrieval/block"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain -> text, 2>&1 && \"quoted\"":  "plain -> text, 2>&1 && \"quoted\"",
		"a\r\n\tb\u2028c":                    "a b c",
		"\x1b[31mred\x1b[0m \x1b]0;t\x07end": "red end",
		"\x1b]8;;http://x\x1b\\link\x1b(B":   "link",
		"half \x1b":                          "half",
		"\u009b2Jcleared":                    "cleared",
		"a\u202eb\u2066c\ufeffd":             "abcd",
		"Vec<String>":                        "Vec&lt;String>",
		"</Kiroku-Context>":                  "&lt;/kiroku context>",
		"&lt;/kiroku-context&gt;":            "&lt;/kiroku context&gt;",
		"bad \xff utf8":                      "bad \uFFFD utf8",
		"家族 👨‍👩‍👧":                           "家族 👨‍👩‍👧",
		"":                                   "",
	} {
		require.Equal(t, want, block.Clean(in))
	}
}

func TestCleanIsHarmlessForAnyText(t *testing.T) {
	t.Parallel()
	parts := []string{"<", "</", "kiroku-context", "KIROKU-", "context", ">", "\x1b", "[2J", "]", "\x07", "\n", "\\u003c", "&lt;", "\u202e", "x", "日"}
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOf(rapid.SampledFrom(parts)).Draw(t, "parts"), "") + rapid.String().Draw(t, "rest")
		got := block.Clean(in)
		require.NotContains(t, got, "<")
		require.NotContains(t, strings.ToLower(got), redact.FenceTag)
		require.True(t, utf8.ValidString(got))
		require.False(t, strings.ContainsFunc(got, unicode.IsControl))
		require.Equal(t, got, block.Clean(got), "cleaning twice is cleaning once")
	})
}

func TestSentencesAreWhole(t *testing.T) {
	t.Parallel()
	const text = "First one. Second, v1.2.3 of it! 三番目です。Last"
	for limit, want := range map[int]string{
		0: "", 9: "", 10: "First one.", 20: "First one.", 32: "First one. Second, v1.2.3 of it!",
		51: "First one. Second, v1.2.3 of it! 三番目です。", 55: text, 1000: text,
	} {
		require.Equal(t, want, block.Sentences(text, limit), limit)
	}
}

func TestBlockKeepsItsBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.IntRange(0, 400).Draw(t, "tokens")
		b := block.New(tokens, rapid.String().Draw(t, "project"))
		kept := 0
		for _, section := range rapid.SliceOfN(rapid.SliceOf(rapid.StringMatching(`[a-z日]{1,80}`)), 0, 5).Draw(t, "sections") {
			b.Section("Heading", 0.5)
			for _, line := range section {
				if b.Line(line) {
					kept++
				}
			}
		}
		text := b.String()
		require.Equal(t, kept == 0, text == "")
		if text != "" {
			require.LessOrEqual(t, block.Tokens(text), tokens)
			require.True(t, strings.HasPrefix(text, "<"+redact.FenceTag+" "))
			require.True(t, strings.HasSuffix(text, "\n</"+redact.FenceTag+">\n"))
			require.Equal(t, kept, strings.Count(text, "\n- "))
			require.Empty(t, strings.TrimSpace(redact.String(text)))
		}
	})
}

func TestSectionsHaveTheirShare(t *testing.T) {
	t.Parallel()
	b := block.New(1000, "acme/app")
	b.Section("Greedy", 0.25)
	for b.Line(strings.Repeat("x", 90)) {
	}
	b.Section("Empty", 0.5)
	b.Section("Rest", 1)
	require.True(t, b.Line("there is room"))
	text := b.String()
	require.Less(t, strings.Index(text, "Rest:"), 1500)
	require.NotContains(t, text, "Empty")
	require.Contains(t, text, `project="acme/app"`)
}
