package privatestore

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// commandLine is empty for a process that is gone or a zombie.
func commandLine(pid int) string {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return ""
	}
	return string(bytes.ReplaceAll(data, []byte{0}, []byte{' '}))
}

// processName is the name of the program that a process runs.
func processName(pid int) string {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// workingDir always answers on Linux; it is empty for a process that is gone,
// a zombie or somebody else's.
func workingDir(pid int) (string, bool) {
	dir, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	if err != nil {
		return "", true
	}
	return dir, true
}

// processesIn lists the processes with one of the names that work in dir.
func processesIn(dir string, programs []string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if !slices.Contains(programs, processName(pid)) {
			continue
		}
		if at, _ := workingDir(pid); at == dir {
			pids = append(pids, pid)
		}
	}
	return pids
}
