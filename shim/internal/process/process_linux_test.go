package process

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseStatWithParenthesesInTheName(t *testing.T) {
	t.Parallel()
	line := "77 (a) b (c) S 42 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 1 2 3"
	p, parent, err := parseStat(77, line)
	require.NoError(t, err)
	require.Equal(t, 42, parent)
	require.Equal(t, "a) b (c", p.Name)
	require.EqualValues(t, 123456, p.Start)

	for _, bad := range []string{"", "77 (a", "77 (a) S 42", "77 (a) S x 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456"} {
		_, _, err := parseStat(77, bad)
		require.ErrorIs(t, err, errStat, bad)
	}
}

func TestLineageOfALiveChildLeadsToUs(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})

	line := Lineage(cmd.Process.Pid)
	require.GreaterOrEqual(t, len(line), 2)
	require.Equal(t, cmd.Process.Pid, line[0].PID)
	require.Equal(t, os.Getpid(), line[1].PID)
	require.NotZero(t, line[0].Start)
	require.GreaterOrEqual(t, line[0].Start, line[1].Start)
	// Both are bounded: a lineage that is as long as it may be ends one process sooner, since it holds the child too.
	ancestors := Ancestors(cmd.Process.Pid)
	require.GreaterOrEqual(t, len(ancestors), len(line)-1)
	require.Equal(t, line[1:], ancestors[:len(line)-1])
}

func TestVanishedProcessHasNoLineage(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	require.NoError(t, cmd.Run())
	require.Empty(t, Lineage(cmd.Process.Pid))
	require.Empty(t, Ancestors(cmd.Process.Pid))
}

func TestCacheAgreesWithTheWalk(t *testing.T) {
	t.Parallel()
	var cache Cache
	for range 3 {
		require.Equal(t, Ancestors(os.Getpid()), cache.Ancestors(os.Getpid()))
	}
	require.Nil(t, cache.Ancestors(1<<30))
}
