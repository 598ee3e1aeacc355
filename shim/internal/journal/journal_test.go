package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kiroku-dev/kiroku/shim/internal/journal"
)

func open(t testing.TB, opts journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	return j
}

func texts(b journal.Batch) []string {
	var all []string
	for _, entry := range b.Entries {
		all = append(all, string(entry))
	}
	return all
}

func segments(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.journal"))
	require.NoError(t, err)
	return files
}

func TestEntriesComeBackInOrderUntilAcknowledged(t *testing.T) {
	t.Parallel()
	j := open(t, journal.Options{Dir: t.TempDir()})
	require.NoError(t, j.Append([]byte("a"), []byte("b")))
	require.NoError(t, j.Append([]byte("c")))

	b, err := j.Read(2, 1<<20)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, texts(b))
	require.NoError(t, j.Ack(b, 1))

	b, err = j.Read(10, 1<<20)
	require.NoError(t, err)
	require.Equal(t, []string{"b", "c"}, texts(b))
	require.EqualValues(t, 2, j.Stats().Pending)
	require.NoError(t, j.Ack(b, 2))
	require.NoError(t, j.Ack(b, 1), "an older acknowledgement changes nothing")

	b, err = j.Read(10, 1<<20)
	require.NoError(t, err)
	require.Empty(t, b.Entries)
	require.NoError(t, j.Append([]byte("d")))
	b, err = j.Read(10, 1<<20)
	require.NoError(t, err)
	require.Equal(t, []string{"d"}, texts(b))
}

func TestBatchesAreBoundedInBytesButNeverEmpty(t *testing.T) {
	t.Parallel()
	j := open(t, journal.Options{Dir: t.TempDir()})
	require.NoError(t, j.Append(make([]byte, 100), make([]byte, 10), make([]byte, 10)))
	b, err := j.Read(10, 15)
	require.NoError(t, err)
	require.Len(t, b.Entries, 1)
	require.Len(t, b.Entries[0], 100)
	require.NoError(t, j.Ack(b, 1))
	b, err = j.Read(10, 15)
	require.NoError(t, err)
	require.Len(t, b.Entries, 1)
	require.ErrorIs(t, j.Append(make([]byte, journal.MaxEntry+1)), journal.ErrTooLarge)
}

// A killed relay closes nothing: what Append took must be there for the next Open.
func TestNothingIsLostWithoutClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := journal.Open(journal.Options{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, j.Append([]byte("a"), []byte("b"), []byte("c")))
	b, err := j.Read(1, 1<<20)
	require.NoError(t, err)
	require.NoError(t, j.Ack(b, 1))

	again := open(t, journal.Options{Dir: dir})
	b, err = again.Read(10, 1<<20)
	require.NoError(t, err)
	require.Equal(t, []string{"b", "c"}, texts(b))
	<-again.Wake()
}

func TestTornLastEntryIsCutOffWhereverItWasTorn(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	j, err := journal.Open(journal.Options{Dir: whole})
	require.NoError(t, err)
	require.NoError(t, j.Append([]byte("first"), []byte("second")))
	file := segments(t, whole)[0]
	data, err := os.ReadFile(file)
	require.NoError(t, err)

	firstEnds := len(data) / 2
	for _, n := range []int{firstEnds, firstEnds + 1, firstEnds + 15, firstEnds + 16, len(data) - 1} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), data[:n], 0o600))
		j := open(t, journal.Options{Dir: dir})
		require.NoError(t, j.Append([]byte("third")))
		b, err := j.Read(10, 1<<20)
		require.NoError(t, err)
		require.Equal(t, []string{"first", "third"}, texts(b), "torn after %d of %d bytes", n, len(data))
	}
}

func TestDamageInTheMiddleIsPassedOverAndCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := journal.Open(journal.Options{Dir: dir, MaxBytes: 400})
	require.NoError(t, err)
	for i := range 5 {
		require.NoError(t, j.Append(fmt.Appendf(nil, "entry %d with a length that fills segments", i)))
	}
	files := segments(t, dir)
	require.Greater(t, len(files), 2)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	data[20] ^= 0xff
	require.NoError(t, os.WriteFile(files[0], data, 0o600))

	again := open(t, journal.Options{Dir: dir, MaxBytes: 400})
	b, err := again.Read(1, 1<<20)
	require.NoError(t, err)
	require.Equal(t, []string{"entry 2 with a length that fills segments"}, texts(b))
	require.EqualValues(t, 2, again.Stats().Dropped)
}

func TestOldestIsDroppedWhenThereIsTooMuch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, journal.Options{Dir: dir, MaxBytes: 4000})
	for i := range 100 {
		require.NoError(t, j.Append(fmt.Appendf(nil, "%03d%s", i, make([]byte, 97))))
	}
	stats := j.Stats()
	require.LessOrEqual(t, stats.Bytes, int64(4000))
	require.Positive(t, stats.Dropped)
	require.EqualValues(t, 100, stats.Dropped+stats.Pending)
	require.False(t, stats.LastDrop.IsZero())

	b, err := j.Read(1000, 1<<20)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%03d", stats.Dropped), string(b.Entries[0][:3]), "what is left is the newest")

	again := open(t, journal.Options{Dir: dir, MaxBytes: 4000})
	require.Equal(t, stats.Dropped, again.Stats().Dropped, "the count outlives the process")
}

