package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	segmentSuffix = ".journal"
	// headerSize is the fixed part of an entry's frame: length, checksum, time.
	headerSize = 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segment is one file of entries, numbered without a gap from first on.
type segment struct {
	path  string
	first uint64
	count uint64
	size  int64
	last  time.Time
}

// end is the number after the segment's last entry.
func (s *segment) end() uint64 { return s.first + s.count }

// appendFrame adds an entry: length, CRC-32C over time and content, time in milliseconds, content.
func appendFrame(dst []byte, at time.Time, entry []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(entry))) //nolint:gosec // at most MaxEntry
	sumAt := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, 0)
	dst = binary.BigEndian.AppendUint64(dst, uint64(at.UnixMilli()))
	dst = append(dst, entry...)
	binary.BigEndian.PutUint32(dst[sumAt:], crc32.Checksum(dst[sumAt+4:], castagnoli))
	return dst
}

// errDamaged means bytes that are no entry: a torn write or a bad disk.
var errDamaged = errors.New("damaged entry")

// readFrame reads one entry; io.EOF at the clean end.
func readFrame(r io.Reader) (entry []byte, at time.Time, err error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errDamaged
		}
		return nil, time.Time{}, err
	}
	length := binary.BigEndian.Uint32(header[:])
	if length > MaxEntry {
		return nil, time.Time{}, errDamaged
	}
	entry = make([]byte, length)
	if _, err := io.ReadFull(r, entry); err != nil {
		return nil, time.Time{}, errDamaged
	}
	sum := crc32.Update(crc32.Checksum(header[8:], castagnoli), castagnoli, entry)
	if sum != binary.BigEndian.Uint32(header[4:]) {
		return nil, time.Time{}, errDamaged
	}
	return entry, timeIn(header[:]), nil
}

// timeIn reads the time of an entry's header.
func timeIn(header []byte) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(header[8:]))) //nolint:gosec // wrote as int64
}

// repair counts the entries of the last segment and cuts off what follows the last good one.
func (s *segment) repair() error {
	file, err := os.OpenFile(s.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	s.count = 0
	var good int64
	for {
		entry, at, err := readFrame(file)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, errDamaged) {
			s.size = good
			return file.Truncate(good)
		}
		if err != nil {
			return err
		}
		good += headerSize + int64(len(entry))
		s.count++
		s.last = at
	}
}

// read returns entries from the offset on. It ends early, without an error, at damage.
func (s *segment) read(offset int64, maxEntries, maxBytes int) ([][]byte, error) {
	file, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	section := io.NewSectionReader(file, offset, s.size-offset)
	var entries [][]byte
	for total := 0; len(entries) < maxEntries; {
		entry, _, err := readFrame(section)
		if errors.Is(err, io.EOF) || errors.Is(err, errDamaged) {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		if total += len(entry); total > maxBytes && len(entries) > 0 {
			return entries, nil
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// skip returns the offset n entries after the given one, or where the entries end.
func (s *segment) skip(offset int64, n uint64) (int64, error) {
	if n == 0 {
		return offset, nil
	}
	file, err := os.Open(s.path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	for ; n > 0 && offset < s.size; n-- {
		var length [4]byte
		if _, err := file.ReadAt(length[:], offset); err != nil {
			// A cut header is damage, which Read passes over.
			return s.size, nil
		}
		offset += headerSize + int64(binary.BigEndian.Uint32(length[:]))
	}
	return min(offset, s.size), nil
}

// timeAt returns when the entry at the offset was written, or when the segment was last.
func (s *segment) timeAt(offset int64) time.Time {
	file, err := os.Open(s.path)
	if err != nil {
		return s.last
	}
	defer func() { _ = file.Close() }()
	var header [headerSize]byte
	if _, err := file.ReadAt(header[:], offset); err != nil {
		return s.last
	}
	return timeIn(header[:])
}

func segmentName(first uint64) string { return fmt.Sprintf("%020d%s", first, segmentSuffix) }

// listSegments returns the segments in order. Their counts are not known yet.
func listSegments(dir string) ([]*segment, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var segments []*segment
	for _, file := range files {
		digits, ok := strings.CutSuffix(file.Name(), segmentSuffix)
		first, err := strconv.ParseUint(digits, 10, 64)
		if !ok || err != nil {
			continue
		}
		info, err := file.Info()
		if err != nil {
			return nil, err
		}
		segments = append(segments, &segment{path: filepath.Join(dir, file.Name()), first: first, size: info.Size(), last: info.ModTime()})
	}
	slices.SortFunc(segments, func(a, b *segment) int {
		return strings.Compare(a.path, b.path)
	})
	return segments, nil
}

// removeBefore removes the segments that end before the given number.
func removeBefore(dir string, first uint64) error {
	segments, err := listSegments(dir)
	if err != nil {
		return err
	}
	for _, s := range segments {
		if s.first < first {
			if err := os.Remove(s.path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
