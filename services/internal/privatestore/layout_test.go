package privatestore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDefaultDataDir(t *testing.T) {
	t.Setenv("KIROKU_DATA_DIR", "/srv/kiroku")
	require.Equal(t, "/srv/kiroku", DefaultDataDir())
	t.Setenv("KIROKU_DATA_DIR", "")
	if os.Geteuid() == 0 {
		require.Equal(t, "/var/lib/kiroku", DefaultDataDir())
		return
	}
	t.Setenv("XDG_DATA_HOME", "/xdg")
	require.Equal(t, "/xdg/kiroku", DefaultDataDir())
	t.Setenv("XDG_DATA_HOME", "relative is ignored")
	t.Setenv("HOME", "/home/someone")
	require.Equal(t, "/home/someone/.local/share/kiroku", DefaultDataDir())
}

func TestDirectoryOfSomethingElseKeepsItsMode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "letter.txt"), nil, 0o600))
	require.NoError(t, os.Chmod(dir, 0o700))
	_, err := prepareDataDir(dir, account{uid: os.Geteuid(), gid: os.Getegid(), switched: true})
	require.NoError(t, err)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestClosedParentIsNamed(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(dataDir(t), "closed")
	require.NoError(t, os.Mkdir(parent, 0o700))
	found, err := findBinaries(t.Context(), Config{NeedRedis: true})
	require.NoError(t, err)
	acc, err := childAccount(true)
	require.NoError(t, err)
	dirs, err := prepareDataDir(filepath.Join(parent, "data"), acc)
	require.NoError(t, err)
	err = acc.checkEnter(t.Context(), dirs.root, found.anyProgram())
	if !acc.switched {
		require.NoError(t, err, "an ordinary user enters its own directories")
		return
	}
	require.NoError(t, os.Chmod(filepath.Dir(parent), 0o755))
	err = acc.checkEnter(t.Context(), dirs.root, found.anyProgram())
	require.ErrorContains(t, err, "cannot enter "+filepath.Dir(dirs.root)+":")
	require.ErrorContains(t, err, "KIROKU_DATA_DIR")
}

func TestRuntimeDir(t *testing.T) {
	t.Parallel()
	acc, err := childAccount(false)
	require.NoError(t, err)
	base := dataDir(t)

	one, err := prepareRuntimeDir(base, "/data/one", acc)
	require.NoError(t, err)
	two, err := prepareRuntimeDir(base, "/data/two", acc)
	require.NoError(t, err)
	require.NotEqual(t, one, two, "two data directories never share sockets")
	info, err := os.Stat(one)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	_, err = prepareRuntimeDir(filepath.Join(base, strings.Repeat("x", 80)), "/data/one", acc)
	require.ErrorContains(t, err, "the limit is 99")

	for _, dir := range runtimeCandidates("", "01234567") {
		require.NoError(t, checkSocketPath(dir))
	}
}

func TestRuntimeDirThatIsALinkIsRefused(t *testing.T) {
	t.Parallel()
	acc, err := childAccount(false)
	require.NoError(t, err)
	base := dataDir(t)
	dir, err := prepareRuntimeDir(base, "/data", acc)
	require.NoError(t, err)
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Symlink(t.TempDir(), dir))
	_, err = prepareRuntimeDir(base, "/data", acc)
	require.ErrorContains(t, err, "belongs to somebody else")
}