func TestOldEntriesExpire(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	j := open(t, journal.Options{Dir: t.TempDir(), MaxAge: time.Hour, Now: clock})
	require.NoError(t, j.Append([]byte("old")))
	require.Equal(t, now, j.Stats().Oldest.UTC())
	now = now.Add(2 * time.Hour)
	b, err := j.Read(10, 1<<20)
	require.NoError(t, err)
	require.Empty(t, b.Entries)
	require.NoError(t, j.Append([]byte("new")))
	b, err = j.Read(10, 1<<20)
	require.NoError(t, err)
	require.Equal(t, []string{"new"}, texts(b))
	require.EqualValues(t, 1, j.Stats().Dropped)
}

func TestSentEntriesLeaveTheDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := journal.Open(journal.Options{Dir: dir})
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, j.Append(make([]byte, 200<<10), make([]byte, 200<<10)))
		b, err := j.Read(10, 8<<20)
		require.NoError(t, err)
		require.NoError(t, j.Ack(b, len(b.Entries)))
		require.Empty(t, segments(t, dir))
	}
	require.NoError(t, j.Append([]byte("small")))
	b, err := j.Read(10, 1<<20)
	require.NoError(t, err)
	require.NoError(t, j.Ack(b, 1))
	require.NoError(t, j.Close())
	require.Empty(t, segments(t, dir))
	require.ErrorIs(t, j.Append([]byte("late")), journal.ErrClosed)
}

func TestLostMarkMeansSendingAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := journal.Open(journal.Options{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, j.Append([]byte("a"), []byte("b")))
	b, err := j.Read(10, 1<<20)
	require.NoError(t, err)
	require.NoError(t, j.Ack(b, 1))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acknowledged"), []byte("garbage"), 0o600))
	b, err = open(t, journal.Options{Dir: dir}).Read(10, 1<<20)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, texts(b))
}

func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	j := open(t, journal.Options{Dir: t.TempDir(), MaxBytes: 1 << 20})
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			for i := range 50 {
				require.NoError(t, j.Append(fmt.Appendf(nil, "%d/%02d", w, i)))
			}
		})
	}
	seen := map[byte][]string{}
	for total := 0; total < 400; {
		<-j.Wake()
		for {
			b, err := j.Read(7, 1<<20)
			require.NoError(t, err)
			if len(b.Entries) == 0 {
				break
			}
			for _, text := range texts(b) {
				seen[text[0]] = append(seen[text[0]], text)
			}
			total += len(b.Entries)
			require.NoError(t, j.Ack(b, len(b.Entries)))
		}
	}
	group.Wait()
	require.Len(t, seen, 8)
	for _, list := range seen {
		require.True(t, slices.IsSorted(list), "the order of one writer is kept")
		require.Len(t, list, 50)
	}
}

// The queue must behave like a plain list, across reopening at any point.
func TestBehavesLikeAList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "list") //nolint:usetesting // one for each draw
		require.NoError(rt, err)
		opts := journal.Options{Dir: dir, MaxBytes: 1 << 16}
		j, err := journal.Open(opts)
		require.NoError(rt, err)
		var want []string
		for step := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0, 1:
				text := fmt.Sprintf("%d:%s", step, rapid.StringN(0, 40, 300).Draw(rt, "text"))
				require.NoError(rt, j.Append([]byte(text)))
				want = append(want, text)
			case 2:
				b, err := j.Read(rapid.IntRange(1, 5).Draw(rt, "n"), 1<<20)
				require.NoError(rt, err)
				require.Equal(rt, append([]string{}, want[:len(b.Entries)]...), append([]string{}, texts(b)...))
				n := rapid.IntRange(0, len(b.Entries)).Draw(rt, "ack")
				require.NoError(rt, j.Ack(b, n))
				want = want[n:]
			case 3:
				if rapid.Bool().Draw(rt, "clean") {
					require.NoError(rt, j.Close())
				}
				j, err = journal.Open(opts)
				require.NoError(rt, err)
			}
			require.EqualValues(rt, len(want), j.Stats().Pending)
		}
		require.NoError(rt, j.Close())
	})
}

func TestQuarantineKeepsReasonAndIsBounded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "quarantine")
	q := journal.OpenQuarantine(dir, 2)
	require.Zero(t, q.Count())
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, id := range []string{"01A", "01B", "01C", "01C"} {
		require.NoError(t, q.Put(journal.Refusal{ID: id, Code: "InvalidArgument", Reason: "INVALID_FIELD: kind", Time: at}, []byte("entry\n"+id)))
	}
	list, err := q.List()
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, journal.Refusal{ID: "01B", Code: "InvalidArgument", Reason: "INVALID_FIELD: kind", Time: at}, list[0])
	_, entry, err := q.Get("01C")
	require.NoError(t, err)
	require.Equal(t, "entry\n01C", string(entry))
	require.Error(t, q.Put(journal.Refusal{ID: "../x"}, nil))
	require.Equal(t, 2, q.Count())
}
