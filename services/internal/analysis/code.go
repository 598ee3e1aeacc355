package analysis

import "strings"

// numeric recognises versions (1.26.8, v1.26.8, go1.26, 2.0.0-rc1) and dates
// (2026-03-01). They are kept whole, without prefix and suffix, and by their
// first two numbers: 1.26 finds 1.26.8. It reports whether s was one.
func (e *emitter) numeric(s string) bool {
	prefix, numbers, suffix := cutNumeric(s)
	if len(numbers) < 2 {
		return false
	}
	sep := s[len(prefix)+len(numbers[0]) : len(prefix)+len(numbers[0])+1]
	e.emitWhole(s, ClassCode)
	if bare := strings.Join(numbers, sep); bare != s {
		e.emitWhole(bare, ClassCode)
	}
	if len(numbers) > 2 {
		e.emitWhole(numbers[0]+sep+numbers[1], ClassCode)
	}
	if len(prefix) > 1 {
		e.word(prefix, ClassPart)
	}
	if suffix != "" {
		e.component(suffix)
	}
	return true
}

// cutNumeric takes s apart as letters, numbers joined by one kind of '.' or '-',
// and a rest that begins with a '-' or '_'. numbers is nil if s has another form.
func cutNumeric(s string) (prefix string, numbers []string, suffix string) {
	i := 0
	for i < len(s) && isASCIILetter(s[i]) {
		i++
	}
	prefix = s[:i]
	var sep byte
	for i < len(s) {
		start := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		if isoTime(s, i, len(numbers), sep) {
			return prefix, append(numbers, s[start:i]), ""
		}
		if i == start || (i < len(s) && isASCIILetter(s[i])) {
			return prefix, cutShort(numbers, sep), s[start:]
		}
		numbers = append(numbers, s[start:i])
		if i == len(s) {
			return prefix, numbers, ""
		}
		if sep == 0 {
			sep = s[i]
		}
		if s[i] != sep || (sep != '.' && sep != '-') {
			return prefix, cutShort(numbers, sep), s[i:]
		}
		i++
	}
	return prefix, nil, ""
}

// isoTime reports that s[i] is the T between the date and the time of RFC 3339.
// The hour behind it is no part of the date.
func isoTime(s string, i, numbers int, sep byte) bool {
	return sep == '-' && numbers == 2 && i+1 < len(s) && s[i]|0x20 == 't' && s[i+1] >= '0' && s[i+1] <= '9'
}

// cutShort refuses numbers whose rest does not begin like a suffix: 1-2-many is
// an identifier, 1.2-many a version.
func cutShort(numbers []string, sep byte) []string {
	if sep != '.' {
		return nil
	}
	return numbers
}

func isASCIILetter(c byte) bool {
	c |= 0x20
	return c >= 'a' && c <= 'z'
}

// shortHexLen is the length to which people and tools abbreviate commit ids.
const shortHexLen = 7

// isHex reports a hexadecimal id: a commit, digest or address long enough not to
// be a word, with at least one digit and one letter.
func isHex(s string) bool {
	if len(s) < shortHexLen {
		return false
	}
	digit, letter := false, false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digit = true
		case c|0x20 >= 'a' && c|0x20 <= 'f' && isASCIILetter(c):
			letter = true
		default:
			return false
		}
	}
	return digit && letter
}

// hexID emits a hexadecimal id whole and by its first seven digits, so that an
// abbreviated commit finds the full one and the reverse.
func (e *emitter) hexID(s string) {
	e.emitWhole(s, ClassCode)
	if len(s) > shortHexLen {
		e.emitWhole(s[:shortHexLen], ClassCode)
	}
}

// isUUID reports the 8-4-4-4-12 form, whose parts mean nothing alone.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		c := s[i]
		isDigit := c >= '0' && c <= '9'
		isLetter := isASCIILetter(c) && c|0x20 <= 'f'
		if dash != (c == '-') || (!dash && !isDigit && !isLetter) {
			return false
		}
	}
	return true
}
