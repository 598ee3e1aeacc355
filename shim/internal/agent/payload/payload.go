// Package payload reads what coding agents write to a hook's stdin: JSON, most of the time.
//
// It is lenient where encoding/json is strict, because an event must not be lost for the way it
// was written: marks and UTF-16 at the start, raw control characters and bad UTF-8 in strings,
// unpaired surrogates, text after the value, and values that end too early are all read as far
// as they go. Keys are matched exactly, never by folding case, and numbers keep their digits.
package payload

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
)

// MaxDepth is the deepest nesting that is read as structure; what lies deeper is kept as its
// JSON text.
const MaxDepth = 100

// Problems says what had to be overlooked to read a payload.
type Problems struct {
	// Empty: there was nothing but space.
	Empty bool
	// Cut: the value ended early or was malformed; what came before is kept.
	Cut bool
	// Repaired: bad UTF-8, an unpaired surrogate, an unknown escape or a raw control character.
	Repaired bool
	// Tail: something other than space followed the value.
	Tail bool
}

// Decode reads the first JSON value of data. Objects become map[string]any, lists []any and
// numbers json.Number. It never fails: a payload that is no JSON at all gives nil and Cut.
func Decode(data []byte) (any, Problems) {
	p := parser{in: Normalize(data)}
	p.space()
	if p.pos == len(p.in) {
		return nil, Problems{Empty: true}
	}
	v, _ := p.value(0)
	p.space()
	p.problems.Tail = !p.problems.Cut && p.pos < len(p.in)
	return v, p.problems
}

// DecodeObject is Decode for payloads that should be an object; ok is false when it is not.
func DecodeObject(data []byte) (obj Object, problems Problems, ok bool) {
	v, problems := Decode(data)
	m, ok := v.(map[string]any)
	return m, problems, ok
}

// Blank reports whether a payload holds nothing but marks and space.
func Blank(data []byte) bool { return len(Normalize(data)) == 0 }

// Normalize removes byte-order marks and leading NULs, and turns UTF-16 into UTF-8.
func Normalize(data []byte) []byte {
	mark := []byte("\xef\xbb\xbf")
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		data = fromUTF16(data[2:], 0, 1)
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		data = fromUTF16(data[2:], 1, 0)
	case bytes.HasPrefix(data, []byte{'{', 0}):
		data = fromUTF16(data, 0, 1)
	case bytes.HasPrefix(data, []byte{0, '{'}):
		data = fromUTF16(data, 1, 0)
	}
	for {
		trimmed := bytes.TrimLeft(bytes.TrimPrefix(data, mark), "\x00 \t\r\n")
		if len(trimmed) == len(data) {
			return data
		}
		data = trimmed
	}
}

func fromUTF16(data []byte, low, high int) []byte {
	units := make([]uint16, 0, len(data)/2)
	for i := 0; i+1 < len(data); i += 2 {
		units = append(units, uint16(data[i+high])<<8|uint16(data[i+low]))
	}
	return []byte(string(utf16.Decode(units)))
}

type parser struct {
	in       []byte
	pos      int
	problems Problems
}

func (p *parser) space() {
	for p.pos < len(p.in) {
		switch p.in[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return
		}
	}
}

// peek returns the next byte that is no space, 0 at the end.
func (p *parser) peek() byte {
	p.space()
	if p.pos == len(p.in) {
		return 0
	}
	return p.in[p.pos]
}

// value reads one value; ok is false when there was none to read.
func (p *parser) value(depth int) (v any, ok bool) {
	switch c := p.peek(); {
	case (c == '{' || c == '[') && depth >= MaxDepth:
		return p.rawNested(), true
	case c == '{':
		return p.object(depth), true
	case c == '[':
		return p.list(depth), true
	case c == '"':
		return p.str(), true
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	return p.literal()
}

func (p *parser) literal() (any, bool) {
	for text, v := range map[string]any{"true": true, "false": false, "null": nil} {
		if bytes.HasPrefix(p.in[p.pos:], []byte(text)) {
			p.pos += len(text)
			return v, true
		}
	}
	p.problems.Cut = true
	return nil, false
}

func (p *parser) number() (any, bool) {
	start := p.pos
	for p.pos < len(p.in) && bytes.IndexByte([]byte("+-.0123456789eE"), p.in[p.pos]) >= 0 {
		p.pos++
	}
	if text := p.in[start:p.pos]; json.Valid(text) {
		return json.Number(text), true
	}
	p.problems.Cut = true
	return nil, false
}

func (p *parser) object(depth int) map[string]any {
	obj := map[string]any{}
	p.pos++
	for {
		switch p.peek() {
		case '}':
			p.pos++
			return obj
		case ',':
			p.pos++
			continue
		case '"':
		default:
			p.problems.Cut = true
			return obj
		}
		key := p.str()
		if p.peek() != ':' {
			p.problems.Cut = true
			return obj
		}
		p.pos++
		v, ok := p.value(depth + 1)
		if ok {
			obj[key] = v
		}
		if p.problems.Cut {
			return obj
		}
	}
}

func (p *parser) list(depth int) []any {
	list := []any{}
	p.pos++
	for {
		switch p.peek() {
		case ']':
			p.pos++
			return list
		case ',':
			p.pos++
			continue
		}
		v, ok := p.value(depth + 1)
		if ok {
			list = append(list, v)
		}
		if p.problems.Cut {
			return list
		}
	}
}

// rawNested skips one balanced object or list and returns its text.
func (p *parser) rawNested() string {
	start, open := p.pos, 0
	for p.pos < len(p.in) {
		switch p.in[p.pos] {
		case '"':
			p.str()
			continue
		case '{', '[':
			open++
		case '}', ']':
			open--
		}
		p.pos++
		if open == 0 {
			return string(bytes.ToValidUTF8(p.in[start:p.pos], []byte("\ufffd")))
		}
	}
	p.problems.Cut = true
	return string(bytes.ToValidUTF8(p.in[start:], []byte("\ufffd")))
}
