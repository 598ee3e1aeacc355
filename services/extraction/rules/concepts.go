package rules

import (
	"path"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxConcepts and maxConcept bound a record's concepts in number and characters.
const (
	maxConcepts = 16
	maxConcept  = 60
)

// concepts are the turn's search words: error codes, identifiers of answer and prompt by how often they occur, tools, stems
// of the changed files, and words that the user repeats.
func (w *work) concepts() []string {
	c := conceptSet{score: map[string]int{}, shown: map[string]string{}}
	for _, x := range w.fixes {
		c.addCode(x.gist, 4)
	}
	for _, b := range w.broken {
		c.addCode(b.gist, 4)
	}
	c.addCode(w.request.text, 4)
	c.addCode(w.answer.text, 3)
	for _, t := range w.tools {
		c.add(t, 2)
	}
	for i, f := range w.edited {
		if i == 4 {
			break
		}
		c.add(strings.TrimSuffix(path.Base(f), path.Ext(f)), 4)
	}
	if w.request.human && !w.request.long {
		c.addWords(w.request.text)
	}
	return c.best()
}

type conceptSet struct {
	score map[string]int
	shown map[string]string
	order []string
}

func (c *conceptSet) add(word string, score int) {
	word = strings.Trim(word, "`'\".,:;()[]{}<>!?…")
	if n := utf8.RuneCountInString(word); n < 2 || n > maxConcept {
		return
	}
	key := strings.ToLower(word)
	if _, ok := c.score[key]; !ok {
		c.shown[key] = word
		c.order = append(c.order, key)
	}
	c.score[key] += score
}

// addCode adds what looks like code: identifiers, flags, error codes, and what stands in backquotes.
func (c *conceptSet) addCode(text string, score int) {
	rest := text
	for n := 0; n < 40; n++ {
		_, after, ok := strings.Cut(rest, "`")
		if !ok {
			break
		}
		word, tail, ok := strings.Cut(after, "`")
		if !ok {
			break
		}
		if isName(word) {
			c.add(strings.TrimSuffix(word, "()"), score)
		}
		rest = tail
	}
	for _, word := range strings.FieldsFunc(head(text, maxPrompt), isTextBreak) {
		word = strings.Trim(word, ".:;!?,")
		if isIdentifier(word) {
			c.add(strings.TrimSuffix(word, "()"), score)
		}
	}
}

// isName reports a word in backquotes that names something lasting: no path, number or hash.
func isName(word string) bool {
	if len(word) < 3 || strings.ContainsAny(word, " \n\t/\\") || unicode.IsDigit(rune(word[0])) || strings.Trim(word, "0123456789abcdef") == "" {
		return false
	}
	file, _, _ := strings.Cut(word, ":")
	return !looksLikeFile(file)
}

// isIdentifier reports camelCase, snake_case, --flags and codes such as E0308, TS2304 and ENOENT.
func isIdentifier(word string) bool {
	if len(word) < 4 || len(word) > maxConcept || !isName(word) || strings.HasSuffix(word, "_") || strings.ContainsAny(word, `/\@#$%&+`) || looksLikeFile(word) {
		return false
	}
	var lower, upper, digit, inner, under bool
	for i, r := range word {
		switch {
		case r > unicode.MaxASCII:
			return false
		case r == '_' || (r == '-' && strings.HasPrefix(word, "--")):
			under = i > 0 || r == '-'
		case r >= '0' && r <= '9':
			digit = true
		case unicode.IsUpper(r):
			upper = true
			inner = inner || (i > 0 && lower)
		case unicode.IsLower(r):
			lower = true
		case r != '.' && r != '-' && r != '(' && r != ')' && r != ':':
			return false
		}
	}
	switch {
	case strings.HasPrefix(word, "--"):
		return lower
	case strings.ContainsAny(word, "-:"):
		return false
	}
	if word == "FAILED" || word == "ERROR" {
		return false
	}
	return (lower || upper) && (under || inner) || (upper && digit && !lower) || (upper && !lower && !digit && len(word) > 4)
}

// addWords adds the user's longer words, which name the subject in any language with spaces.
func (c *conceptSet) addWords(text string) {
	for _, word := range strings.Fields(padded(head(text, longPrompt))) {
		if utf8.RuneCountInString(word) >= 5 && !commonWords[word] && !strings.ContainsAny(word, "0123456789") && !strings.ContainsRune(word, '\'') && strings.IndexFunc(word, isWide) < 0 {
			c.add(word, 1)
		}
	}
}

func (c *conceptSet) best() []string {
	sort.SliceStable(c.order, func(i, j int) bool { return c.score[c.order[i]] > c.score[c.order[j]] })
	out := make([]string, 0, maxConcepts)
	for _, key := range c.order[:min(len(c.order), maxConcepts)] {
		out = append(out, c.shown[key])
	}
	return out
}

// commonWords are long words of requests that name no subject.
var commonWords = func() map[string]bool {
	all := strings.Fields(`about above after again against already always another anything around because before being below better between check could
		change changes create currently different doing double during either enough error every everything exactly first fixed follow following found going
		happens having implement instead isn't issue likely little looking looks maybe means might move never nothing other otherwise please point possible
		problem question really right running same second should shouldn't something still sure that's their there these thing things think this those though through
		understand under until update using wasn't where whether which while without wondering working works would write wrong years adding added really
		eigentlich einen einer eines nicht werden wurde haben immer diese dieser dieses bitte kannst wenn dann weil noch schon auch sollte
		cette comme aussi être faire pour avec dans nous vous peux toujours également cuando como para esta este también puedes tiene hacer siempre`)
	set := make(map[string]bool, len(all))
	for _, w := range all {
		set[w] = true
	}
	return set
}()
