package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// ErrNotCanonical is returned for a body that has no canonical JSON: no shape is set, a value is unset, a number is not
// finite, or a string is not valid UTF-8.
var ErrNotCanonical = errors.New("body has no canonical JSON")

// hashPrefix names the hash in a content hash.
const hashPrefix = "sha256:"

// maxPooled keeps one huge body from staying in the pool for good.
const maxPooled = 1 << 20

// scratch holds buffers to write a body into before its length is known.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// CanonicalBody returns the canonical JSON (RFC 8785) of the body in its published shape: {"type":"text","content":…},
// {"type":"message","turns":[{"role":…,"content":…}]} or {"type":"json","data":…}, with the keys in canonical order.
// Equal bodies give equal bytes whatever the order of their keys. Errors are ErrNotCanonical.
//
// Numbers are IEEE doubles, as in every JSON that goes through RFC 8785: integers beyond 2^53 are rounded.
func CanonicalBody(body *eventv1.Body) ([]byte, error) {
	buf, ok := scratch.Get().(*[]byte)
	if !ok {
		buf = new([]byte)
	}
	out, err := appendBody((*buf)[:0], body)
	var canonical []byte
	if err == nil {
		canonical = bytes.Clone(out)
	}
	if cap(out) <= maxPooled {
		*buf = out
		scratch.Put(buf)
	}
	return canonical, err
}

// ContentHash returns "sha256:" and the 64 hexadecimal digits of the hash of a body's canonical JSON.
func ContentHash(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hashPrefix + hex.EncodeToString(sum[:])
}

func appendBody(b []byte, body *eventv1.Body) ([]byte, error) {
	switch shape := body.GetBody().(type) {
	case *eventv1.Body_Text:
		return appendText(b, shape.Text.GetContent())
	case *eventv1.Body_Message:
		return appendMessage(b, shape.Message.GetTurns())
	case *eventv1.Body_Json:
		b = append(b, `{"data":`...)
		b, err := appendValue(b, shape.Json.GetData())
		return append(b, `,"type":"json"}`...), err
	default:
		return b, fmt.Errorf("%w: it has no shape", ErrNotCanonical)
	}
}

func appendText(b []byte, content string) ([]byte, error) {
	b = append(b, `{"content":`...)
	b, err := appendString(b, content)
	return append(b, `,"type":"text"}`...), err
}

func appendMessage(b []byte, turns []*eventv1.Turn) ([]byte, error) {
	var err error
	b = append(b, `{"turns":[`...)
	for i, turn := range turns {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"content":`...)
		if b, err = appendString(b, turn.GetContent()); err != nil {
			return b, err
		}
		b = append(b, `,"role":`...)
		if b, err = appendString(b, turn.GetRole()); err != nil {
			return b, err
		}
		b = append(b, '}')
	}
	return append(b, `],"type":"message"}`...), nil
}

func appendValue(b []byte, v *structpb.Value) ([]byte, error) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_NullValue:
		return append(b, "null"...), nil
	case *structpb.Value_BoolValue:
		return strconv.AppendBool(b, kind.BoolValue), nil
	case *structpb.Value_NumberValue:
		return appendNumber(b, kind.NumberValue)
	case *structpb.Value_StringValue:
		return appendString(b, kind.StringValue)
	case *structpb.Value_ListValue:
		return appendList(b, kind.ListValue.GetValues())
	case *structpb.Value_StructValue:
		return appendObject(b, kind.StructValue.GetFields())
	default:
		return b, fmt.Errorf("%w: a value is not set", ErrNotCanonical)
	}
}

func appendList(b []byte, values []*structpb.Value) ([]byte, error) {
	var err error
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendValue(b, v); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

func appendObject(b []byte, fields map[string]*structpb.Value) ([]byte, error) {
	var room [16]string // most objects of tools have fewer keys, so that sorting them needs no allocation
	keys := room[:0]
	for key := range fields {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareUTF16)
	var err error
	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendString(b, key); err != nil {
			return b, err
		}
		b = append(b, ':')
		if b, err = appendValue(b, fields[key]); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// compareUTF16 orders two valid UTF-8 strings by their UTF-16 code units. That is the order of the bytes, but for one
// case: characters above U+FFFF (first byte F0 and up) are surrogates in UTF-16, which sort before U+E000 to U+FFFF (first
// byte EE or EF).
func compareUTF16(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if (x >= 0xF0 && y >= 0xEE && y < 0xF0) || (y >= 0xF0 && x >= 0xEE && x < 0xF0) {
			x, y = y, x
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}

// appendNumber writes a number as ECMAScript's Number::toString does: the shortest digits that give the number back,
// plain from 1e-6 to below 1e21, otherwise with an exponent that has a sign and no leading zeros.
func appendNumber(b []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return b, fmt.Errorf("%w: a number is not finite", ErrNotCanonical)
	}
	if f == 0 {
		return append(b, '0'), nil // also for negative zero
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64), nil
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	// Go writes at least two digits of exponent: 1e-07.
	if n := len(b); b[n-2] == '0' && (b[n-3] == '-' || b[n-3] == '+') {
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b, nil
}

// appendString writes a string with the escapes that JSON cannot do without, and everything else as it is.
func appendString(b []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return b, fmt.Errorf("%w: a string is not valid UTF-8", ErrNotCanonical)
	}
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if escapedSize[c] == 1 {
			continue
		}
		b = append(b, s[start:i]...)
		b = appendEscape(b, c)
		start = i + 1
	}
	b = append(b, s[start:]...)
	return append(b, '"'), nil
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\t':
		return append(b, '\\', 't')
	case '\n':
		return append(b, '\\', 'n')
	case '\f':
		return append(b, '\\', 'f')
	case '\r':
		return append(b, '\\', 'r')
	default:
		const digits = "0123456789abcdef"
		return append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xF])
	}
}

// escapedSize is the number of bytes that each byte of a string has in canonical JSON.
var escapedSize = func() (sizes [256]uint8) {
	for c := range sizes {
		sizes[c] = 1
		if c < 0x20 {
			sizes[c] = 6
		}
	}
	for _, c := range []byte("\"\\\b\t\n\f\r") {
		sizes[c] = 2
	}
	return sizes
}()
