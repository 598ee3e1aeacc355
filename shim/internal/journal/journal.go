// Package journal is the relay's queue on disk: entries are appended, read in order, and given
// up once the server has acknowledged them.
//
// What Append took survives the end of the process at any instant, because it was written to
// the file before Append returned; a power cut is not provided for. The queue is bounded in
// bytes and age: what is too much is dropped from its old end, counted, never blocking the new.
package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Defaults of Options.
const (
	DefaultMaxBytes = 256 << 20
	DefaultMaxAge   = 30 * 24 * time.Hour
	defaultSegment  = 4 << 20
	// reclaimBytes is how large a fully acknowledged segment grows before it is removed: files
	// are not made and removed for each event.
	reclaimBytes = 256 << 10
)

// MaxEntry is the largest entry in bytes.
const MaxEntry = 8 << 20

var (
	// ErrTooLarge means an entry beyond MaxEntry.
	ErrTooLarge = errors.New("journal: entry too large")
	// ErrClosed means that the journal is closed.
	ErrClosed = errors.New("journal: closed")
)

// Options say where the journal lies and what bounds it.
type Options struct {
	// Dir is created when it is missing, for its owner only.
	Dir string
	// MaxBytes bounds all segments together; DefaultMaxBytes when 0.
	MaxBytes int64
	// MaxAge bounds the age of an entry; DefaultMaxAge when 0.
	MaxAge time.Duration
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Stats is what a person wants to know about a queue.
type Stats struct {
	// Pending counts the entries that are not acknowledged.
	Pending int64
	// Bytes is the size of all segments on disk.
	Bytes int64
	// Dropped counts the entries ever dropped unsent, for size, age or damage.
	Dropped int64
	// LastDrop is when that last happened; zero when never.
	LastDrop time.Time
	// Oldest is when the oldest pending entry was written; zero when none is pending.
	Oldest time.Time
}

// Journal is one queue. Its methods may be called concurrently; one process at a time may have
// a journal open, which its caller's lock must ensure.
type Journal struct {
	opts    Options
	segment int64

	mu       sync.Mutex
	closed   bool
	segments []*segment
	active   *os.File
	next     uint64
	mark     mark
	// offset is where the first pending entry begins in the first segment.
	offset int64
	wake   chan struct{}
}

// Open opens the queue, or makes an empty one. A torn last entry, as a killed writer leaves it,
// is cut off.
func Open(opts Options) (*Journal, error) {
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = DefaultMaxBytes
	}
	if opts.MaxAge <= 0 {
		opts.MaxAge = DefaultMaxAge
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	j := &Journal{opts: opts, segment: min(defaultSegment, opts.MaxBytes/4), wake: make(chan struct{}, 1)}
	if err := j.load(); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j.signal()
	return j, nil
}

func (j *Journal) load() error {
	if err := os.MkdirAll(j.opts.Dir, 0o700); err != nil {
		return err
	}
	var err error
	if j.mark, err = readMark(j.path(markName)); err != nil {
		return err
	}
	if j.segments, err = listSegments(j.opts.Dir); err != nil {
		return err
	}
	j.next = j.mark.acked + 1
	if n := len(j.segments); n > 0 {
		last := j.segments[n-1]
		if err := last.repair(); err != nil {
			return err
		}
		j.next = max(j.next, last.first+last.count)
		for i, s := range j.segments[:n-1] {
			s.count = j.segments[i+1].first - s.first
		}
	}
	return j.seek()
}

// Append writes entries in one go: all of them are in the file when it returns nil, none when
// it fails.
func (j *Journal) Append(entries ...[]byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return ErrClosed
	}
	now := j.opts.Now()
	var data []byte
	for _, entry := range entries {
		if len(entry) > MaxEntry {
			return ErrTooLarge
		}
		data = appendFrame(data, now, entry)
	}
	current, err := j.writable()
	if err != nil {
		return fmt.Errorf("append to journal: %w", err)
	}
	if _, err := j.active.WriteAt(data, current.size); err != nil {
		// Bytes beyond the size are overwritten by the next entry, or cut off by the next Open.
		return errors.Join(fmt.Errorf("append to journal: %w", err), j.active.Truncate(current.size))
	}
	current.size += int64(len(data))
	current.count += uint64(len(entries))
	current.last = now
	j.next += uint64(len(entries))
	j.signal()
	return j.enforce(now)
}

