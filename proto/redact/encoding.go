package redact

import (
	"strconv"
	"strings"
)

// encoded gives the width of one character at i that stands for char: plain, escaped for JSON (nested strings included:
// any number of backslashes) or as a character entity. Zero means that something else is there.
func encoded(s string, i int, char byte) int {
	if i >= len(s) {
		return 0
	}
	switch s[i] {
	case char:
		return 1
	case '\\':
		return escaped(s, i, char)
	case '&':
		return entity(s, i, char)
	}
	return 0
}

// escaped gives the width of a JSON escape for char at i, such as \u003c or \/, or zero.
func escaped(s string, i int, char byte) int {
	run := backslashes(s, i)
	at := i + run
	if at < len(s) && s[at] == char {
		return run + 1
	}
	if at+5 > len(s) || s[at] != 'u' {
		return 0
	}
	if code, err := strconv.ParseUint(s[at+1:at+5], 16, 16); err != nil || code != uint64(char) {
		return 0
	}
	return run + 5
}

// maxAmpersands bounds how often an ampersand may have been escaped again, as in &amp;amp;lt;.
const maxAmpersands = 4

// entity gives the width of a character entity for char at i, such as &lt; or &#x3C;, or zero.
func entity(s string, i int, char byte) int {
	at := i + 1
	for range maxAmpersands {
		if !hasPrefixFold(s[at:], "amp;") {
			break
		}
		at += len("amp;")
	}
	semicolon := strings.IndexByte(s[at:min(len(s), at+8)], ';')
	if semicolon < 0 || !namesChar(s[at:at+semicolon], char) {
		return 0
	}
	return at + semicolon + 1 - i
}

// namesChar tells whether an entity's name, without '&' and ';', stands for char.
func namesChar(name string, char byte) bool {
	if digits, ok := strings.CutPrefix(name, "#"); ok {
		base := 10
		if hasPrefixFold(digits, "x") {
			digits, base = digits[1:], 16
		}
		code, err := strconv.ParseUint(digits, base, 32)
		return err == nil && code == uint64(char)
	}
	switch char {
	case '<':
		return strings.EqualFold(name, "lt")
	case '>':
		return strings.EqualFold(name, "gt")
	case '/':
		return strings.EqualFold(name, "sol")
	}
	return false
}

// backslashes counts the backslashes at i.
func backslashes(s string, i int) int {
	end := i
	for end < len(s) && s[end] == '\\' {
		end++
	}
	return end - i
}
