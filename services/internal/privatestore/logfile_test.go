package privatestore

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "server.log")
	log, err := openLog(path)
	require.NoError(t, err)
	defer log.close()
	chunk := bytes.Repeat([]byte("0123456789abcde\n"), 64<<10)
	for range 3 * maxLogSize / len(chunk) {
		n, err := log.Write(chunk)
		require.NoError(t, err)
		require.Equal(t, len(chunk), n)
	}
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Positive(t, info.Size())
		require.LessOrEqual(t, info.Size(), int64(maxLogSize))
	}
}

func TestLogOutlivesItsDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "logs")
	require.NoError(t, os.Mkdir(dir, 0o700))
	log, err := openLog(filepath.Join(dir, "server.log"))
	require.NoError(t, err)
	defer log.close()
	require.NoError(t, os.RemoveAll(dir))
	log.rotate()
	n, err := log.Write([]byte("line\n"))
	require.NoError(t, err, "a server must never wait for its log")
	require.Equal(t, 5, n)
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	log, err := openLog(filepath.Join(t.TempDir(), "server.log"))
	require.NoError(t, err)
	defer log.close()
	require.Equal(t, []string{"(none)"}, log.lastLines())
	for _, part := range []string{"one\ntw", "o\n\n", "three"} {
		_, err := log.Write([]byte(part))
		require.NoError(t, err)
	}
	require.Equal(t, []string{"one", "two", "three"}, log.lastLines())

	_, err = log.Write(bytes.Repeat([]byte("x"), 10*maxTailLine))
	require.NoError(t, err)
	_, err = log.Write(bytes.Repeat([]byte("\nline"), 2*maxTailLines))
	require.NoError(t, err)
	require.LessOrEqual(t, len(log.lastLines()), maxTailLines+1)
}
