package rules

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"One. Two! Three?":                           {"One.", "Two!", "Three?"},
		"See main.go, e.g. the loop. It is v1.2 now": {"See main.go, e.g. the loop.", "It is v1.2 now"},
		"Use `a. b` here. and there":                 {"Use `a. b` here.", "and there"},
		"修正しました。テストも通ります！":                           {"修正しました。", "テストも通ります！"},
		"问题已修复。原因是超时。":                               {"问题已修复。", "原因是超时。"},
		"Wir nutzen z.B. Redis. Das genügt.":         {"Wir nutzen z.B. Redis.", "Das genügt."},
		"":                                           nil,
	} {
		require.Equal(t, want, sentences(text), text)
	}
}

func TestUnitsDropMarkdown(t *testing.T) {
	t.Parallel()
	text := "## Summary\n\nAll **good** now, see [the docs](https://x.y/z).\n\n```go\nfunc main() {}\n```\n" +
		"1. **`store.go`**:\n   - keeps the lock\n- [x] ✅ adds tests\n\n| File | Change |\n|---|---|\n| a.go | new |\n\n> quoted output\n---\nThis line was\nbroken for width."
	var got []string
	for _, u := range units(text) {
		got = append(got, u.full())
	}
	require.Equal(t, []string{"Summary", "All good now, see the docs.", "`store.go`: keeps the lock", "adds tests", "a.go: new", "This line was", "broken for width."}, got)
}

func TestCutNeverSplits(t *testing.T) {
	t.Parallel()
	require.Equal(t, "short", cut("short", 10))
	require.Equal(t, "one two…", cut("one two three four", 12))
	require.Equal(t, "see `a`…", cut("see `a b c d e f g h`", 9))
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "s"), rapid.IntRange(4, 60).Draw(t, "n")
		got := cut(s, n)
		require.LessOrEqual(t, utf8.RuneCountInString(got), max(n, min(n, utf8.RuneCountInString(s))))
		require.True(t, utf8.ValidString(got))
	})
}

func TestReadPrompt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about, prompt, text string
		human, empty        bool
	}{
		{"plain", "fix the clock", "fix the clock", true, false},
		{"ack", "Yes, do that!", "Yes, do that!", true, true},
		{"number", "2", "2", true, true},
		{"japanese ack", "はい", "はい", true, true},
		{"slash", "/clear", "", true, true},
		{"slash with words", "/plan add a retry to the client", "add a retry to the client", true, false},
		{"path", "/etc/hosts is wrong on ci", "/etc/hosts is wrong on ci", true, false},
		{"notification", "<task-notification><id>1</id></task-notification>", "", true, true},
		{"reminder", "<system-reminder>always obey</system-reminder>\nfix it in a.go", "fix it in a.go", true, false},
		{"unclosed", "fix a.go <system-reminder>never stop", "fix a.go", true, false},
		{"wrapped", "<user_query>\nrename Foo\n</user_query>", "rename Foo", true, false},
		{"html stays", "make <b>bold</b> red", "make <b>bold</b> red", true, false},
		{"caveat", "Caveat: The messages below were generated", "", false, true},
		{"compaction", "This session is being continued from a previous conversation that ran out", "", false, true},
		{"accepted plan", "Implement the following plan:\n\n# Plan: never sleep", "# Plan: never sleep", false, false},
	} {
		r := readPrompt(promptEvent(c.prompt))
		require.Equal(t, c.text, r.text, c.about)
		require.Equal(t, c.human, r.human, c.about)
		require.Equal(t, c.empty, r.empty, c.about)
	}
	require.True(t, readPrompt(nil).empty)
}

func TestStatesRule(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"Always run gofmt before committing", "never push to main", "We use pnpm, not npm.", "use spaces instead of tabs", "I prefer small functions",
		"please don't add new dependencies", "From now on every endpoint needs a test", "handlers must never import the store", "Remember to bump the version",
		"Wir verwenden immer structlog statt print", "Bitte nie direkt auf main pushen", "Ne mets jamais de secrets dans le code", "Désormais on utilise pnpm",
		"Siempre usamos UTC", "No uses any en TypeScript", "必ずISO 8601形式で出力してください", "英語ではなく日本語を使ってください", "以后超时一律写在配置里", "我们使用 pnpm 而不是 npm",
	} {
		require.True(t, statesRule(s), s)
	}
	for _, s := range []string{
		"why does it always fail?", "it somehow always lists these under each branch", "I remember now, the issue was the lock", "don't change anything, just let me know",
		"don't worry about it", "do we not need this?", "can we use checkpointID instead of cpID here", "add a button to the page", "the function returns nil",
		"Der Test schlägt fehl", "el test falla", "テストを追加してください", "请修复这个错误",
	} {
		require.False(t, statesRule(s), s)
	}
}

func TestRepoPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, root, want string }{
		{"internal/a.go", "/srv/x", "internal/a.go"},
		{"/srv/x/internal/a.go", "/srv/x", "internal/a.go"},
		{`C:\src\x\a\b.cs`, `C:\src\x`, "a/b.cs"},
		{`src\a.cs`, `C:\src\x`, "src/a.cs"},
		{"/etc/passwd", "/srv/x", ""},
		{"../other/a.go", "/srv/x", ""},
		{"~/notes.md", "/srv/x", ""},
		{"https://example.com/a.go", "/srv/x", ""},
		{"./a/../b.go", "", "b.go"},
		{".git/config", "", ""},
		{"a\nb.go", "", ""},
		{"", "/srv/x", ""},
	} {
		require.Equal(t, c.want, repoPath(c.name, c.root), c.name)
	}
	require.Equal(t, []string{"cmd/a/main.go", ".github/workflows/ci.yml"},
		namedFiles("see `cmd/a/main.go:12`, (.github/workflows/ci.yml) and main.go, github.com/x/y.go or https://a.b/c.html", "/srv/x"))
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a b c", oneLine(" a\n\tb \x1b[1mc\x1b[0m "))
	require.Equal(t, strings.Repeat("x", 9), oneLine(strings.Repeat("x", 9)))
}
