// Package spool is the directory of frames that no relay could take: written by hooks, one
// file each, and read by the relay in time order.
//
// A file becomes visible by a rename, so a reader never sees half of one. Nothing is shared
// between writers, hence fifty hooks at once need no lock.
package spool

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

const (
	suffix       = ".frame"
	tempPrefix   = ".tmp-"
	lossFile     = "lost"
	fileMode     = 0o600
	nanoDigits   = 20
	processWidth = 10
)

// MaxFiles bounds the frames in one spool directory: an agent that works for weeks without a
// relay must not fill the disk of its host.
const MaxFiles = 10_000

// ErrFull means that a directory already holds MaxFiles frames.
var ErrFull = errors.New("spool directory is full")

// Write stores the frame in the first of the directories that takes it and returns the file's
// path. The caller scrubs before; the files are readable by their owner only. A frame that
// finds no place is counted, as far as even that is possible, and the errors are returned.
func Write(dirs []string, r *frame.Request) (string, error) {
	encoded := frame.Append(nil, r)
	errs := make([]error, 0, len(dirs))
	for _, dir := range dirs {
		path, err := writeIn(dir, r, encoded)
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	countLoss(dirs)
	return "", errors.Join(errs...)
}

func writeIn(dir string, r *frame.Request, encoded []byte) (string, error) {
	if err := rundir.Ensure(filepath.Dir(dir)); err != nil {
		return "", err
	}
	if err := rundir.Ensure(dir); err != nil {
		return "", err
	}
	if full(dir) {
		return "", ErrFull
	}
	name := fileName(r)
	temp, path := filepath.Join(dir, tempPrefix+name), filepath.Join(dir, name)
	err := writeFile(temp, encoded)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return "", err
	}
	return path, nil
}

// writeFile leaves out the sync on purpose: it can take longer than the hook's whole budget,
// and surviving a power cut is not promised.
func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode) //nolint:gosec // in a checked spool directory
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// fileName sorts as time does; the process id keeps equal times apart.
func fileName(r *frame.Request) string {
	return pad(strconv.FormatInt(max(r.Time.UnixNano(), 0), 10), nanoDigits) + "-" +
		pad(strconv.Itoa(r.PID), processWidth) + suffix
}

func pad(s string, width int) string {
	return strings.Repeat("0", max(width-len(s), 0)) + s
}

func full(dir string) bool {
	f, err := os.Open(dir) //nolint:gosec // a checked spool directory
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	names, _ := f.Readdirnames(MaxFiles)
	return len(names) >= MaxFiles
}

// countLoss adds one byte to a file: appending needs no lock, the size is the count and the
// change time is when the last one was lost.
func countLoss(dirs []string) {
	for _, dir := range dirs {
		path := filepath.Join(dir, lossFile)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, fileMode) //nolint:gosec // in a checked spool directory
		if err != nil {
			continue
		}
		_, err = f.Write([]byte{'.'})
		_ = f.Close()
		if err == nil {
			return
		}
	}
}

// Lost tells how many frames found no place in any of the directories, and when the last did.
func Lost(dirs []string) (count int64, last time.Time) {
	for _, dir := range dirs {
		info, err := os.Stat(filepath.Join(dir, lossFile))
		if err != nil {
			continue
		}
		count += info.Size()
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return count, last
}
