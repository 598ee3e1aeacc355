package journal

import (
	"errors"
	"os"
	"time"
)

// seek drops segments that are acknowledged whole and finds the first pending entry.
func (j *Journal) seek() error {
	for len(j.segments) > 0 && j.segments[0].end() <= j.mark.acked+1 {
		if err := j.removeFirst(); err != nil {
			return err
		}
	}
	j.offset = 0
	if len(j.segments) == 0 {
		return nil
	}
	first := j.segments[0]
	// Acknowledged entries are never behind a gap: what was dropped counts as passed.
	j.mark.acked = max(j.mark.acked, first.first-1)
	offset, err := first.skip(0, j.mark.acked+1-first.first)
	j.offset = offset
	return err
}

// enforce drops from the old end what exceeds the bounds.
func (j *Journal) enforce(now time.Time) error {
	oldest := now.Add(-j.opts.MaxAge)
	for len(j.segments) > 0 {
		first := j.segments[0]
		tooMuch := j.bytes() > j.opts.MaxBytes && len(j.segments) > 1
		if !tooMuch && !first.last.Before(oldest) {
			return nil
		}
		if lost := first.end() - max(first.first, j.mark.acked+1); lost > 0 {
			j.mark.dropped += lost
			j.mark.lastDrop = now
		}
		j.mark.acked = max(j.mark.acked, first.end()-1)
		if err := errors.Join(j.seek(), j.writeMark()); err != nil {
			return err
		}
	}
	return nil
}

func (j *Journal) advance() error {
	if last := len(j.segments) - 1; last >= 0 && j.mark.acked+1 == j.next && j.segments[last].size < reclaimBytes {
		// Keep the small last segment for further entries.
		j.segments, j.offset = j.segments[last:], j.segments[last].size
		if err := removeBefore(j.opts.Dir, j.segments[0].first); err != nil {
			return err
		}
		return j.writeMark()
	}
	return errors.Join(j.seek(), j.writeMark())
}

// removeFirst removes the oldest segment's file.
func (j *Journal) removeFirst() error {
	if len(j.segments) == 1 {
		if err := j.closeActive(); err != nil {
			return err
		}
	}
	if err := os.Remove(j.segments[0].path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	j.segments = j.segments[1:]
	return nil
}
