package hook

import "bytes"

// eventKeys are the members that name the event in the payloads of the agents.
var eventKeys = [...]string{"hook_event_name", "hookEventName", "hookName", "agent_action_name"}

// maxToken bounds what is kept of a string while looking for the event's name.
const maxToken = 48

// scanner finds the end of one JSON value in a stream of chunks, and on the way the value of
// the top-level member that names the event. It checks no syntax beyond strings and nesting:
// whether the value is sound is the relay's business.
type scanner struct {
	depth   int
	started bool
	// bare: the input starts like no object, array or string, so its end cannot be seen.
	bare    bool
	done    bool
	quoted  bool
	escaped bool

	object   bool // the outermost value is an object
	atKey    bool // the next string of the outermost object is a key
	isEvent  bool // the last key names the event
	event    string
	token    [maxToken]byte
	tokenLen int

	half   byte // the first byte of a 16-bit unit that a chunk cut
	halved bool
}

// feed consumes a chunk and returns how many of its bytes belong to the value.
func (s *scanner) feed(b []byte) int {
	i := 0
	for i < len(b) && !s.done {
		switch {
		case s.bare:
			return len(b)
		case s.quoted:
			i += s.feedString(b[i:])
		default:
			s.feedPlain(b[i])
			i++
		}
	}
	return i
}

func (s *scanner) feedPlain(c byte) {
	switch c {
	case '"':
		s.started, s.quoted, s.tokenLen = true, true, 0
	case '{', '[':
		if !s.started {
			s.started, s.object = true, c == '{'
			s.atKey = s.object
		}
		s.depth++
	case '}', ']':
		if !s.started {
			s.bare = true
			return
		}
		s.depth--
		s.done = s.depth <= 0
	case ',':
		s.atKey = s.object
	case ':':
		s.atKey = s.atKey && s.depth != 1
	case ' ', '\t', '\r', '\n':
	default:
		s.bare = !s.started
	}
}

// feedString consumes bytes of a string up to and including its closing quote. The position
// of the next quote is kept over escapes, so the work stays linear in the length.
func (s *scanner) feedString(b []byte) int {
	i, quote := 0, -1
	for i < len(b) {
		if s.escaped {
			s.escaped = false
			s.keep(b[i : i+1])
			i++
			continue
		}
		if quote < i {
			if quote = bytes.IndexByte(b[i:], '"'); quote < 0 {
				quote = len(b)
			} else {
				quote += i
			}
		}
		if slash := bytes.IndexByte(b[i:quote], '\\'); slash >= 0 {
			s.keep(b[i : i+slash])
			s.escaped = true
			i += slash + 1
			continue
		}
		s.keep(b[i:quote])
		if quote == len(b) {
			return quote
		}
		s.endString()
		return quote + 1
	}
	return i
}

func (s *scanner) keep(b []byte) {
	if s.depth == 1 && s.object {
		s.tokenLen += copy(s.token[s.tokenLen:], b)
	}
}

func (s *scanner) endString() {
	s.quoted = false
	if s.depth == 0 {
		s.done = true
		return
	}
	if s.depth != 1 || !s.object {
		return
	}
	token := string(s.token[:s.tokenLen])
	if s.atKey {
		s.isEvent = isEventKey(token)
		return
	}
	if s.isEvent && s.event == "" {
		s.event = token
	}
	s.isEvent = false
}

func isEventKey(key string) bool {
	for _, k := range eventKeys {
		if k == key {
			return true
		}
	}
	return false
}

// byteOrder is the order of the bytes in UTF-16 input.
type byteOrder int

const (
	utf8Bytes byteOrder = iota
	littleEndian
	bigEndian
)

// leadingMarks returns how many bytes of byte-order marks and blanks to skip, the encoding that
// the mark announces, and whether b is long enough to tell. The mark of UTF-16 is kept, because
// the relay needs it to decode the bytes.
func leadingMarks(b []byte) (skip int, order byteOrder, known bool) {
	for {
		rest := b[skip:]
		switch {
		case len(rest) == 0:
			return skip, utf8Bytes, false
		case rest[0] == 0xff || rest[0] == 0xfe:
			if len(rest) < 2 {
				return skip, utf8Bytes, false
			}
			switch {
			case rest[0] == 0xff && rest[1] == 0xfe:
				return skip, littleEndian, true
			case rest[0] == 0xfe && rest[1] == 0xff:
				return skip, bigEndian, true
			}
			return skip, utf8Bytes, true
		case rest[0] == 0xef:
			if len(rest) < 3 {
				return skip, utf8Bytes, false
			}
			if rest[1] != 0xbb || rest[2] != 0xbf {
				return skip, utf8Bytes, true
			}
			skip += 3
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\n':
			skip++
		default:
			return skip, utf8Bytes, true
		}
	}
}

// feedUTF16 is feed for 16-bit units, which a chunk may end in the middle of. Every character
// that is not ASCII stands for no structure, so any byte does for it.
func (s *scanner) feedUTF16(b []byte, order byteOrder) int {
	for i, c := range b {
		if !s.halved {
			s.half, s.halved = c, true
			continue
		}
		s.halved = false
		low, high := s.half, c
		if order == bigEndian {
			low, high = high, low
		}
		switch {
		case low == 0xff && high == 0xfe:
			continue // a byte-order mark
		case high != 0:
			low = 0x80
		}
		s.feed([]byte{low})
		if s.done {
			return i + 1
		}
	}
	return len(b)
}
