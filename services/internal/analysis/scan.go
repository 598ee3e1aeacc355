package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind says what a rune does in the scan.
type kind uint8

const (
	separator kind = iota // ends whatever was running
	wordRune              // letter, digit or mark
	joiner                // stands inside paths and identifiers: . _ - / \
	gramRune              // of a script that is indexed by pairs
)

var asciiKinds = func() (table [utf8.RuneSelf]kind) {
	for c := range table {
		switch r := rune(c); {
		case unicode.IsLetter(r), unicode.IsDigit(r):
			table[c] = wordRune
		case strings.ContainsRune(`._-/\`, r):
			table[c] = joiner
		}
	}
	return table
}()

func kindOf(r rune) kind {
	switch {
	case r < utf8.RuneSelf:
		return asciiKinds[r]
	case isGram(r):
		return gramRune
	case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsNumber(r):
		return wordRune
	case r == '\u2010': // the hyphen that normalisation makes of a no-break one
		return joiner
	default:
		return separator
	}
}

// scan cuts the text into chunks (runs of word runes and joiners) and runs of
// gram runes, and hands each to its analysis.
func (e *emitter) scan(text string) {
	start, running := 0, separator
	for i, r := range text {
		k := kindOf(r)
		if k == joiner {
			k = wordRune
		}
		if k == running {
			continue
		}
		e.run(text, start, i, running)
		if e.full() {
			return
		}
		start, running = i, k
	}
	e.run(text, start, len(text), running)
}

// run analyses text[start:end], a run of one kind.
func (e *emitter) run(text string, start, end int, k kind) {
	switch k {
	case gramRune:
		e.grams(text[start:end])
	case wordRune:
		chunk := text[start:end]
		if name := operatorName(chunk, text[end:]); name != "" {
			e.emitWhole(name, ClassCode)
		}
		e.chunk(chunk)
	case separator, joiner:
	}
}

// operatorName returns C++, C#, F# and the like: the last letters of the chunk
// with the signs that follow, when these end the token.
func operatorName(chunk, rest string) string {
	var signs string
	switch {
	case strings.HasPrefix(rest, "++"):
		signs = "++"
	case strings.HasPrefix(rest, "#"):
		signs = "#"
	default:
		return ""
	}
	next, _ := utf8.DecodeRuneInString(rest[len(signs):])
	if len(rest) > len(signs) && kindOf(next) == wordRune {
		return ""
	}
	// Longer words before a sign are not names of languages but sums and anchors.
	const longest = 2
	if len(chunk) > longest || chunk[0] >= utf8.RuneSelf || !unicode.IsLetter(rune(chunk[0])) {
		return ""
	}
	return chunk + signs
}
