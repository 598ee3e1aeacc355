package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// lower lower-cases without regard to locale.
func lower(s string) string { return strings.ToLower(s) }

// letters that have no canonical decomposition but a plain spelling.
var plainLetters = strings.NewReplacer(
	"ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ð", "d", "ł", "l",
	"þ", "th", "ħ", "h", "ı", "i", "ς", "σ", "ё", "е",
)

// umlauts spells out what German, Finnish or Turkish keyboards have and others
// have not. ß is spelled ss by fold.
var umlauts = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue")

// fold drops diacritics where they are an ornament of the letter. In scripts
// where marks are vowels or tell letters apart (Devanagari, Thai, the Cyrillic
// й), they stay.
func fold(s string) string {
	if isASCII(s) {
		return s
	}
	s = plainLetters.Replace(s)
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	strip := false // the mark belongs to a letter whose marks are ornaments
	for _, r := range norm.NFD.String(s) {
		if unicode.Is(unicode.Mn, r) {
			if !strip {
				b.WriteRune(r)
			}
			continue
		}
		strip = unicode.In(r, unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew)
		b.WriteRune(r)
	}
	return norm.NFKC.String(b.String())
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
