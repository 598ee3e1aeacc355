package redact

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape resolves JSON's escapes once, wherever they stand. What is no valid escape stays as it is.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	plain := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			plain = append(plain, s[i])
			i++
			continue
		}
		r, width := escapeAt(s, i)
		plain = utf8.AppendRune(plain, r)
		i += width
	}
	return string(plain)
}

// escapedOffset gives the offset in s of what is at offset plain in unescape(s).
func escapedOffset(s string, plain int) int {
	i := 0
	for length := 0; i < len(s); {
		width, added := 1, 1
		if s[i] == '\\' {
			r, escape := escapeAt(s, i)
			width, added = escape, len(string(r))
		}
		if length+added > plain {
			return i
		}
		length += added
		i += width
	}
	return i
}

// escapeAt reads the escape at i and gives its width in bytes. A backslash that starts none stands for itself.
func escapeAt(s string, i int) (r rune, width int) {
	if i+1 >= len(s) {
		return '\\', 1
	}
	switch c := s[i+1]; c {
	case '"', '\\', '/':
		return rune(c), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		return unicodeEscape(s, i)
	}
	return '\\', 1
}

// unicodeEscape reads \uXXXX at i, or two of them that make one character.
func unicodeEscape(s string, i int) (r rune, width int) {
	const size = len(`\u0000`)
	high, ok := codeUnit(s, i)
	if !ok {
		return '\\', 1
	}
	if !utf16.IsSurrogate(high) {
		return high, size
	}
	if low, ok := codeUnit(s, i+size); ok {
		if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
			return r, 2 * size
		}
	}
	return utf8.RuneError, size
}

func codeUnit(s string, i int) (rune, bool) {
	if i+6 > len(s) || s[i] != '\\' || s[i+1] != 'u' || !isHex(s[i+2:i+6]) {
		return 0, false
	}
	code, err := strconv.ParseUint(s[i+2:i+6], 16, 16)
	return rune(code), err == nil
}
