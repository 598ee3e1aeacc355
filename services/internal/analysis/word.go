package analysis

import (
	"unicode"
	"unicode/utf8"
)

// maxStemBytes is the longest word that is stemmed: no natural word is longer,
// and stemmers need not be linear.
const maxStemBytes = 48

// word emits the stems of one word, or nothing for a stop word.
func (e *emitter) word(s string, class Class) {
	stems, known := e.stems[s]
	if !known {
		stems = e.analyzeWord(s)
		e.stems[s] = stems
	}
	for _, stem := range stems {
		e.emit(stem, class)
	}
}

// analyzeWord returns the distinct terms of one word.
func (e *emitter) analyzeWord(s string) []string {
	small := lower(s)
	folded := fold(small)
	if isStopWord(folded, small, e.lang) {
		return nil
	}
	if len(folded) > maxStemBytes || !isAlphabetic(folded) {
		return []string{folded}
	}
	if isCyrillic(folded) {
		return []string{fold(stemRussian(folded))}
	}
	if !isASCII(folded) {
		return []string{folded}
	}
	terms := []string{stemEnglish(folded)}
	if stem := stemmers[e.lang]; stem != nil {
		terms = addDistinct(terms, fold(stem(small)))
	}
	if spelled := fold(umlauts.Replace(small)); spelled != folded {
		terms = addDistinct(terms, stemEnglish(spelled))
	}
	return terms
}

func addDistinct(terms []string, term string) []string {
	if term == "" {
		return terms
	}
	for _, t := range terms {
		if t == term {
			return terms
		}
	}
	return append(terms, term)
}

// isAlphabetic reports that s has no digit in it: codes are not stemmed.
func isAlphabetic(s string) bool {
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			return false
		}
	}
	return true
}

func isCyrillic(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.Is(unicode.Cyrillic, r)
}
