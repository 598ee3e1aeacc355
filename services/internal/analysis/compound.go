package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const joiners = "._-/\\"

// chunk analyses one token without white space: a flag, path, identifier,
// version or plain word, with whatever punctuation hangs on its ends.
func (e *emitter) chunk(chunk string) {
	chunk = strings.ReplaceAll(chunk, "\u2010", "-")
	body := strings.Trim(chunk, joiners)
	if body == "" {
		return
	}
	lead := chunk[:strings.Index(chunk, body)]
	first, _ := utf8.DecodeRuneInString(body)
	switch {
	case (lead == "-" || lead == "--") && unicode.IsLetter(first):
		e.emitWhole(lead+body, ClassCode)
	case lead == "." || strings.HasSuffix(lead, "/.") || strings.HasSuffix(lead, `\.`):
		body = "." + body // .env and .github/workflows keep their dot
	}
	e.path(strings.ReplaceAll(body, `\`, "/"))
}

// path emits a path whole, by its last two components (so that a partial path
// finds the whole one), and by each component.
func (e *emitter) path(body string) {
	if !strings.Contains(body, "/") {
		e.component(body)
		return
	}
	parts := make([]string, 0, strings.Count(body, "/")+1)
	for part := range strings.SplitSeq(body, "/") {
		if strings.Trim(part, joiners) != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) > 1 {
		e.emitWhole(strings.Join(parts, "/"), ClassPath)
	}
	if len(parts) > 2 {
		e.emitWhole(strings.Join(parts[len(parts)-2:], "/"), ClassPath)
	}
	for _, part := range parts {
		e.component(part)
	}
}

// component analyses what stands between two slashes: a file name, a dotted
// name, a version, an identifier or a word.
func (e *emitter) component(s string) {
	body := strings.Trim(s, "._-")
	if body == "" {
		return
	}
	if strings.HasPrefix(s, "."+body) {
		e.emitWhole("."+body, ClassIdentifier)
	}
	if e.numeric(body) {
		return
	}
	if !strings.Contains(body, ".") {
		e.identifier(body)
		return
	}
	e.emitWhole(body, ClassIdentifier)
	if i := strings.LastIndexByte(body, '.'); strings.Contains(body[:i], ".") {
		e.emitWhole(body[:i], ClassIdentifier) // archive.tar.gz without its last extension
	}
	for part := range strings.SplitSeq(body, ".") {
		e.identifier(part)
	}
}

// identifier splits snake_case and kebab-case. The whole is kept as written and,
// when short, with its joiners taken out: that is the form which retry_budget,
// retry-budget and retryBudget have in common.
func (e *emitter) identifier(s string) {
	const maxJoined, maxJoinedBytes = 3, 32
	s = strings.Trim(s, "_-")
	if !strings.ContainsAny(s, "_-") {
		e.cased(s, ClassWord)
		return
	}
	e.emitWhole(s, ClassIdentifier)
	if isUUID(s) {
		return
	}
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '_' || r == '-' })
	if len(parts) <= maxJoined && len(s) <= maxJoinedBytes {
		e.word(strings.Join(parts, ""), ClassIdentifier)
	}
	for _, part := range parts {
		e.cased(part, ClassPart)
	}
}

// cased splits camelCase. The whole is kept as a word, so that GitHub and github
// agree; single letters that a split leaves are dropped.
func (e *emitter) cased(s string, class Class) {
	if s == "" {
		return
	}
	if isHex(s) {
		e.hexID(s)
		return
	}
	segments := splitCase(s)
	if len(segments) < 2 {
		e.word(s, class)
		return
	}
	e.word(s, ClassIdentifier)
	for _, segment := range segments {
		if utf8.RuneCountInString(segment) > 1 {
			e.word(segment, ClassPart)
		}
	}
}
