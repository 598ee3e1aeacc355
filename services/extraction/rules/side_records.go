package rules

import (
	"strings"
	"unicode/utf8"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
)

// statement is a standing rule or a choice in the user's words.
type statement struct {
	text   string
	choice bool
}

// maxStatements bounds the rules and choices that one turn yields.
const maxStatements = 2

// statements finds the standing rules and choices in what the user typed.
func (w *work) statements() []statement {
	var out []statement
	for _, u := range w.request.ownUnits() {
		if len(out) == maxStatements {
			break
		}
		n := utf8.RuneCountInString(u.text)
		if u.kind == heading || n > 400 || weight(u.text) < 3 || looksLikeCode(u.text) {
			continue
		}
		switch {
		case statesRule(u.text):
			out = append(out, statement{text: u.text})
		case statesChoice(u.text):
			out = append(out, statement{text: u.text, choice: true})
		}
	}
	return out
}

// statementRecord makes the record of a rule or choice. Its title depends on the statement alone, as its key is made of it.
func (w *work) statementRecord(s statement, main *recordv1.Record) *recordv1.Record {
	kind, what := recordv1.ObservationType_OBSERVATION_TYPE_PREFERENCE, "Standing rule"
	if s.choice {
		kind, what = recordv1.ObservationType_OBSERVATION_TYPE_DECISION, "Decision"
	}
	r := w.newRecord(kind, map[string]bool{w.turn.Prompt.GetEventId(): true})
	r.Title = cut(upperFirst(strings.TrimRight(standalone(s.text), ".。!！")), maxTitle)
	r.Summary = what + " in the words of " + speaker(w.turn.ActorID)
	if main != nil && main.GetTitle() != r.GetTitle() {
		r.Summary += ", stated during: " + main.GetTitle()
	}
	r.Summary = endSentence(cut(r.GetSummary(), 240))
	if strings.HasSuffix(r.GetTitle(), "…") {
		r.Facts = []string{"User: " + cut(s.text, 380)}
	}
	c := conceptSet{score: map[string]int{}, shown: map[string]string{}}
	c.addCode(s.text, 4)
	c.addWords(s.text)
	r.Concepts = c.best()
	r.FilesTouched = namedFiles(s.text, w.root)
	r.Confidence = 0.8
	return r
}

// standalone drops the word that ties a sentence to the one before.
func standalone(s string) string {
	for _, tie := range []string{"And ", "and ", "Also, ", "Also ", "also ", "But ", "but ", "Und ", "und ", "Et ", "et ", "Y "} {
		if rest, ok := strings.CutPrefix(s, tie); ok {
			return rest
		}
	}
	return s
}

// looksLikeCode reports a pasted line of source: its comments and strings are nobody's wishes.
func looksLikeCode(s string) bool {
	return startsAny(s, []string{"//", "/*", "+", "-", "*", "@", "$ "}) || strings.HasSuffix(s, ";") || strings.HasSuffix(s, "{") || strings.Contains(s, ":=")
}

func speaker(actor string) string {
	if actor == "" {
		return "the user"
	}
	return cut(actor, 60)
}

// lastingFixes are the fixes that the main record had no room for and that are more than the turn's own unfinished work.
func (w *work) lastingFixes(told, limit int) []fix {
	var out []fix
	for _, f := range w.fixes[min(told, len(w.fixes)):] {
		if len(out) < min(limit, 2) && f.gist != "" && (!f.own || len(f.edited) == 0) {
			out = append(out, f)
		}
	}
	return out
}

func (w *work) fixRecord(f fix, main *recordv1.Record) *recordv1.Record {
	sources := map[string]bool{}
	for _, id := range f.ids {
		sources[id] = true
	}
	r := w.newRecord(recordv1.ObservationType_OBSERVATION_TYPE_BUGFIX, sources)
	r.Title = cut("Remedy for "+f.gist, maxTitle)
	r.Summary = cut(f.statement(120), 400)
	r.Facts = []string{"Met during: " + endSentence(cut(main.GetTitle(), 150))}
	c := conceptSet{score: map[string]int{}, shown: map[string]string{}}
	c.addCode(f.gist, 4)
	c.add(f.part.family, 4)
	r.Concepts = c.best()
	r.FilesTouched = f.edited[:min(len(f.edited), maxFiles)]
	r.Confidence = 0.7
	return r
}
