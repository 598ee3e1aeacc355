package payload

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string at its opening quote. One that never ends is kept as far as it goes.
func (p *parser) str() string {
	p.pos++
	var out []byte
	start := p.pos
	for p.pos < len(p.in) {
		switch c := p.in[p.pos]; {
		case c == '"':
			out = append(out, p.in[start:p.pos]...)
			p.pos++
			return string(out)
		case c == '\\':
			out = append(out, p.in[start:p.pos]...)
			out = p.escape(out)
			start = p.pos
		case c < utf8.RuneSelf:
			p.problems.Repaired = p.problems.Repaired || c < ' '
			p.pos++
		default:
			r, size := utf8.DecodeRune(p.in[p.pos:])
			if r == utf8.RuneError && size == 1 {
				out = append(out, p.in[start:p.pos]...)
				out = append(out, "\ufffd"...)
				start = p.pos + 1
				p.problems.Repaired = true
			}
			p.pos += size
		}
	}
	p.problems.Cut = true
	return string(append(out, p.in[start:]...))
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape appends what the escape at the backslash stands for. An unknown one is kept as it is
// written: Windows paths come unescaped.
func (p *parser) escape(out []byte) []byte {
	if p.pos+1 >= len(p.in) {
		p.pos = len(p.in)
		return out
	}
	c := p.in[p.pos+1]
	if plain, ok := escapes[c]; ok {
		p.pos += 2
		return append(out, plain)
	}
	unit, ok := p.unit(p.pos)
	if !ok {
		p.problems.Repaired = true
		p.pos++
		return append(out, '\\')
	}
	p.pos += 6
	if !utf16.IsSurrogate(rune(unit)) {
		return utf8.AppendRune(out, rune(unit))
	}
	if next, ok := p.unit(p.pos); ok {
		if r := utf16.DecodeRune(rune(unit), rune(next)); r != utf8.RuneError {
			p.pos += 6
			return utf8.AppendRune(out, r)
		}
	}
	p.problems.Repaired = true
	return append(out, "\ufffd"...)
}

// unit reads a \uXXXX escape at the given position.
func (p *parser) unit(at int) (uint16, bool) {
	if at+6 > len(p.in) || p.in[at] != '\\' || p.in[at+1] != 'u' {
		return 0, false
	}
	var unit uint16
	for _, c := range p.in[at+2 : at+6] {
		digit := bytes.IndexByte([]byte("0123456789abcdef"), c|0x20)
		if digit < 0 || c < '0' {
			return 0, false
		}
		unit = unit<<4 | uint16(digit) //nolint:gosec // 0 to 15
	}
	return unit, true
}
