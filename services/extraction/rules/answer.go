package rules

import (
	"strings"
	"unicode/utf8"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// answer is the agent's last words of a turn.
type answer struct {
	id    string
	text  string
	units []unit
	// strong, weak and open tell causes and decisions, reasons, and what is left to do, in the order of the text.
	strong, weak, open []string
}

// maxAnswer bounds how many bytes of an answer are read; what matters stands first, what is left to do last.
const maxAnswer = 12 << 10

// readAnswer takes the last answer with content; agents without one leave it empty.
func readAnswer(events []*eventv1.Event) answer {
	for i := len(events) - 1; i >= 0; i-- {
		ev := events[i]
		text := ""
		switch {
		case ev.GetKind() == eventv1.Kind_KIND_SESSION_SUMMARY:
			text = bodyText(ev, "assistant")
		case ev.GetLifecycle().GetType() == eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_END:
		default:
			continue
		}
		if text == "" {
			text = ev.GetLifecycle().GetResponseMessage()
		}
		text = strings.TrimSpace(dropNoiseBlocks(strings.ReplaceAll(text, "\r\n", "\n")))
		if text == "" || startsAny(text, emptyAnswers) {
			continue
		}
		if len(text) > maxAnswer {
			text = runeSafe(text[:maxAnswer*3/4]) + "\n\n" + runeSafe(text[len(text)-maxAnswer/4:])
		}
		a := answer{id: ev.GetEventId(), text: text, units: units(text)}
		a.find()
		return a
	}
	return answer{}
}

// emptyAnswers begin what harnesses write in the agent's place.
var emptyAnswers = []string{
	"API Error", "No response requested", "[Request interrupted", "Prompt is too long", "You've hit your limit", "Invalid API key", "Credit balance",
	"Login expired", "You've reached your", "Execution error", "Claude AI usage limit", "Not logged in",
}

// fillers begin sentences that tell nothing about the work.
var fillers = []string{
	"done", "all done", "perfect", "great", "excellent", "good ", "sure", "here's", "here is", "here are", "now i ", "now let", "let me", "i'll", "i will now", "you're right",
	"you're absolutely", "you are right", "all tests pass", "all tests are", "tests pass", "all passing", "everything ", "all checks", "all green", "implementation complete", "let me know",
	"would you like", "do you want", "want me to", "shall i", "should i", "what would you", "which approach", "ready ", "i hope", "feel free", "is there anything",
	"that's a good", "thanks", "thank you", "summary", "build, tests", "the build pass", "lint ", "both ", "i see", "i understand", "looking at", "ok", "okay", "no worries", "sorry",
	"yes.", "yes!", "no.", "correct.", "exactly", "got it", "understood", "happy to", "i've completed", "i have completed", "the changes are", "all changes", "if you", "hello", "hi ", "hi!", "hey",
	"fertig", "erledigt", "alles klar", "hier ist", "hier sind", "soll ich", "möchtest du", "gerne", "alle tests", "c'est fait", "voici", "voilà", "terminé", "tous les tests",
	"listo", "hecho", "aquí está", "aquí tienes", "todas las pruebas", "todos los tests", "¿quieres", "完了しました", "以下", "承知しました", "わかりました", "了解しました", "完成", "好的", "以下是", "已完成。",
	"tests and lint", "all fixed", "fixed!", "fixed.", "that's a ", "this is a great", "this is a good", "the fix is complete", "the implementation is complete",
	"found it", "found the issue", "found and fixed the issue", "good", "nice", "interesting", "hmm", "ah", "right", "fair", "all tasks", "all done", "no problem", "of course", "absolutely", "yes,", "thanks",
}

// tellsNothing reports a sentence that is filler, a question to the user or too short to stand alone.
func tellsNothing(u unit) bool {
	s := u.text
	if u.kind == heading || dangles(s) || strings.Contains(s, " files changed, ") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") {
		return true
	}
	words := weight(s)
	if words < 4 && (words != 3 || !strings.Contains(s, "`")) {
		return true
	}
	start := strings.ToLower(head(strings.TrimLeft(s, "*_ "), 40))
	if end := strings.TrimRight(s, ".!"); words < 8 && (strings.HasSuffix(end, " is complete") || strings.HasSuffix(end, " are complete")) {
		return true
	}
	if words < 9 && startsAny(start, []string{"all ", "alle "}) && strings.Contains(strings.ToLower(s), "test") {
		return true
	}
	return startsAny(start, fillers) && (words < 10 || endsInColon(s))
}

