package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about, output, gist string
		proven              bool
	}{
		{"go compile", "# shop/a\n/srv/shop/a/b.go:12:3: undefined: Foo\nFAIL\tshop/a [build failed]", "a/b.go:12:3: undefined: Foo", true},
		{"go test", "=== RUN TestX\n--- FAIL: TestX (0.01s)\n    x_test.go:9: got 1, want 2\nFAIL", "TestX: x_test.go:9: got 1, want 2", true},
		{"go test logs that pass", "=== RUN TestX\n    x_test.go:9: first prompt blocked\n--- PASS: TestX (0.01s)\nok  \tshop/a\t0.1s", "x_test.go:9: first prompt blocked", false},
		{"go panic", "goroutine 1\npanic: assignment to entry in nil map\n\tx.go:3", "panic: assignment to entry in nil map", true},
		{"pytest", "E   assert 1 == 2\nFAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed, 3 passed in 0.1s", "tests/test_a.py::test_b - assert 1 == 2", true},
		{"traceback", "Traceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'id'\n", "KeyError: 'id'", false},
		{"tsc", "src/a.ts(3,22): error TS2307: Cannot find module 'ky'.", "src/a.ts(3,22): error TS2307: Cannot find module 'ky'.", true},
		{"jest", " FAIL  src/a.test.ts\n  ● Totals › shows it\nTests: 1 failed, 2 passed", "Totals › shows it", true},
		{"rustc", "error[E0502]: cannot borrow\n  --> src/lexer.rs:141:9", "error[E0502]: cannot borrow", true},
		{"windows path", `C:\src\a\b.cs(14,23): error CS0246: not found`, `C:\src\a\b.cs(14,23): error CS0246: not found`, true},
		{"maven", "[ERROR] Tests run: 3, Errors: 1\n[ERROR] TaxTest.loads:31 » InaccessibleObject", "TaxTest.loads:31 » InaccessibleObject", true},
		{"colours", "\x1b[31merror: \x1b[0mno such option", "error: no such option", false},
		{"counts of zero", "12 passed, 0 failed", "12 passed, 0 failed", false},
		{"nothing known", "it went wrong somehow", "it went wrong somehow", false},
		{"only a status", "Exit code 1", "", false},
		{"empty", "", "", false},
	} {
		got := findFailure(c.output, "/srv/shop")
		require.Equal(t, c.gist, got.gist, c.about)
		require.Equal(t, c.proven, got.proven, c.about)
	}
}

func TestPassSummary(t *testing.T) {
	t.Parallel()
	require.Equal(t, "12 passed in 0.31s", passSummary("....\n===== 12 passed in 0.31s ====="))
	require.Equal(t, "Tests: 14 passed, 14 total", passSummary("PASS a\nTests:       14 passed, 14 total\nTime: 1 s"))
	require.Equal(t, "Tests run: 118, Failures: 0", passSummary("[INFO] Tests run: 118, Failures: 0"))
	require.Empty(t, passSummary("ok  \tshop\t0.1s"))
}
