package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// scanLimit bounds how many bytes at each end of a long string are looked at; the middle of a long output says least.
const scanLimit = 8 << 10

// ends returns the string, or its head and tail with a line break between them when it is long.
func ends(s string) string {
	if len(s) <= 2*scanLimit {
		return s
	}
	return runeSafe(s[:scanLimit]) + "\n" + runeSafe(s[len(s)-scanLimit:])
}

// head returns at most n bytes, never half a character.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return runeSafe(s[:n])
}

// runeSafe drops the broken characters that cutting at a byte may leave at either end.
func runeSafe(s string) string {
	for s != "" {
		if r, n := utf8.DecodeRuneInString(s); r != utf8.RuneError || n > 1 {
			break
		}
		s = s[1:]
	}
	for s != "" {
		if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n > 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}

// cut shortens to at most n characters, at a word where there is one, and marks it. Backquotes stay in pairs.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	if n < 4 {
		return ""
	}
	end, count, word := 0, 0, 0
	for i, r := range s {
		if count == n-2 {
			end = i
			break
		}
		if unicode.IsSpace(r) {
			word = i
		}
		count++
	}
	if word > end/2 {
		end = word
	}
	out := strings.TrimRight(s[:end], " \t,;:.-(")
	if strings.Count(out, "`")%2 == 1 {
		out += "`"
	}
	return out + "…"
}

// oneLine joins all white space into single spaces and drops control characters and terminal colours.
func oneLine(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range stripEscapes(s) {
		if unicode.IsSpace(r) || r == utf8.RuneError || unicode.IsControl(r) {
			space = true
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		b.WriteRune(r)
	}
	return b.String()
}

// isClean reports printable ASCII with single inner spaces, by far the commonest input.
func isClean(s string) bool {
	last := byte(' ')
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' || c > '~' || (c == ' ' && last == ' ') {
			return false
		}
		last = c
	}
	return s == "" || last != ' '
}

// stripEscapes removes terminal control sequences (ESC [ … letter).
func stripEscapes(s string) string {
	at := strings.IndexByte(s, 0x1b)
	if at < 0 {
		return s
	}
	var b strings.Builder
	for at >= 0 {
		b.WriteString(s[:at])
		s = s[at+1:]
		if strings.HasPrefix(s, "[") {
			end := 1
			for end < len(s) && (s[end] < '@' || s[end] > '~') {
				end++
			}
			s = s[min(end+1, len(s)):]
		}
		at = strings.IndexByte(s, 0x1b)
	}
	b.WriteString(s)
	return b.String()
}

// padded lower-cases and turns everything but letters, digits and apostrophes into single spaces, with one at each end,
// so that " word " finds whole words.
func padded(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte(' ')
	space := true
	for _, r := range s {
		if r == '’' {
			r = '\''
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '\'' {
			b.WriteRune(unicode.ToLower(r))
			space = false
		} else if !space {
			b.WriteByte(' ')
			space = true
		}
	}
	if !space {
		b.WriteByte(' ')
	}
	return b.String()
}

// weight counts words; a script without spaces counts two characters as a word.
func weight(s string) int {
	words, wide, in := 0, 0, false
	for _, r := range s {
		switch {
		case isWide(r):
			wide++
			in = false
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '\'' || r == '’':
			if !in {
				words++
			}
			in = true
		default:
			in = false
		}
	}
	return words + wide/2
}

// isWide reports a character of a script that is written without spaces.
func isWide(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// hasAny reports whether s contains one of the strings.
func hasAny(s string, needles []string) bool {
	for _, n := range needles {
		if strings.Contains(s, n) {
			return true
		}
	}
	return false
}

// startsAny reports whether s begins with one of the strings.
func startsAny(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// upperFirst makes the first letter a capital unless the word looks like code.
func upperFirst(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if strings.ContainsAny(word, "`_./:()0123456789") || strings.ToLower(word) != word {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}