// dangles reports a sentence that leads up to a list or code block and says nothing without it.
func dangles(s string) bool {
	if !endsInColon(s) {
		return false
	}
	s = strings.ToLower(strings.TrimRight(s, ":："))
	last := s[strings.LastIndexByte(s, ' ')+1:]
	return danglingWords[last] || startsAny(s, []string{"since ", "because ", "so ", "but ", "if ", "when ", "while ", "the following", "for example", "weil ", "wenn "})
}

var danglingWords = map[string]bool{
	"is": true, "are": true, "be": true, "was": true, "were": true, "on": true, "because": true, "in": true, "to": true, "by": true, "with": true, "for": true, "the": true,
	"as": true, "like": true, "from": true, "at": true, "of": true, "following": true, "changes": true, "options": true, "example": true, "this": true, "that": true,
	"clear": true, "sind": true, "ist": true, "can": true, "should": true, "either": true,
}

// leadWindow is how many telling sentences may pass before one of running text leads.
const leadWindow = 4

// lead is the index of the sentence that says best what the answer is about: the first full one of running text near the
// top, else a root cause or decision, else the first that tells anything; -1 when none does.
func (a answer) lead() int {
	first, cause, passed := -1, -1, 0
	for i, u := range a.units {
		if tellsNothing(u) {
			continue
		}
		if passed++; passed <= leadWindow && u.kind == prose && weight(u.text) > 5 && !endsInColon(u.text) {
			return i
		}
		if first < 0 {
			first = i
		}
		if cause < 0 && u.reason == 2 {
			cause = i
		}
	}
	if cause >= 0 {
		return cause
	}
	return first
}

// headlines are the answer's sentences fit for title and summary: the leading one, then the others in order.
func (a answer) headlines(n int) []string {
	var out []string
	lead := a.lead()
	if lead < 0 {
		return nil
	}
	out = append(out, a.units[lead].full())
	for i, u := range a.units {
		if len(out) == n {
			break
		}
		if i != lead && !tellsNothing(u) {
			out = append(out, u.full())
		}
	}
	return out
}

// full is the sentence with the label that it needs to be understood alone.
func (u unit) full() string {
	text := strings.TrimRight(u.text, ":：")
	if u.label == "" || strings.Contains(text, u.label) {
		return text
	}
	return u.label + ": " + text
}

// impersonal drops "I" and "we" from the start of a report, so that it reads as a line of a log.
func impersonal(s string) string {
	for _, lead := range []string{"I've also ", "I have also ", "I've now ", "I've ", "I have ", "I also ", "I ", "We've ", "We have ", "Successfully ", "Done! ", "Done. "} {
		rest, ok := strings.CutPrefix(s, lead)
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(rest, " ")
		if strings.HasSuffix(first, "ed") || pastVerbs[first] {
			return upperFirst(rest)
		}
	}
	return s
}

// pastVerbs are irregular past forms that reports of work begin with.
var pastVerbs = map[string]bool{
	"made": true, "wrote": true, "rewrote": true, "found": true, "ran": true, "built": true, "set": true, "put": true, "split": true, "kept": true, "chose": true,
	"written": true, "rewritten": true, "run": true, "taken": true, "took": true, "brought": true, "left": true, "cut": true, "sent": true, "gave": true,
}

// find judges each sentence once.
func (a *answer) find() {
	for i := range a.units {
		u := &a.units[i]
		if u.kind == heading || strings.HasSuffix(u.text, "?") || weight(u.text) < 4 || utf8.RuneCountInString(u.text) > 320 {
			continue
		}
		switch u.reason = reasoning(u.text); {
		case dangles(u.text):
		case u.reason == 2:
			a.strong = append(a.strong, u.full())
		case u.reason == 1:
			a.weak = append(a.weak, u.full())
		case leavesOpen(u.text):
			a.open = append(a.open, u.full())
		}
	}
}
