package analysis

import (
	"unicode"
	"unicode/utf8"
)

// gramScripts are written without spaces between words, or (Hangul) with
// particles glued to them.
var gramScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// isGram reports a rune that is indexed by pairs.
func isGram(r rune) bool {
	const (
		firstGram     = 0x0E00 // Thai, the lowest of the scripts
		prolongedMark = 'ー'    // shared by both kana, so of neither
	)
	if r < firstGram {
		return false
	}
	if r == prolongedMark {
		return true
	}
	// Digits of these scripts are numbers, not words.
	return unicode.In(r, gramScripts...) && !unicode.IsDigit(r) && !unicode.IsPunct(r) && !unicode.IsSymbol(r)
}

// grams emits each pair of neighbouring characters of the run, or its only
// character. A Han character is often a word, so documents also hold each one
// alone; a query asks for it alone only when it stands alone.
func (e *emitter) grams(run string) {
	if utf8.RuneCountInString(run) == 1 {
		e.emit(run, ClassGram)
		return
	}
	before := -1 // where the rune before the current one begins
	for i, r := range run {
		size := utf8.RuneLen(r)
		if before >= 0 {
			e.emit(run[before:i+size], ClassGram)
		}
		if !e.query && unicode.Is(unicode.Han, r) {
			e.emit(run[i:i+size], ClassGram)
		}
		before = i
		if e.full() {
			return
		}
	}
}
