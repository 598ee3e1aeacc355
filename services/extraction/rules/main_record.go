package rules

import (
	"strings"
	"unicode/utf8"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
)

const (
	maxTitle   = 180
	maxSummary = 320
	maxAsked   = 150
	maxFact    = 300
	// maxCommands bounds the statement of commands that work.
	maxCommands = 220
	// tightSummary and tightAsked leave room for the facts when there are fixes and reasons to tell.
	tightSummary = 200
	tightAsked   = 90
	maxFacts     = 8
	// minNewWords is how many words a record must have that its prompt has not.
	minNewWords = 3
)

// draft collects a record's words within the bound.
type draft struct {
	title, summary string
	facts          []string
	room           int
	summaryRoom    int
	// said is everything said so far, to say nothing twice.
	said string
}

func newDraft(title string) *draft {
	return &draft{title: title, room: MaxCharacters - utf8.RuneCountInString(title), summaryRoom: maxSummary, said: plainKey(title)}
}

// plainKey compares sentences without case, marks and spaces.
func plainKey(s string) string { return padded(s) }

func (d *draft) repeats(s string) bool {
	key := plainKey(s)
	return key == " " || strings.Contains(d.said, strings.TrimSuffix(key, " "))
}

// addSummary appends a sentence when it fits and is new.
func (d *draft) addSummary(s string) bool {
	n := utf8.RuneCountInString(s) + 1
	if s == "" || d.repeats(s) || n > d.summaryRoom || n > d.room {
		return false
	}
	if d.summary != "" {
		d.summary += " "
	}
	d.summary += s
	d.room -= n
	d.summaryRoom -= n
	d.said += plainKey(s)
	return true
}

// addFact appends a statement when it fits and is new; a long one is cut.
func (d *draft) addFact(s string) bool {
	s = cut(s, maxFact)
	n := utf8.RuneCountInString(s)
	if s == "" || len(d.facts) >= maxFacts || n > d.room || d.repeats(s) {
		return false
	}
	d.facts = append(d.facts, s)
	d.room -= n
	d.said += plainKey(s)
	return true
}

// mainRecord makes the turn's main record, nil when the turn has nothing to tell. It also tells how many fixes it holds.
func (w *work) mainRecord() (record *recordv1.Record, fixesTold int) {
	heads := w.answer.headlines(6)
	if !w.worthTelling(heads) {
		return nil, 0
	}
	title, rest := w.title(heads)
	d := newDraft(title)
	w.summarise(d, rest)
	fixesTold = w.addFacts(d, rest)
	if !w.addsWords(d) {
		return nil, 0
	}
	r := w.newRecord(w.kind(), w.sources)
	r.Title, r.Summary, r.Facts = d.title, d.summary, d.facts
	r.Concepts = w.concepts()
	r.FilesTouched = w.files()
	r.Confidence = w.confidence()
	return r, fixesTold
}

// worthTelling: work always is; an answer is when something was asked; a look at files is when it is known what for.
func (w *work) worthTelling(heads []string) bool {
	switch {
	case w.did():
		return true
	case w.request.empty:
		return len(w.read) > 0 && len(heads) > 0
	case len(heads) > 0:
		return true
	}
	return len(w.read) > 0
}

// title is the answer's first telling sentence; without one, the request or, failing that, the work.
func (w *work) title(heads []string) (title string, rest []string) {
	if len(heads) > 0 {
		return cut(strings.TrimRight(impersonal(heads[0]), ".。:"), maxTitle), heads[1:]
	}
	gist := upperFirst(imperative(w.request.gist(tightAsked)))
	switch {
	case !w.request.empty && gist != "" && w.did():
		return gist, nil
	case !w.request.empty && gist != "":
		return cut("Looked into: "+gist, maxTitle), nil
	case len(w.commits) > 0:
		return w.commits[0], nil
	case len(w.edited) > 0:
		return cut("Changed "+listFiles(w.edited, 2), maxTitle), nil
	case len(w.worked) > 0:
		return cut("Ran `"+w.worked[len(w.worked)-1].command.display+"`", maxTitle), nil
	case len(w.broken) > 0:
		return cut("`"+w.broken[0].what+"` fails", maxTitle), nil
	}
	return cut("Looked at "+listFiles(w.read, 2), maxTitle), nil
}

// imperative takes the politeness off a request: "can you please add x?" becomes "add x".
func imperative(s string) string {
	rest := s
	for _, lead := range []string{"ok, ", "okay, ", "can you ", "could you ", "can we ", "could we ", "would you ", "please ", "also ", "let's ", "kannst du ", "bitte "} {
		if plain, ok := cutFold(rest, lead); ok {
			rest = plain
		}
	}
	if rest == s || weight(rest) < 3 {
		return s
	}
	return strings.TrimRight(rest, "?")
}