// writable returns the segment to append to, a new one when the last is full.
func (j *Journal) writable() (*segment, error) {
	if n := len(j.segments); n > 0 && j.segments[n-1].size < j.segment {
		current := j.segments[n-1]
		if j.active != nil {
			return current, nil
		}
		var err error
		j.active, err = os.OpenFile(current.path, os.O_RDWR, 0o600)
		return current, err
	}
	if err := j.closeActive(); err != nil {
		return nil, err
	}
	created := &segment{path: j.path(segmentName(j.next)), first: j.next}
	file, err := os.OpenFile(created.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	j.active = file
	j.segments = append(j.segments, created)
	return created, nil
}

// Batch is a run of pending entries.
type Batch struct {
	// Entries are in the order in which they were appended.
	Entries [][]byte
	first   uint64
}

// Read returns the oldest pending entries: at most maxEntries, and no more than maxBytes unless
// the first alone is larger. It is empty when nothing is pending. The same entries come again
// until they are acknowledged.
func (j *Journal) Read(maxEntries, maxBytes int) (Batch, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return Batch{}, ErrClosed
	}
	if err := j.enforce(j.opts.Now()); err != nil {
		return Batch{}, err
	}
	for len(j.segments) > 0 && j.mark.acked+1 < j.next {
		first := j.segments[0]
		entries, err := first.read(j.offset, maxEntries, maxBytes)
		if err != nil {
			return Batch{}, fmt.Errorf("read journal: %w", err)
		}
		if len(entries) > 0 {
			return Batch{Entries: entries, first: j.mark.acked + 1}, nil
		}
		// The rest of the segment is damaged: pass over it rather than stand still.
		j.mark.dropped += first.end() - (j.mark.acked + 1)
		j.mark.lastDrop = j.opts.Now()
		j.mark.acked = first.end() - 1
		if err := j.advance(); err != nil {
			return Batch{}, err
		}
	}
	return Batch{}, nil
}

// Ack gives up the first n entries of a batch. Entries that were dropped meanwhile are no error.
func (j *Journal) Ack(b Batch, n int) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return ErrClosed
	}
	if n <= 0 {
		return nil
	}
	done := b.first + uint64(n) - 1
	if done <= j.mark.acked {
		return nil
	}
	j.mark.acked = done
	return j.advance()
}

// Wake is sent to when entries were appended, and once after Open.
func (j *Journal) Wake() <-chan struct{} { return j.wake }

func (j *Journal) signal() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// Stats returns the state of the queue.
func (j *Journal) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	stats := Stats{
		Pending:  int64(j.next - j.mark.acked - 1), //nolint:gosec // counts entries on one disk
		Bytes:    j.bytes(),
		Dropped:  int64(j.mark.dropped), //nolint:gosec // counts entries on one disk
		LastDrop: j.mark.lastDrop,
	}
	if stats.Pending > 0 && len(j.segments) > 0 {
		stats.Oldest = j.segments[0].timeAt(j.offset)
	}
	return stats
}

// Close ends the use of the journal. Everything in it stays for the next Open.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	if j.mark.acked+1 == j.next && len(j.segments) > 0 {
		return errors.Join(j.seek(), j.closeActive())
	}
	return j.closeActive()
}

func (j *Journal) closeActive() error {
	if j.active == nil {
		return nil
	}
	err := j.active.Close()
	j.active = nil
	return err
}

func (j *Journal) bytes() int64 {
	var total int64
	for _, s := range j.segments {
		total += s.size
	}
	return total
}

func (j *Journal) path(name string) string { return filepath.Join(j.opts.Dir, name) }

func (j *Journal) writeMark() error { return j.mark.write(j.path(markName)) }
