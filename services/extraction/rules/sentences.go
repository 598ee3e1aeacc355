package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// abbreviations end in a full stop that ends no sentence.
var abbreviations = map[string]bool{
	"e.g.": true, "i.e.": true, "etc.": true, "vs.": true, "cf.": true, "approx.": true, "incl.": true, "resp.": true, "no.": true,
	"z.b.": true, "d.h.": true, "bzw.": true, "ca.": true, "usw.": true, "nr.": true, "p.ex.": true, "p.ej.": true, "ej.": true,
	"dr.": true, "mr.": true, "mrs.": true, "fig.": true, "sec.": true,
}

// sentences splits plain text at sentence ends of Latin and East Asian punctuation. A stop inside a file name, a
// version, an abbreviation or backquotes ends nothing. The pieces keep their punctuation.
func sentences(s string) []string {
	var out []string
	start, code := 0, false
	for i, r := range s {
		if r == '`' {
			code = !code
			continue
		}
		next := i + utf8.RuneLen(r)
		if r == utf8.RuneError {
			next = i + 1
		}
		if code || !endsSentence(s, start, next, r) {
			continue
		}
		if piece := strings.TrimSpace(s[start:next]); piece != "" {
			out = append(out, piece)
		}
		start = next
	}
	if piece := strings.TrimSpace(s[start:]); piece != "" {
		out = append(out, piece)
	}
	return out
}

func endsSentence(s string, start, next int, r rune) bool {
	switch r {
	case '。', '！', '？', '．':
		following, _ := utf8.DecodeRuneInString(s[next:])
		return following != '」' && following != '”' && following != '）'
	case '.', '!', '?':
		if next >= len(s) {
			return true
		}
		following, _ := utf8.DecodeRuneInString(s[next:])
		return unicode.IsSpace(following) && (r != '.' || !endsInAbbreviation(s[start:next]))
	}
	return false
}

func endsInAbbreviation(s string) bool {
	word := s[strings.LastIndexAny(s, " (\t")+1:]
	if abbreviations[strings.ToLower(word)] {
		return true
	}
	digits := strings.TrimSuffix(word, ".")
	if utf8.RuneCountInString(digits) == 1 && len(word) < len(s) {
		return unicode.IsLetter([]rune(digits)[0])
	}
	return digits != "" && len(digits) <= 2 && strings.Trim(digits, "0123456789") == "" && len(word) == len(s)
}
