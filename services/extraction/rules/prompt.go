package rules

import (
	"strings"
	"unicode/utf8"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// request is a prompt without what the harness put around the user's words.
type request struct {
	text  string // the words, bounded
	units []unit
	// human tells that a person typed it, so that its wishes are theirs.
	human bool
	// empty tells that it asks for nothing by itself: a greeting, "yes", a number, a slash command.
	empty bool
	// question tells that it asks to know rather than to do.
	question bool
	long     bool
	// report is the error that the user pasted, if any.
	report string
}

const (
	maxPrompt   = 6 << 10 // bytes that are read of a prompt: half at each end
	longPrompt  = 1500    // bytes from which a prompt holds pasted text
	ownWordsEnd = 600     // bytes at each end of a long prompt that count as the user's own words
)

// readPrompt reads the prompt of a turn; nil gives an empty request.
func readPrompt(ev *eventv1.Event) request {
	if ev == nil {
		return request{empty: true}
	}
	text := strings.TrimSpace(dropNoiseBlocks(bodyText(ev, "user")))
	text = strings.ReplaceAll(text, "\r\n", "\n")
	r := request{human: true}
	if rest, command := strings.CutPrefix(text, "/"); command && !strings.HasPrefix(rest, "/") {
		text = commandArguments(rest)
	}
	r.long = len(text) > longPrompt
	if len(text) > maxPrompt {
		text = runeSafe(text[:maxPrompt/2]) + "\n\n" + runeSafe(text[len(text)-maxPrompt/2:])
	}
	if startsAny(text, machinePrompts) {
		r.human = false
		text = ""
	}
	for _, p := range acceptedPlans {
		if rest, ok := strings.CutPrefix(text, p); ok {
			r.human, r.long = false, true
			text = strings.TrimSpace(rest)
		}
	}
	r.text = text
	r.units = units(text)
	r.empty = isEmptyRequest(text)
	r.question = isQuestion(text)
	if r.human && strings.Contains(text, "\n") {
		if found := findFailure(text, ev.GetSource().GetProjectPath()); found.weight > 5 {
			r.report = found.gist
		}
	}
	return r
}

// commandArguments gives what stands behind a slash command; a path such as "/etc/hosts is wrong" stays whole.
func commandArguments(rest string) string {
	name, args, _ := strings.Cut(rest, " ")
	if strings.ContainsAny(name, "/.") {
		return "/" + rest
	}
	if strings.Contains(name, "\n") {
		return ""
	}
	return strings.TrimSpace(args)
}

// machinePrompts begin texts that harnesses send in the user's place.
var machinePrompts = []string{
	"Caveat: ", "[Request interrupted", "Operation stopped by hook", "This session is being continued from a previous conversation",
	"Stop hook feedback", "Your task is to create a detailed summary", "[SUGGESTION MODE", "Human: <task", "API Error", "Unknown slash command",
	"The user opened the file", "Continue from where you left off.", "Base directory for this skill:", "A session-scoped", "Background task ",
}

// acceptedPlans begin a plan that the agent wrote and the user accepted.
var acceptedPlans = []string{"Implement the following plan:", "Implement this plan:", "Execute the following plan:"}

// noiseTags name blocks that harnesses, and we ourselves, put into prompts. A name that ends in "-" or "_" is a prefix.
var noiseTags = []string{
	"system-", "local-command-", "command-", "task-", "ide_", "ide-", "environment_", "env", "context", "memory", "kiroku", "kiro-", "user-prompt-submit-hook",
	"attached_", "additional_", "open_", "recently_", "tool_", "function_", "steering", "claudeMd", "claude-", "fast_mode", "EnvironmentContext", "user_info",
	"rules", "workspace_", "project_", "supermemory", "relevant_memories", "persistent-memory", "bash-", "session-", "documents",
}

// unwrapTags name blocks whose content is the user's words.
var unwrapTags = []string{"user_query", "user-query", "user_message", "user_prompt", "user-request", "USER_REQUEST"}

// dropNoiseBlocks removes known blocks with their content, an unclosed one to the end, and takes off known wrappers.
func dropNoiseBlocks(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	for _, tag := range unwrapTags {
		if _, inner, ok := strings.Cut(s, "<"+tag+">"); ok {
			s, _, _ = strings.Cut(inner, "</"+tag+">")
		}
	}
	var b strings.Builder
	for s != "" {
		at := strings.IndexByte(s, '<')
		if at < 0 {
			break
		}
		b.WriteString(s[:at])
		s = s[at:]
		name := tagName(s)
		if name == "" || !isNoiseTag(name) {
			b.WriteByte('<')
			s = s[1:]
			continue
		}
		if _, rest, ok := strings.Cut(s, "</"+name+">"); ok {
			s = rest
		} else {
			s = ""
		}
	}
	b.WriteString(s)
	return b.String()
}

func tagName(s string) string {
	end := 1
	for end < len(s) && end < 40 && (s[end] == '-' || s[end] == '_' || s[end] >= 'a' && s[end] <= 'z' || s[end] >= 'A' && s[end] <= 'Z') {
		end++
	}
	if end == 1 || end >= len(s) || (s[end] != '>' && s[end] != ' ') {
		return ""
	}
	return s[1:end]
}

func isNoiseTag(name string) bool {
	for _, tag := range noiseTags {
		if name == tag || ((strings.HasSuffix(tag, "-") || strings.HasSuffix(tag, "_")) && strings.HasPrefix(name, tag)) || name == tag+"-context" {
			return true
		}
	}
	return false
}

// emptyWords are answers and greetings that ask for nothing by themselves, in several languages.
var emptyWords = func() map[string]bool {
	all := strings.Fields(`yes yeah yep yup y ok okay k kk no nope n sure please pls do it that this go on ahead continue proceed next more again retry try
		thanks thank you thx ty great good nice cool perfect awesome excellent lgtm hi hello hey there morning done right correct exactly fine works great!
		sounds looks looking and now let's lets the first second third one two option both all of them a b c d i agree to me keep option options with number approach use implement going it's that's
		ja nein gut danke bitte weiter mach das genau passt klar super hallo gerne oui non merci d'accord vas y continue bonjour parfait
		sí si no gracias vale sigue adelante hola perfecto claro dale はい いいえ お願いします ありがとう 続けて 了解 是 好 好的 可以 继续 谢谢 不 对 行 嗯 你好`)
	set := make(map[string]bool, len(all))
	for _, w := range all {
		set[w] = true
	}
	return set
}()

func isEmptyRequest(text string) bool {
	if utf8.RuneCountInString(text) > 60 {
		return false
	}
	words := strings.Fields(padded(text))
	for _, w := range words {
		if !emptyWords[w] && strings.Trim(w, "0123456789") != "" {
			return false
		}
	}
	return true
}

// questionStarts begin questions that may lack their mark.
var questionStarts = []string{
	" what ", " why ", " how ", " where ", " which ", " who ", " when ", " is ", " are ", " do ", " does ", " did ", " was ", " were ", " has ", " have we ",
	" should we ", " could it ", " would ", " explain ", " what's ", " isn't ", " doesn't ", " can you explain ", " tell me ", " wie ", " warum ", " was ", " wo ",
	" welche ", " pourquoi ", " comment ", " où ", " quel ", " por qué ", " cómo ", " dónde ", " qué ",
}

// requestStarts begin requests that are put as questions.
var requestStarts = []string{
	" can you ", " could you ", " can we ", " could we ", " would you ", " will you ", " please ", " kannst du ", " könntest du ", " können wir ", " peux tu ",
	" pouvez vous ", " puedes ", " podrías ", " shall we ", " let's ",
}

func isQuestion(text string) bool {
	start := padded(head(text, 200))
	if startsAny(start, requestStarts) {
		return strings.Contains(start, " explain ") || strings.Contains(start, " tell me ")
	}
	return startsAny(start, questionStarts) || strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") || strings.Contains(text, "吗")
}

// gist is the request in at most n characters: its first telling sentences.
func (r request) gist(n int) string {
	var b strings.Builder
	for _, u := range r.units {
		if leads := weight(u.text) < 6 && startsAny(padded(u.text), chatter); (weight(u.text) < 2 || leads) && len(r.units) > 1 {
			continue
		}
		if b.Len() > 0 {
			if utf8.RuneCountInString(b.String())+utf8.RuneCountInString(u.text)+2 > n {
				break
			}
			b.WriteByte(' ')
		}
		b.WriteString(u.text)
		if u.kind == heading && !strings.HasSuffix(u.text, ".") {
			b.WriteByte('.')
		}
	}
	return cut(strings.TrimRight(b.String(), " :"), n)
}

// chatter begins short sentences that lead up to a request.
var chatter = []string{
	" ok ", " okay ", " sorry ", " huh ", " hmm ", " hi ", " hello ", " hey ", " thanks ", " thank you ", " great ", " nice ", " cool ", " perfect ", " good ", " right ", " well ",
	" danke ", " super ", " merci ", " gracias ", " no ", " yes ", " ah ", " oh ", " hallo ", " bonjour ", " hola ",
}

// ownUnits are the sentences that the user typed rather than pasted.
func (r request) ownUnits() []unit {
	if !r.human {
		return nil
	}
	if !r.long {
		return r.units
	}
	var out []unit
	for _, u := range append(units(head(r.text, ownWordsEnd)), units(runeSafe(r.text[max(0, len(r.text)-ownWordsEnd):]))...) {
		if u.kind == prose {
			out = append(out, u)
		}
	}
	return out
}
