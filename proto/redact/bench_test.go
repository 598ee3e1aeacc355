package redact_test

import (
	"strings"
	"testing"

	"github.com/kiroku-dev/kiroku/proto/redact"
)

// prose is ordinary text with code in it, of which a kilobyte is taken.
const prose = `The worker reads a batch, and if len(batch) < limit && ctx.Err() == nil it waits for more.
func (w *Worker) Run(ctx context.Context) error { return w.loop(ctx, "path/to\\file") }
commit 3f786850e387550fdab836ed7e6dc881de23001b changed 3 files, 12 insertions(+), 4 deletions(-).
`

func kilobyte(with string) string {
	return with + strings.Repeat(prose, 4)[:1024-len(with)]
}

func benchmarkString(b *testing.B, text string) {
	b.Helper()
	redact.String(text) // builds the index, which happens once in a process
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		redact.String(text)
	}
}

func BenchmarkString1KBClean(b *testing.B) { benchmarkString(b, kilobyte("")) }

func BenchmarkString1KBDirty(b *testing.B) {
	benchmarkString(b, kilobyte("<private>a</private> password="+made(12)+" gh"+"p_"+made(36)+"\n<system-reminder>b</system-reminder>\n"))
}

func BenchmarkString1MBClean(b *testing.B) { benchmarkString(b, strings.Repeat(kilobyte(""), 1024)) }

func BenchmarkJSON1KB(b *testing.B) {
	raw := []byte(`{"hook_event_name":"UserPromptSubmit","session_id":"s1","prompt":"` +
		strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(kilobyte(""), `\`, `\\`), `"`, `\"`), "\n", `\n`) + `"}`)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := redact.JSON(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStringHostile shows that texts made to be slow take time in proportion to their length.
func BenchmarkStringHostile(b *testing.B) {
	for name, unit := range map[string]string{
		"assignments": "token=", "prefixes": "sk-", "headers": "-----BEGIN " + "PRIVATE KEY-----", "tags": "<private a=\"",
		"joints": "<pri<user_query>vate>", "backslashes": `\`,
	} {
		b.Run(name, func(b *testing.B) { benchmarkString(b, strings.Repeat(unit, 1<<16/len(unit))) })
	}
}
