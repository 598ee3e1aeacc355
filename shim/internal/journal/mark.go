package journal

import (
	"errors"
	"fmt"
	"os"
	"time"
)

const markName = "acknowledged"

// mark is what must outlive the process beside the entries: how far the server has come and
// what was lost on the way.
type mark struct {
	acked    uint64
	dropped  uint64
	lastDrop time.Time
}

// readMark reads the file; a missing or unreadable one is the zero mark: then entries are sent
// again, which the server knows how to take.
func readMark(path string) (mark, error) {
	data, err := os.ReadFile(path) //nolint:gosec // within the journal's directory
	if errors.Is(err, os.ErrNotExist) {
		return mark{}, nil
	}
	if err != nil {
		return mark{}, err
	}
	var m mark
	var lastDrop int64
	if _, err := fmt.Sscanf(string(data), "%d %d %d", &m.acked, &m.dropped, &lastDrop); err != nil {
		return mark{}, nil //nolint:nilerr // an unreadable mark is as good as none
	}
	if lastDrop > 0 {
		m.lastDrop = time.UnixMilli(lastDrop)
	}
	return m, nil
}

// write replaces the file in one step.
func (m mark) write(path string) error {
	var lastDrop int64
	if !m.lastDrop.IsZero() {
		lastDrop = m.lastDrop.UnixMilli()
	}
	temp := path + ".tmp"
	line := fmt.Sprintf("%d %d %d\n", m.acked, m.dropped, lastDrop)
	if err := os.WriteFile(temp, []byte(line), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
