// Package analysis turns text into the terms that the lexical lane indexes and
// looks up.
//
// Documents and queries go through the same code, so that what a record says
// and what a prompt asks meet in the same terms:
//
//   - Unicode is normalised (NFKC), lower-cased, and diacritics of Latin, Greek,
//     Arabic and Hebrew letters are dropped; umlauts are also spelled out
//     (Übergabe is found as ubergabe and as uebergabe).
//   - Words are stemmed. English stems are always made; a text that is
//     recognised as German, French or Spanish gets the stems of that language
//     as well, and Cyrillic words get Russian ones. A query that is too short to
//     be recognised therefore still meets the English stem of the same form.
//   - Identifiers, paths, flags, versions, error codes and hexadecimal ids are
//     kept whole and, where they have parts, split.
//   - Scripts written without spaces (Han, Kana, Thai, Lao, Khmer, Myanmar) and
//     Hangul become overlapping pairs of characters, so that any phrase inside a
//     longer one is found.
//   - Words that carry no meaning of their own (stop words) are dropped.
//
// The work is linear in the text, and what comes out is bounded: see
// [MaxTermBytes], [MaxDistinctTerms] and [MaxTerms]. Any string is legal.
package analysis

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of what one text can cost and yield.
const (
	// MaxTextBytes is how much of a text is read. What lies behind is ignored.
	MaxTextBytes = 1 << 20
	// MaxTermBytes is the longest term. Longer ones are shortened to a readable
	// head and a hash of the whole, so that equal tokens stay equal.
	MaxTermBytes = 64
	// MaxDistinctTerms is how many different terms one text yields. Later new
	// terms are dropped; repeats of known ones still count.
	MaxDistinctTerms = 4096
	// MaxTerms is how many terms one text yields, repeats included.
	MaxTerms = 1 << 16

	// maxQueryBytes is read from a query's head and again from its tail: a
	// person who pastes a file puts the question before it or after it.
	maxQueryBytes = 32 << 10
)

// Class says what a term was in its text. Lanes may weigh classes differently.
type Class uint8

// The classes of terms.
const (
	// ClassWord is a word of natural language, stemmed.
	ClassWord Class = iota
	// ClassPart is a piece of an identifier or path, stemmed like a word.
	ClassPart
	// ClassIdentifier is a whole compound identifier: retry_budget, foo.Bar.
	ClassIdentifier
	// ClassPath is a path with at least two components, or its last two.
	ClassPath
	// ClassCode is a token that only matches whole: a flag, a version, a date,
	// an error code or a hexadecimal id.
	ClassCode
	// ClassGram is a pair of characters (or a lone one) of a script whose words
	// are not told apart by spaces.
	ClassGram
)

// Term is one term of a text with its class.
type Term struct {
	Text  string
	Class Class
}

// Terms returns the terms of a document's text in order, repeats included: how
// often a term occurs is its frequency. Every term is valid UTF-8, not empty,
// free of white space and at most [MaxTermBytes] long.
func Terms(text string) []string {
	terms := Analyze(text)
	out := make([]string, len(terms))
	for i, term := range terms {
		out[i] = term.Text
	}
	return out
}

// QueryTerms returns the distinct terms to look a query up by, in order of first
// appearance. They are a subset of what [Terms] gives for the same text: a
// character of a longer run of Han is left to the pairs that hold it, and of a
// very long query only the head and the tail are read. A query of nothing but
// stop words or punctuation has no terms.
func QueryTerms(text string) []string {
	e := newEmitter(true)
	if len(text) > 2*maxQueryBytes {
		head, tail := text[:maxQueryBytes], text[len(text)-maxQueryBytes:]
		e.analyze(trimPartialRune(head) + " " + tail)
	} else {
		e.analyze(text)
	}
	seen := make(map[string]struct{}, len(e.terms))
	out := make([]string, 0, len(e.terms))
	for _, term := range e.terms {
		if _, dup := seen[term.Text]; !dup {
			seen[term.Text] = struct{}{}
			out = append(out, term.Text)
		}
	}
	return out
}

// Analyze is [Terms] with the class of each term.
func Analyze(text string) []Term {
	e := newEmitter(false)
	e.analyze(text)
	return e.terms
}

func (e *emitter) analyze(text string) {
	text = normalize(text)
	e.lang = detect(text)
	e.scan(text)
}

// normalize bounds the text and brings it to one Unicode spelling, case kept:
// identifiers are split by their capitals.
func normalize(text string) string {
	if len(text) > MaxTextBytes {
		text = trimPartialRune(text[:MaxTextBytes])
	}
	text = strings.ToValidUTF8(text, " ")
	text = norm.NFKC.String(text)
	if strings.ContainsAny(text, invisible) {
		text = strings.Map(dropInvisible, text)
	}
	return text
}

// invisible characters may stand inside a word without being part of it: soft
// hyphen, zero-width space, non-joiner, joiner, word joiner, byte order mark.
const invisible = "\u00ad\u200b\u200c\u200d\u2060\ufeff"

func dropInvisible(r rune) rune {
	if strings.ContainsRune(invisible, r) {
		return -1
	}
	return r
}

// trimPartialRune drops a rune that a cut left incomplete at the end.
func trimPartialRune(s string) string {
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if b := s[len(s)-i]; utf8.RuneStart(b) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}
