package relayserver

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

var (
	// ErrRunning means that another relay of this user holds the lock.
	ErrRunning = errors.New("another relay is running")
	// errNotLock means that an inherited descriptor is not the lock file.
	errNotLock = errors.New("inherited descriptor is not the relay's lock file")
)

// Lock is the exclusive right to bind the relay's socket. The system releases it when the
// process ends, however it ends.
type Lock struct{ file *os.File }

// Acquire returns the lock of the runtime directory. A relay that a hook started inherits it
// under the descriptor named by KIROKU_RELAY_LOCK_FD (the variable is cleared, so that nothing
// the relay starts believes it too); otherwise the lock is taken now. It fails with ErrRunning,
// naming the process, when another relay has it.
func Acquire(paths rundir.Paths) (*Lock, error) {
	if err := rundir.Ensure(paths.Runtime); err != nil {
		return nil, fmt.Errorf("runtime directory: %w", err)
	}
	file, err := openLock(paths.Lock())
	if err != nil {
		return nil, err
	}
	if err := lockFile(file); err != nil {
		defer func() { _ = file.Close() }()
		return nil, describeHolder(err, file)
	}
	lock := &Lock{file: file}
	if err := lock.sign(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

func openLock(path string) (*os.File, error) {
	if value, inherited := os.LookupEnv(rundir.EnvLockFD); inherited {
		if err := os.Unsetenv(rundir.EnvLockFD); err != nil {
			return nil, err
		}
		return inheritedLock(value, path)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // in the checked runtime directory
	if err != nil {
		return nil, fmt.Errorf("relay lock: %w", err)
	}
	return file, nil
}

// inheritedLock accepts the descriptor only if it is the lock file: a stray variable must not
// make a relay lock, and overwrite, something else.
func inheritedLock(value, path string) (*os.File, error) {
	fd, err := strconv.Atoi(value)
	if err != nil || fd <= 2 {
		return nil, fmt.Errorf("%w: %q", errNotLock, value)
	}
	file := os.NewFile(uintptr(fd), path)
	if file == nil {
		return nil, errNotLock
	}
	closeOnExec(fd)
	got, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotLock, err)
	}
	want, err := os.Stat(path)
	if err != nil || !os.SameFile(got, want) {
		return nil, errNotLock
	}
	return file, nil
}

// sign writes our process id into the file, for the message that the next relay prints.
func (l *Lock) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// Close releases the lock.
func (l *Lock) Close() error { return l.file.Close() }

func describeHolder(err error, file *os.File) error {
	if !errors.Is(err, ErrRunning) {
		return fmt.Errorf("relay lock: %w", err)
	}
	var buf [32]byte
	n, _ := file.ReadAt(buf[:], 0)
	if pid, convErr := strconv.Atoi(strings.TrimSpace(string(buf[:n]))); convErr == nil {
		return fmt.Errorf("%w (process %d)", err, pid)
	}
	return err
}
