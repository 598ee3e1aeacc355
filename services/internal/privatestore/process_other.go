//go:build !linux

package privatestore

import (
	"context"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// commandLine is empty for a process that is gone.
func commandLine(pid int) string {
	return processStatus(pid, "command=")
}

// processName is the name of the program that a process runs.
func processName(pid int) string {
	return filepath.Base(processStatus(pid, "comm="))
}

// processStatus asks ps, since there is no /proc.
func processStatus(pid int, column string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	// -ww: the line is not cut to the width of a terminal.
	//nolint:gosec // the column is ours
	output, err := exec.CommandContext(ctx, "ps", "-ww", "-o", column, "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(output))
}

// workingDir is not known on this system.
func workingDir(int) (string, bool) {
	return "", false
}

// processesIn cannot be known here either. Postgres' own processes end at once
// when their parent does, and its shared memory guards the rest.
func processesIn(string, []string) []int {
	return nil
}
