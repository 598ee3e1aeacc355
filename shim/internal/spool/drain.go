package spool

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

const (
	quarantineName = "quarantine"
	// staleTemp is how old an unfinished file must be before it counts as left behind: no
	// hook lives that long.
	staleTemp = time.Minute
	// maxFile is the largest file that can hold a frame.
	maxFile = frame.MaxPayload + frame.MaxMeta + 1024
)

// errFile means something in the spool that no hook wrote.
var errFile = errors.New("not a frame file")

// ErrRefused is returned by those who take frames for one that they can never take.
var ErrRefused = errors.New("frame refused")

// Entry is one spooled frame on disk.
type Entry struct {
	Path string
	Size int64
}

// Load reads and decodes the frame.
func (e Entry) Load() (frame.Request, error) {
	info, err := os.Lstat(e.Path)
	if err != nil {
		return frame.Request{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return frame.Request{}, errFile
	}
	data, err := os.ReadFile(e.Path)
	if err != nil {
		return frame.Request{}, err
	}
	return frame.Decode(data)
}

// Remove deletes the file; a file that is gone already is no error.
func (e Entry) Remove() error {
	if err := os.Remove(e.Path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Quarantine moves the file aside, into a directory beside it that nothing reads by itself.
func (e Entry) Quarantine() error {
	dir := filepath.Join(filepath.Dir(e.Path), quarantineName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Rename(e.Path, filepath.Join(dir, filepath.Base(e.Path)))
}

// List returns the frames of all directories, oldest first. A missing directory is empty; one
// that cannot be read is reported beside the frames of the others.
func List(dirs []string) ([]Entry, error) {
	var entries []Entry
	var errs []error
	for _, dir := range dirs {
		files, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file.Name(), suffix) || strings.HasPrefix(file.Name(), tempPrefix) {
				continue
			}
			entry := Entry{Path: filepath.Join(dir, file.Name())}
			if info, err := file.Info(); err == nil {
				entry.Size = info.Size()
			}
			entries = append(entries, entry)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return strings.Compare(filepath.Base(a.Path), filepath.Base(b.Path))
	})
	return entries, errors.Join(errs...)
}

// Result counts what one drain did.
type Result struct{ Taken, Quarantined int }

// Drain hands every spooled frame to take, oldest first, and removes it once take returns nil.
// A frame that cannot be decoded, or that take answers with ErrRefused, is quarantined and blocks
// nothing; any other error of take ends the drain and leaves the frame where it is. A crash after take and before the removal repeats
// the frame, so take must know repeats by Request.Key.
func Drain(ctx context.Context, dirs []string, take func(context.Context, frame.Request) error) (Result, error) {
	var done Result
	removeStale(dirs)
	entries, listErr := List(dirs)
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		if err := done.drain(ctx, entry, take); err != nil {
			return done, err
		}
	}
	return done, listErr
}

// drain hands one frame over.
func (r *Result) drain(ctx context.Context, entry Entry, take func(context.Context, frame.Request) error) error {
	request, err := entry.Load()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	good := err == nil
	if good {
		err = take(ctx, request)
	}
	switch {
	case err == nil:
		r.Taken++
		return entry.Remove()
	case !good, errors.Is(err, ErrRefused):
		r.Quarantined++
		return entry.Quarantine()
	}
	return err
}

// removeStale deletes unfinished files of hooks that were killed while writing.
func removeStale(dirs []string) {
	for _, dir := range dirs {
		files, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, file := range files {
			if !strings.HasPrefix(file.Name(), tempPrefix) {
				continue
			}
			if info, err := file.Info(); err == nil && time.Since(info.ModTime()) > staleTemp {
				_ = os.Remove(filepath.Join(dir, file.Name()))
			}
		}
	}
}
