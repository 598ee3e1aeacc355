package relay

import (
	"os"
	"path/filepath"
	"sync"
)

const (
	// LogName is the log's file in the state directory; the one before has the suffix ".1".
	LogName = "relay.log"
	// maxLog bounds each of the two files in bytes.
	maxLog = 4 << 20
)

// LogFile is a log that never grows beyond two files of a few MiB. It implements io.Writer.
type LogFile struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

// OpenLog opens the log in the state directory.
func OpenLog(state string) (*LogFile, error) {
	l := &LogFile{path: filepath.Join(state, LogName)}
	return l, l.open()
}

func (l *LogFile) open() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write appends a line. Text that cannot be written is lost without an error: the log must not
// get in the way of events.
func (l *LogFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(line)) > maxLog && l.file != nil {
		_ = l.file.Close()
		l.file = nil
		_ = os.Rename(l.path, l.path+".1")
	}
	if l.file == nil && l.open() != nil {
		return len(line), nil
	}
	n, _ := l.file.Write(line)
	l.size += int64(n)
	return len(line), nil
}

// Close closes the file.
func (l *LogFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
