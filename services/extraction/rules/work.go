package rules

import (
	"slices"
	"sort"
	"strings"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// work is what a turn's events tell, gathered in one pass.
type work struct {
	turn    Turn
	request request
	answer  answer

	edited  []string // most often edited first
	created bool     // a file was written whole
	read    []string
	named   []string // in prompt and answer
	worked  []step   // the last run of each telling command, if it worked
	commits []string
	tools   []string // programs and MCP tools
	todos   []string
	fixes   []fix
	broken  []*failure

	// sources are the events that gave something, in the turn's order.
	sources map[string]bool
	root    string
}

// gather reads all events of a turn.
func gather(turn Turn) *work {
	w := &work{turn: turn, sources: map[string]bool{}}
	for _, ev := range turn.Events {
		if p := ev.GetSource().GetProjectPath(); p != "" {
			w.root = p
			break
		}
	}
	w.request = readPrompt(turn.Prompt)
	w.answer = readAnswer(turn.Events)
	if turn.Prompt != nil && w.request.text != "" {
		w.sources[turn.Prompt.GetEventId()] = true
	}
	if w.answer.id != "" {
		w.sources[w.answer.id] = true
	}
	w.gatherSteps()
	w.nameFiles()
	return w
}

func (w *work) gatherSteps() {
	var finder fixFinder
	edits := map[string]int{}
	for _, ev := range w.turn.Events {
		if ev.GetKind() != eventv1.Kind_KIND_TOOL_USE {
			continue
		}
		s := readStep(ev)
		finder.follow(&s)
		if w.note(&s, edits) {
			w.sources[s.id] = true
		}
	}
	finder.finish()
	w.fixes, w.broken = finder.fixes, finder.open
	for _, x := range w.fixes {
		w.use(x.ids)
	}
	for _, b := range w.broken {
		w.use(b.ids)
	}
	sort.SliceStable(w.edited, func(i, j int) bool { return edits[w.edited[i]] > edits[w.edited[j]] })
	w.read = slices.DeleteFunc(w.read, func(f string) bool { return edits[f] > 0 })
}

func (w *work) use(ids []string) {
	for _, id := range ids {
		w.sources[id] = true
	}
}

// note keeps what a step tells, and reports whether it told anything.
func (w *work) note(s *step, edits map[string]int) bool {
	told := false
	switch {
	case s.changes():
		for _, f := range s.files {
			edits[f]++
		}
		w.edited = addNew(w.edited, s.files...)
		w.created = w.created || s.class == eventv1.ToolClass_TOOL_CLASS_WRITE
		told = true
	case s.class == eventv1.ToolClass_TOOL_CLASS_READ && s.outcome != outcomeFailed:
		w.read = addNew(w.read, s.files...)
		told = len(s.files) > 0
	case s.class == eventv1.ToolClass_TOOL_CLASS_MCP:
		w.tools = addNew(w.tools, s.tool)
		told = s.tool != ""
	}
	if s.open != nil {
		w.todos = s.open
		told = true
	}
	if s.command.subject != "" && s.outcome != outcomeFailed {
		w.commits = addNew(w.commits, s.command.subject)
		told = true
	}
	if s.command.telling() {
		w.noteCommand(s)
		told = told || s.outcome != outcomeUnknown
	}
	return told
}

// noteCommand keeps the last run of a command among those that worked, and takes it out when that run failed.
func (w *work) noteCommand(s *step) {
	for _, part := range s.command.parts {
		w.tools = addNew(w.tools, part.family)
	}
	same := func(o step) bool { return o.command.display == s.command.display }
	switch s.outcome {
	case outcomePassed:
		w.worked = append(slices.DeleteFunc(w.worked, same), *s)
	case outcomeFailed:
		w.worked = slices.DeleteFunc(w.worked, same)
	}
}

// nameFiles finds files that prompt and answer name: with a directory as they are, bare names among the files touched.
func (w *work) nameFiles() {
	text := w.answer.text
	if w.request.human {
		text += "\n" + w.request.text
	}
	for _, f := range namedFiles(text, w.root) {
		known := func(touched string) bool { return touched == f || strings.HasSuffix(touched, "/"+f) }
		if !slices.ContainsFunc(w.edited, known) && !slices.ContainsFunc(w.read, known) {
			w.named = append(w.named, f)
		}
	}
}

// files are the files of the turn: changed, read, named.
func (w *work) files() []string {
	out := slices.Concat(w.edited, w.read, w.named)
	return out[:min(len(out), maxFiles)]
}

// did reports whether the events show any work.
func (w *work) did() bool {
	return len(w.edited) > 0 || len(w.worked) > 0 || len(w.commits) > 0 || len(w.fixes) > 0 || len(w.broken) > 0
}
