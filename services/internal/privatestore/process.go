package privatestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// leftover describes a server that a killed Kiroku may have left running.
type leftover struct {
	name     string
	pidFile  string
	programs []string // names that its program may have
	// dir is its working directory, which is its data directory too.
	dir string
	// argument is part of its command line. It stands in for dir on systems
	// that do not tell the working directory of a process.
	argument string
	// marker is part of the command line when we have started it; empty when
	// nobody else would. A server that an administrator started by hand on
	// this data is not ours to stop.
	marker   string
	shutdown []shutdownStep
}

// stop ends the leftover if there is one. We hold the lock on the data
// directory, so the Kiroku that started it is gone. It returns the pid that the
// pid file names when that is some other process, else 0.
func (l leftover) stop(ctx context.Context) (stranger int, err error) {
	pid, err := readPID(l.pidFile)
	if err != nil {
		return 0, err
	}
	runs, marked := l.inspect(pid)
	switch {
	case !processExists(pid):
	case !runs:
		stranger = pid
	case !marked:
		return 0, fmt.Errorf("%s runs on %s as process %d and was not started by Kiroku: stop it first", l.name, l.dir, pid)
	default:
		if err := l.end(ctx, pid); err != nil {
			return 0, err
		}
	}
	return stranger, l.waitForBackends(ctx)
}

// inspect tells whether the process is a server that runs on our data, and not
// one that got the same number later, and whether it has our marker. A process
// without a command line is a zombie or about to be one.
func (l leftover) inspect(pid int) (runs, marked bool) {
	line := commandLine(pid)
	if pid == 0 || line == "" || !slices.Contains(l.programs, processName(pid)) {
		return false, false
	}
	if dir, known := workingDir(pid); known {
		runs = dir == l.dir
	} else {
		runs = strings.Contains(line, l.argument)
	}
	return runs, strings.Contains(line, l.marker)
}

func (l leftover) end(ctx context.Context, pid int) error {
	for _, step := range l.shutdown {
		if err := syscall.Kill(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop %s left by an earlier run, process %d: %w", l.name, pid, err)
		}
		gone := func() bool {
			runs, _ := l.inspect(pid)
			return !runs
		}
		if waitUntil(ctx, step.wait, gone) {
			return nil
		}
	}
	return fmt.Errorf("%s left by an earlier run, process %d, does not end", l.name, pid)
}

// waitForBackends waits for processes that outlive their killed parent by a
// moment: a new server must not share their files.
func (l leftover) waitForBackends(ctx context.Context) error {
	var pids []int
	gone := func() bool {
		pids = processesIn(l.dir, l.programs)
		return len(pids) == 0
	}
	if gone() || waitUntil(ctx, 10*time.Second, gone) {
		return nil
	}
	return fmt.Errorf("%s processes of an earlier run are still busy in %s: %v", l.name, l.dir, pids)
}

// waitUntil looks at a condition until it holds, and tells whether it did.
func waitUntil(ctx context.Context, patience time.Duration, cond func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if cond() {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

// readPID reads the first line of a pid file. A file that is absent or was cut
// short by a crash names no process.
func readPID(path string) (int, error) {
	data, err := os.ReadFile(path) //nolint:gosec // a file of our data directory
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read pid file: %w", err)
	}
	first, _, _ := strings.Cut(string(data), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 0 {
		return 0, nil //nolint:nilerr // see above
	}
	return pid, nil
}

// processExists tells whether there is a process of that number, anybody's.
func processExists(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
