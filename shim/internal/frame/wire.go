package frame

import "errors"

// Limits of one frame, in bytes. A decoder refuses what exceeds them before it allocates.
const (
	// MaxPayload is the largest payload that a hook keeps whole.
	MaxPayload = 64 << 20
	// MaxMeta bounds all fields of a request beside the payload.
	MaxMeta = 1 << 20
	// MaxStdout bounds the text that an answer may carry.
	MaxStdout = 1 << 20
	// headerSize is the fixed part: mark, version, type, a reserved byte, two lengths.
	headerSize = 12
)

const (
	mark    = 'K'
	version = 1

	typeRequest = 1
	typeAnswer  = 2
)

var (
	// ErrShort means that the bytes end before the frame does: read more and decode again.
	ErrShort = errors.New("frame: incomplete")
	// ErrMalformed means that the bytes are no frame of this protocol.
	ErrMalformed = errors.New("frame: malformed")
	// ErrVersion means a frame of a protocol version that this build does not speak.
	ErrVersion = errors.New("frame: unsupported version")
	// ErrTooLarge means that a length field exceeds its limit.
	ErrTooLarge = errors.New("frame: too large")
)

// header is the decoded fixed part of a frame.
type header struct {
	kind    byte
	meta    int
	payload int
}

func appendHeader(dst []byte, kind byte, meta, payload int) []byte {
	dst = append(dst, mark, version, kind, 0)
	dst = appendUint32(dst, meta)
	return appendUint32(dst, payload)
}

func appendUint32(dst []byte, n int) []byte {
	return append(dst, byte(n>>24&0xff), byte(n>>16&0xff), byte(n>>8&0xff), byte(n&0xff))
}

func uint32At(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// parseHeader reads the fixed part and checks it against the limits of its kind.
func parseHeader(b []byte, kind byte, maxPayload uint32) (header, error) {
	if len(b) < headerSize {
		return header{}, ErrShort
	}
	switch {
	case b[0] != mark || b[2] != kind:
		return header{}, ErrMalformed
	case b[1] != version:
		return header{}, ErrVersion
	}
	meta, payload := uint32At(b[4:]), uint32At(b[8:])
	if meta > MaxMeta || payload > maxPayload {
		return header{}, ErrTooLarge
	}
	return header{kind: kind, meta: int(meta), payload: int(payload)}, nil
}

// appendField adds one tagged field. A reader skips tags that it does not know, so a newer
// hook can talk to an older relay.
func appendField[T string | []byte](dst []byte, tag byte, value T) []byte {
	dst = append(dst, tag)
	dst = appendUvarint(dst, uint64(len(value)))
	return append(dst, value...)
}

func appendNumber(dst []byte, tag byte, n uint64) []byte {
	var buf [10]byte
	return appendField(dst, tag, appendUvarint(buf[:0], n))
}

// appendSigned adds a number that may be negative as the bits of its two's complement.
func appendSigned(dst []byte, tag byte, n int64) []byte {
	return appendNumber(dst, tag, uint64(n)) //nolint:gosec // the bits are meant, see signed
}

// signed is the number that appendSigned added.
func signed(n uint64) int64 {
	return int64(n) //nolint:gosec // the bits are meant, see appendSigned
}

// appendUvarint is written out here because encoding/binary links reflection into the hook.
func appendUvarint(dst []byte, n uint64) []byte {
	for n >= 0x80 {
		dst = append(dst, byte(n)|0x80)
		n >>= 7
	}
	return append(dst, byte(n))
}

// uvarint returns the number and its length in bytes; length 0 means malformed.
func uvarint(b []byte) (uint64, int) {
	var n uint64
	for i := 0; i < len(b) && i < 10; i++ {
		if i == 9 && b[i] > 1 {
			return 0, 0
		}
		n |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return n, i + 1
		}
	}
	return 0, 0
}

// nextField splits the first field off b.
func nextField(b []byte) (tag byte, value, rest []byte, err error) {
	tag = b[0]
	size, n := uvarint(b[1:])
	if n == 0 {
		return 0, nil, nil, ErrMalformed
	}
	b = b[1+n:]
	if size > uint64(len(b)) {
		return 0, nil, nil, ErrMalformed
	}
	return tag, b[:size], b[size:], nil
}

// number decodes a numeric field that fills its value exactly.
func number(value []byte) (uint64, error) {
	n, size := uvarint(value)
	if size == 0 || size != len(value) {
		return 0, ErrMalformed
	}
	return n, nil
}
