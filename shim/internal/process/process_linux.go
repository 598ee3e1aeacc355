package process

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

var errStat = errors.New("unexpected form of a process status line")

// Positions of the fields after the command name in /proc/<pid>/stat.
const (
	statParent = 1
	statStart  = 19
)

func describe(pid int) (frame.Process, int, error) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return frame.Process{}, 0, err
	}
	return parseStat(pid, string(line))
}

// parseStat reads the status line. The command name stands in parentheses and may itself hold
// spaces and parentheses, so fields are counted from the last one.
func parseStat(pid int, line string) (frame.Process, int, error) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return frame.Process{}, 0, errStat
	}
	fields := strings.Fields(line[end+1:])
	if len(fields) <= statStart {
		return frame.Process{}, 0, errStat
	}
	parent, err := strconv.Atoi(fields[statParent])
	if err != nil {
		return frame.Process{}, 0, errStat
	}
	start, err := strconv.ParseUint(fields[statStart], 10, 64)
	if err != nil {
		return frame.Process{}, 0, errStat
	}
	return frame.Process{PID: pid, Start: start, Name: line[open+1 : end]}, parent, nil
}
