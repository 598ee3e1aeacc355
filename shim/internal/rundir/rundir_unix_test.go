//go:build unix

package rundir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("d", 95)
	for name, tt := range map[string]struct {
		env   map[string]string
		owned string
		want  Paths
	}{
		"session directory": {
			env:   map[string]string{"XDG_RUNTIME_DIR": "/run/user/7", "HOME": "/home/ana"},
			owned: "/run/user/7",
			want:  Paths{Runtime: "/run/user/7/kiroku", State: "/home/ana/.local/state/kiroku"},
		},
		"session directory hidden by su": {
			env:   map[string]string{"HOME": "/home/ana"},
			owned: "/run/user/7",
			want:  Paths{Runtime: "/run/user/7/kiroku", State: "/home/ana/.local/state/kiroku"},
		},
		"session directory of another user": {
			env:  map[string]string{"XDG_RUNTIME_DIR": "/run/user/8"},
			want: Paths{Runtime: "/tmp/kiroku-7"},
		},
		"no home, relative variables": {
			env:  map[string]string{"HOME": "", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run", "KIROKU_RUNTIME_DIR": "x"},
			want: Paths{Runtime: "/tmp/kiroku-7"},
		},
		"socket path too long": {
			env:   map[string]string{"XDG_RUNTIME_DIR": long, "XDG_STATE_HOME": "/st"},
			owned: long,
			want:  Paths{Runtime: "/tmp/kiroku-7", State: "/st/kiroku"},
		},
		"overrides": {
			env:  map[string]string{"KIROKU_RUNTIME_DIR": "/r/", "KIROKU_STATE_DIR": "/s/", "XDG_RUNTIME_DIR": "/x", "HOME": "/h"},
			want: Paths{Runtime: "/r", State: "/s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			owned := func(dir string, uid int) bool { return dir == tt.owned && uid == 7 }
			got := resolve(func(k string) string { return tt.env[k] }, 7, owned)
			require.Equal(t, tt.want, got)
			require.LessOrEqual(t, len(got.Socket()), MaxSocketPath)
		})
	}
}

func TestSpoolDirsSkipAnUnknownStateDirectory(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"/r/spool", "/s/spool"}, Paths{Runtime: "/r", State: "/s"}.SpoolDirs())
	require.Equal(t, []string{"/r/spool"}, Paths{Runtime: "/r"}.SpoolDirs())
}

func TestEnsure(t *testing.T) {
	t.Parallel()
	base := t.TempDir()

	deep := filepath.Join(base, "a", "b")
	require.NoError(t, Ensure(deep))
	info, err := os.Stat(deep)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	open := filepath.Join(base, "open")
	require.NoError(t, os.Mkdir(open, 0o700))
	require.NoError(t, os.Chmod(open, 0o755))
	require.NoError(t, Ensure(open))
	info, err = os.Stat(open)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	link := filepath.Join(base, "link")
	require.NoError(t, os.Symlink(deep, link))
	require.ErrorIs(t, Ensure(link), ErrUnsafe)

	file := filepath.Join(base, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorIs(t, Ensure(file), ErrUnsafe)
	require.Error(t, Ensure(filepath.Join(file, "below")))

	require.ErrorIs(t, Ensure(""), ErrNoDirectory)
}

func TestEnsureRefusesAnotherUsersDirectory(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	dir := filepath.Join(t.TempDir(), "theirs")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chown(dir, 65534, 65534))
	require.ErrorIs(t, Ensure(dir), ErrUnsafe)
}
