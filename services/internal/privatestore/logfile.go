package privatestore

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
)

const (
	maxLogSize   = 4 << 20 // bytes; one older file of that size is kept
	maxTailLines = 8
	maxTailLine  = 400 // bytes
)

// logFile takes the output of one server into a file that is renamed to
// path.1 when it is full, so the two never take more than twice maxLogSize.
// Neither server can bound its own log. It also remembers the last lines.
type logFile struct {
	path string

	mu      sync.Mutex
	file    *os.File
	size    int64
	partial []byte
	tail    []string
}

func openLog(path string) (*logFile, error) {
	l := &logFile{path: path}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return l, nil
}

func (l *logFile) open() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close() // the error to report is that of Stat
		return err
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write never fails: an error would end the copying, and the server would then
// block on a full pipe because a disk is full.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remember(p)
	if l.size+int64(len(p)) > maxLogSize {
		l.rotate()
	}
	if l.file == nil {
		_ = l.open() // see above; the next line tries again
	}
	if l.file != nil {
		n, _ := l.file.Write(p) // see above
		l.size += int64(n)
	}
	return len(p), nil
}

func (l *logFile) rotate() {
	if l.file != nil {
		_ = l.file.Close() // what was written is all that can be kept
		l.file = nil
	}
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		// The bound matters more than old lines.
		_ = os.Remove(l.path)
	}
	l.size = 0
}

func (l *logFile) remember(p []byte) {
	l.partial = append(l.partial, p...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte{'\n'})
		if !found {
			break
		}
		l.addLine(line)
		l.partial = rest
	}
	if len(l.partial) > maxTailLine {
		l.addLine(l.partial)
		l.partial = nil
	}
}

func (l *logFile) addLine(line []byte) {
	text := strings.TrimSpace(string(line[:min(len(line), maxTailLine)]))
	if text == "" {
		return
	}
	if l.tail = append(l.tail, text); len(l.tail) > maxTailLines {
		l.tail = l.tail[1:]
	}
}

// lastLines are the newest lines of this run, oldest first.
func (l *logFile) lastLines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := append([]string(nil), l.tail...)
	if len(l.partial) > 0 {
		lines = append(lines, string(l.partial))
	}
	if len(lines) == 0 {
		return []string{"(none)"}
	}
	return lines
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close() // nothing is buffered
		l.file = nil
	}
}
