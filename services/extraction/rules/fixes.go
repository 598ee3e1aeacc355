package rules

import (
	"slices"
	"strings"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// failure is a command or tool that failed in the turn, and what happened to it since.
type failure struct {
	what   string // command or tool as shown
	gist   string
	later  string // another error that the same command gave on the way
	part   commandPart
	tool   string // of a tool that is no command
	edited []string
	ran    []string // commands that worked in between and may be the remedy
	ids    []string
	// own tells that the turn had changed files before: the failure may be an unfinished change of its own.
	own bool
	// passed is the narrower run that worked since, if only such a one did.
	passed string
}

// fix is a failure that was mended.
type fix struct {
	failure
	check string // the command that then worked
}

// fixFinder follows the steps of a turn and pairs failures with what mended them.
type fixFinder struct {
	open    []*failure
	fixes   []fix
	changed bool
}

// maxOpen bounds the failures that are followed at once.
const maxOpen = 8

func (f *fixFinder) follow(s *step) {
	switch {
	case s.changes():
		f.changed = true
		for _, o := range f.open {
			o.edited = addNew(o.edited, s.files...)
			o.ids = append(o.ids, s.id)
		}
	case s.outcome == outcomeFailed && s.command.telling():
		f.fail(s, s.command.display, s.command.parts[len(s.command.parts)-1], "")
	case s.outcome == outcomeFailed && s.class == eventv1.ToolClass_TOOL_CLASS_MCP:
		f.fail(s, s.tool, commandPart{}, s.tool)
	case s.outcome == outcomePassed && s.command.telling():
		for _, part := range s.command.parts {
			f.pass(s, part)
		}
		f.ranBetween(s)
	case s.command.class == commandAct && s.outcome != outcomeFailed:
		f.ranBetween(s)
	case s.outcome == outcomePassed && s.class == eventv1.ToolClass_TOOL_CLASS_MCP:
		f.closeWhere(s, s.tool, func(o *failure) bool { return o.tool == s.tool && o.tool != "" })
	}
}

func (f *fixFinder) fail(s *step, what string, part commandPart, tool string) {
	for _, o := range f.open {
		if o.tool != tool || (tool == "" && !o.part.covers(part) && !part.covers(o.part)) {
			continue
		}
		o.ids = append(o.ids, s.id)
		o.passed = ""
		if s.gist != "" && o.gist == "" {
			o.gist = s.gist
		} else if s.gist != o.gist && len(o.edited) > 0 {
			o.later = s.gist
		}
		return
	}
	if len(f.open) < maxOpen {
		f.open = append(f.open, &failure{what: what, gist: s.gist, part: part, tool: tool, ids: []string{s.id}, own: f.changed})
	}
}

// pass closes the failures that a run of the command covers, and marks those of which it is a narrower run.
func (f *fixFinder) pass(s *step, part commandPart) {
	f.closeWhere(s, s.command.display, func(o *failure) bool { return o.tool == "" && part.covers(o.part) })
	for _, o := range f.open {
		if o.tool == "" && o.part.family == part.family && len(o.edited) > 0 {
			o.passed = s.command.display
			o.ids = append(o.ids, s.id)
		}
	}
}

func (f *fixFinder) closeWhere(s *step, check string, match func(*failure) bool) {
	f.open = slices.DeleteFunc(f.open, func(o *failure) bool {
		if !match(o) {
			return false
		}
		if len(o.edited) > 0 || len(o.ran) > 0 || o.tool != "" {
			o.ids = append(o.ids, s.id)
			f.fixes = append(f.fixes, fix{failure: *o, check: check})
		}
		return true
	})
}

func (f *fixFinder) ranBetween(s *step) {
	for _, o := range f.open {
		if len(o.edited) == 0 && o.tool == "" {
			o.ran = addNew(o.ran, s.command.display)
			o.ids = append(o.ids, s.id)
		}
	}
}

// finish counts a failure as mended when its last run, though narrower, worked after a change.
func (f *fixFinder) finish() {
	f.open = slices.DeleteFunc(f.open, func(o *failure) bool {
		if o.passed == "" {
			return false
		}
		f.fixes = append(f.fixes, fix{failure: *o, check: o.passed})
		return true
	})
}

// statement says the fix in one sentence; the error takes at most room characters of it.
func (x fix) statement(room int) string {
	out := "`" + cut(x.what, 80) + "` failed"
	if x.tool != "" {
		out = "Tool " + x.tool + " failed"
	}
	if x.later != "" && x.later != x.gist && room > 100 {
		out += ": " + cut(x.gist, room/2) + ", then " + cut(x.later, room/2)
	} else if x.gist != "" {
		out += ": " + cut(x.gist, room)
	}
	return strings.TrimRight(out, ". ") + "; " + x.remedy() + "."
}

func (x fix) remedy() string {
	switch {
	case x.tool != "":
		return "a later call with other input worked"
	case len(x.edited) > 0 && x.check != x.what:
		return "fixed by editing " + listFiles(x.edited, 3) + " (`" + cut(x.check, 60) + "` passes)"
	case len(x.edited) > 0:
		return "fixed by editing " + listFiles(x.edited, 3)
	}
	return "fixed by running `" + strings.Join(x.ran[:min(len(x.ran), 2)], "`, `") + "`"
}

// addNew appends what is not there yet.
func addNew(list []string, more ...string) []string {
	for _, m := range more {
		if m != "" && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}