func (w *work) summarise(d *draft, heads []string) {
	asked := maxAsked
	if len(w.fixes) > 0 || (len(w.worked) > 0 && len(heads) > 3) {
		asked, d.summaryRoom = tightAsked, tightSummary
	}
	if !w.request.empty {
		if gist := w.request.gist(asked); gist != "" && !d.repeats(gist) {
			d.addSummary("Asked: " + endSentence(gist))
		}
	}
	switch {
	case len(w.edited) > 0:
		d.addSummary("Changed " + listFiles(w.edited, 2) + ".")
	case len(w.read) > 0 && len(heads) == 0:
		d.addSummary("Looked at " + listFiles(w.read, 3) + ".")
	}
	for _, h := range heads[:min(len(heads), 2)] {
		if !d.addSummary(endSentence(impersonal(h))) {
			break
		}
	}
}

func endSentence(s string) string {
	if r, _ := utf8.DecodeLastRuneInString(s); strings.ContainsRune(".!?。！？…:", r) {
		return s
	}
	return s + "."
}

// addFacts adds what is worth knowing later, the most useful first, and returns how many fixes found room.
func (w *work) addFacts(d *draft, heads []string) (fixes int) {
	strong, weak, open := w.answer.strong, w.answer.weak, w.answer.open
	if len(w.fixes) > 0 && (d.addFact(w.fixes[0].statement(150)) || d.addFact(w.fixes[0].statement(70))) {
		fixes = 1
	}
	d.addFact(w.commandsThatWork())
	addSome(d, strong, 1)
	if w.request.report != "" && fixes == 0 {
		d.addFact("Reported: " + endSentence(w.request.report))
	}
	if len(w.broken) > 0 && w.turn.Ended {
		d.addFact(w.stillBroken())
	}
	addSome(d, strong, 2)
	if fixes == 1 && len(w.fixes) > 1 && d.addFact(w.fixes[1].statement(90)) {
		fixes = 2
	}
	if len(w.commits) > 0 {
		d.addFact("Committed: " + endSentence(w.commits[len(w.commits)-1]))
	}
	addSome(d, weak, 2)
	if len(open) > 0 {
		d.addFact("Open: " + open[0])
	} else if len(w.todos) > 0 && w.turn.Ended {
		d.addFact("Open: " + strings.Join(w.todos[:min(len(w.todos), 3)], "; ") + ".")
	}
	addSome(d, heads, 2)
	return fixes
}

// addSome adds up to n of the statements that are not said yet.
func addSome(d *draft, statements []string, n int) {
	for _, s := range statements {
		if n == 0 {
			return
		}
		if d.addFact(impersonal(s)) {
			n--
		}
	}
}

// commandsThatWork is one statement of the commands whose last run worked, tests first.
func (w *work) commandsThatWork() string {
	var parts []string
	for class := commandTest; class >= commandTask && len(parts) < 4; class-- {
		for i := len(w.worked) - 1; i >= 0 && len(parts) < 4; i-- {
			s := &w.worked[i]
			if s.command.class != class || (class == commandDependencies && len(parts) > 0) {
				continue
			}
			text := "`" + s.command.display + "`"
			if s.summary != "" {
				text += " (" + s.summary + ")"
			}
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	for len(parts) > 1 && utf8.RuneCountInString(strings.Join(parts, ", ")) > maxCommands {
		parts = parts[:len(parts)-1]
	}
	return "Works: " + strings.Join(parts, ", ") + "."
}

func (w *work) stillBroken() string {
	b := w.broken[len(w.broken)-1]
	what := "`" + b.what + "`"
	if b.tool != "" {
		what = "Tool " + b.tool
	}
	if b.gist == "" {
		return what + " failed and was not mended."
	}
	return what + " failed and was not mended: " + endSentence(b.gist)
}

// addsWords reports that the draft says more than the prompt. Answer and work may well use the prompt's words; a mere look
// at files must add a quarter.
func (w *work) addsWords(d *draft) bool {
	asked := map[string]bool{}
	for _, word := range strings.Fields(padded(bodyText(w.turn.Prompt, "user"))) {
		asked[word] = true
	}
	fresh, all := 0, 0
	for _, word := range strings.Fields(padded(d.title + " " + strings.TrimPrefix(d.summary, "Asked: ") + " " + strings.Join(d.facts, " "))) {
		words := max(weight(word), 1)
		all += words
		if !asked[word] {
			fresh += words
		}
	}
	return fresh >= minNewWords && (w.answer.id != "" || w.did() || fresh*4 >= all)
}

// confidence grows with what shows that the work was done and checked.
func (w *work) confidence() float64 {
	points := 40
	if w.turn.Ended {
		points += 10
	}
	if w.answer.id != "" {
		points += 10
	}
	if len(w.edited) > 0 {
		points += 10
	}
	for i := range w.worked {
		if w.worked[i].command.class >= commandBuild {
			points += 15
			break
		}
	}
	if w.request.human && !w.request.empty {
		points += 5
	}
	return float64(points) / 100
}
