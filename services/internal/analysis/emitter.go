package analysis

import (
	"encoding/hex"
	"hash/fnv"
	"unicode/utf8"
)

// emitter collects the terms of one text within the bounds of the package.
type emitter struct {
	terms []Term
	// distinct holds each term once; past MaxDistinctTerms it admits no more.
	distinct map[string]struct{}
	// stems remembers what a word became: texts repeat their words, and
	// stemming is the dear part.
	stems map[string][]string
	lang  language
	// query leaves out terms that only documents need.
	query bool
}

func newEmitter(query bool) *emitter {
	return &emitter{
		distinct: make(map[string]struct{}),
		stems:    make(map[string][]string),
		query:    query,
	}
}

// full reports that nothing more will be admitted.
func (e *emitter) full() bool { return len(e.terms) >= MaxTerms }

// emit adds one term. Long terms are shortened, empty ones ignored.
func (e *emitter) emit(text string, class Class) {
	if text == "" || e.full() {
		return
	}
	text = shorten(text)
	if _, known := e.distinct[text]; !known {
		if len(e.distinct) >= MaxDistinctTerms {
			return
		}
		e.distinct[text] = struct{}{}
	}
	e.terms = append(e.terms, Term{Text: text, Class: class})
}

// emitWhole adds a token as it stands, only folded.
func (e *emitter) emitWhole(token string, class Class) {
	e.emit(fold(lower(token)), class)
}

// shorten keeps a term within MaxTermBytes: a head cut on a rune boundary, then
// a hash of the whole, so that two long tokens are equal only if they were.
func shorten(term string) string {
	if len(term) <= MaxTermBytes {
		return term
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(term)) // a hash never fails to write
	sum := hex.EncodeToString(h.Sum(nil))
	head := MaxTermBytes - len(sum) - 1
	for head > 0 && !utf8.RuneStart(term[head]) {
		head--
	}
	return term[:head] + "~" + sum
}
