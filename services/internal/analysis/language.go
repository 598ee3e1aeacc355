package analysis

import (
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/french"
	"github.com/kljensen/snowball/russian"
	"github.com/kljensen/snowball/spanish"
)

// language is one of those whose words are stemmed by their own rules.
type language uint8

const (
	langEnglish language = iota
	langGerman
	langFrench
	langSpanish
	langRussian
	languages // their number
)

// stemmers add to the English stem, which every Latin word gets. Russian is not
// among them: its script alone decides.
var stemmers = [languages]func(string) string{
	langGerman:  stemGerman,
	langFrench:  func(word string) string { return french.Stem(word, true) },
	langSpanish: func(word string) string { return spanish.Stem(word, true) },
}

func stemEnglish(word string) string { return orWhole(english.Stem(word, true), word) }

func stemRussian(word string) string { return orWhole(russian.Stem(word, true), word) }

// orWhole keeps a word that its stemmer would swallow.
func orWhole(stem, word string) string {
	if stem == "" {
		return word
	}
	return stem
}

// letterHints are letters that one of our languages has and English has not.
// German needs two points for the umlauts, which others share.
var letterHints = map[rune]struct {
	lang   language
	points int
}{
	'ß': {langGerman, 2}, 'ä': {langGerman, 1}, 'ö': {langGerman, 1}, 'ü': {langGerman, 1},
	'ñ': {langSpanish, 2}, '¿': {langSpanish, 2}, '¡': {langSpanish, 2},
	'í': {langSpanish, 1}, 'ó': {langSpanish, 1}, 'ú': {langSpanish, 1}, 'á': {langSpanish, 1},
	'è': {langFrench, 1}, 'ê': {langFrench, 1}, 'ç': {langFrench, 1}, 'œ': {langFrench, 1},
	'à': {langFrench, 1}, 'é': {langFrench, 1}, 'î': {langFrench, 1}, 'ô': {langFrench, 1}, 'û': {langFrench, 1},
}

// suffixHints recognise German nouns in queries that are too short for words of
// grammar. No English word of that length ends so.
var suffixHints = []string{"ungen", "heiten", "keiten", "schaft", "schaften", "keit"}

// detectBytes is how much of a text is read to tell its language.
const detectBytes = 4 << 10

// detect tells the language of a text by its stop words, its letters and a few
// endings. English wins every tie.
func detect(text string) language {
	if len(text) > detectBytes {
		text = strings.ToValidUTF8(text[:detectBytes], "")
	}
	var points [languages]int
	text = lower(text)
	for _, r := range text {
		if hint, ok := letterHints[r]; ok {
			points[hint.lang] += hint.points
		}
	}
	for word := range strings.FieldsFuncSeq(text, notLetter) {
		for lang := range languages {
			if _, ok := stopWords[lang][word]; ok {
				points[lang]++
			}
		}
		if hasGermanEnding(word) {
			points[langGerman]++
		}
	}
	best := langEnglish
	for lang := range languages {
		if points[lang] > points[best] {
			best = lang
		}
	}
	return best
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }

func hasGermanEnding(word string) bool {
	const shortest = 8
	if len(word) < shortest {
		return false
	}
	for _, ending := range suffixHints {
		if strings.HasSuffix(word, ending) {
			return true
		}
	}
	return false
}

// isStopWord reports a word without meaning of its own: in English, in the
// text's language, and in Russian for Cyrillic.
func isStopWord(folded, small string, lang language) bool {
	if _, ok := stopWords[langEnglish][folded]; ok {
		return true
	}
	list := stopWords[lang]
	if isCyrillic(folded) {
		list = stopWords[langRussian]
	}
	if _, ok := list[small]; ok {
		return true
	}
	_, ok := list[folded]
	return ok
}

// germanEndings are those of cases and plurals, longest first.
var germanEndings = []string{"ern", "em", "en", "er", "es", "e", "s", "n"}

// stemGerman takes one inflectional ending off a word. Umlauts and ß are folded
// first, so that Häuser and Haus meet. It is light on purpose: what is joined
// wrongly cannot be told apart again.
func stemGerman(word string) string {
	const shortestStem = 4
	word = fold(word)
	for _, ending := range germanEndings {
		stem, found := strings.CutSuffix(word, ending)
		if !found || len(stem) < shortestStem {
			continue
		}
		if ending == "s" && strings.ContainsRune("aeiousz", rune(stem[len(stem)-1])) {
			continue
		}
		return stem
	}
	return word
}
