package spool_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/spool"
)

func request(at int64, pid int) *frame.Request {
	return &frame.Request{Time: time.Unix(0, at), PID: pid, Payload: []byte(`{"n":1}`)}
}

func spoolDirs(t *testing.T) []string {
	t.Helper()
	base := t.TempDir()
	return []string{filepath.Join(base, "run", "spool"), filepath.Join(base, "state", "spool")}
}

func TestFramesComeBackInTimeOrderFromAllDirectories(t *testing.T) {
	t.Parallel()
	dirs := spoolDirs(t)
	for _, w := range []struct {
		dirs []string
		at   int64
	}{{dirs[:1], 3_000}, {dirs[1:], 1_000}, {dirs[:1], 20}, {dirs[1:], 1_790_000_000_000_000_000}} {
		path, err := spool.Write(w.dirs, request(w.at, 7))
		require.NoError(t, err)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	var order []int64
	done, err := spool.Drain(t.Context(), dirs, func(_ context.Context, r frame.Request) error {
		order = append(order, r.Time.UnixNano())
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, spool.Result{Taken: 4}, done)
	require.Equal(t, []int64{20, 1_000, 3_000, 1_790_000_000_000_000_000}, order)
	left, err := spool.List(dirs)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestManyWritersAtOnce(t *testing.T) {
	t.Parallel()
	dirs := spoolDirs(t)
	var group sync.WaitGroup
	for pid := range 50 {
		group.Go(func() {
			_, err := spool.Write(dirs, request(1, pid))
			require.NoError(t, err)
		})
	}
	group.Wait()
	entries, err := spool.List(dirs)
	require.NoError(t, err)
	require.Len(t, entries, 50)
}

func TestUnreadableFramesAreQuarantinedAndBlockNothing(t *testing.T) {
	t.Parallel()
	dirs := spoolDirs(t)
	_, err := spool.Write(dirs, request(2, 1))
	require.NoError(t, err)
	bad := filepath.Join(dirs[0], "00000000000000000001-0000000001.frame")
	require.NoError(t, os.WriteFile(bad, []byte("K garbage"), 0o600))
	link := filepath.Join(dirs[0], "00000000000000000001-0000000002.frame")
	require.NoError(t, os.Symlink("/dev/zero", link))

	done, err := spool.Drain(t.Context(), dirs, func(context.Context, frame.Request) error { return nil })
	require.NoError(t, err)
	require.Equal(t, spool.Result{Taken: 1, Quarantined: 2}, done)
	require.FileExists(t, filepath.Join(dirs[0], "quarantine", filepath.Base(bad)))

	refused, err := spool.Write(dirs, request(3, 1))
	require.NoError(t, err)
	done, err = spool.Drain(t.Context(), dirs, func(context.Context, frame.Request) error { return spool.ErrRefused })
	require.NoError(t, err)
	require.Equal(t, spool.Result{Quarantined: 1}, done)
	require.FileExists(t, filepath.Join(dirs[0], "quarantine", filepath.Base(refused)))
}

func TestRefusedFrameStaysAndKeepsTheOrder(t *testing.T) {
	t.Parallel()
	dirs := spoolDirs(t)
	for at := range int64(3) {
		_, err := spool.Write(dirs, request(at, 1))
		require.NoError(t, err)
	}
	full := errors.New("journal is full")
	done, err := spool.Drain(t.Context(), dirs, func(_ context.Context, r frame.Request) error {
		if r.Time.UnixNano() == 1 {
			return full
		}
		return nil
	})
	require.ErrorIs(t, err, full)
	require.Equal(t, 1, done.Taken)
	left, err := spool.List(dirs)
	require.NoError(t, err)
	require.Len(t, left, 2)
}

func TestOldUnfinishedFilesAreRemovedAndYoungOnesAreNot(t *testing.T) {
	t.Parallel()
	dirs := spoolDirs(t)
	require.NoError(t, os.MkdirAll(dirs[0], 0o700))
	old, young := filepath.Join(dirs[0], ".tmp-old.frame"), filepath.Join(dirs[0], ".tmp-young.frame")
	for _, path := range []string{old, young} {
		require.NoError(t, os.WriteFile(path, []byte("K"), 0o600))
	}
	require.NoError(t, os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)))
	_, err := spool.Drain(t.Context(), dirs, func(context.Context, frame.Request) error { return nil })
	require.NoError(t, err)
	require.NoFileExists(t, old)
	require.FileExists(t, young)
}

func TestFramesWithoutAPlaceAreCounted(t *testing.T) {
	t.Parallel()
	dirs := spoolDirs(t)
	require.NoError(t, os.MkdirAll(dirs[1], 0o700))
	blocked := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(blocked, nil, 0o600))
	for i := range spool.MaxFiles {
		f, err := os.Create(filepath.Join(dirs[1], string(rune('a'+i%26))+time.Duration(i).String()))
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	_, err := spool.Write([]string{filepath.Join(blocked, "spool"), dirs[1]}, request(1, 1))
	require.ErrorIs(t, err, spool.ErrFull)
	count, last := spool.Lost(dirs)
	require.EqualValues(t, 1, count)
	require.WithinDuration(t, time.Now(), last, time.Hour)
}

func TestFallsBackToTheSecondDirectory(t *testing.T) {
	t.Parallel()
	dirs := spoolDirs(t)
	require.NoError(t, os.WriteFile(filepath.Dir(dirs[0]), nil, 0o600))
	path, err := spool.Write(dirs, request(1, 1))
	require.NoError(t, err)
	require.Equal(t, dirs[1], filepath.Dir(path))
	_, err = spool.List(dirs[:1])
	require.Error(t, err)
}
