package rules

import (
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// outcome is how a tool ended.
type outcome int

const (
	outcomeUnknown outcome = iota
	outcomePassed
	outcomeFailed
)

// step is one tool event, read once.
type step struct {
	id      string
	class   eventv1.ToolClass
	tool    string
	files   []string
	command command
	outcome outcome
	gist    string // what went wrong
	summary string // what a test runner counted
	open    []string
}

func itoa(n int) string { return strconv.Itoa(n) }

// readStep reads a tool event from its tool facts, and from the canonical body where they are silent.
func readStep(ev *eventv1.Event) step {
	facts := ev.GetTool()
	root := ev.GetSource().GetProjectPath()
	name, input, answer := toolBody(ev)
	s := step{id: ev.GetEventId(), class: facts.GetClass(), tool: facts.GetName()}
	if s.tool == "" {
		s.tool = name
	}
	if s.class == eventv1.ToolClass_TOOL_CLASS_UNSPECIFIED {
		s.class = classOfTool(s.tool)
	}
	for i, f := range facts.GetFiles() {
		if p := repoPath(f, root); p != "" && i < 4*maxFiles {
			s.files = append(s.files, p)
		}
	}
	if len(s.files) == 0 && handlesFiles(s.class) {
		s.files = inputFiles(input, root)
	}
	line := facts.GetCommand()
	if line == "" {
		line = inputCommand(input)
	}
	if line != "" && runsCommands(s.class) {
		s.command = readCommand(line)
	}
	s.open = openTodos(input)
	s.judge(facts, answer, root)
	return s
}

// judge finds out how the tool ended. Only commands worth telling and foreign tools are looked at: a failed edit or read is
// an agent's slip, not something about the code.
func (s *step) judge(facts *eventv1.ToolFacts, answer *structpb.Value, root string) {
	if !s.command.telling() && s.command.class != commandVCS && (runsCommands(s.class) || s.class != eventv1.ToolClass_TOOL_CLASS_MCP) {
		if facts != nil && facts.Success != nil && !facts.GetSuccess() {
			s.outcome = outcomeFailed
		}
		return
	}
	reply := readResponse(answer)
	if facts.GetError() != "" {
		reply.addText(facts.GetError())
	}
	text := reply.text.String()
	if reply.interrupted || hasAny(head(text, 400), notFailures) {
		s.outcome = outcomeUnknown
		return
	}
	s.outcome = statedOutcome(facts, reply)
	if s.outcome == outcomePassed && !s.command.masked {
		s.summarise(text)
		return
	}
	found := findFailure(text, root)
	switch {
	case s.outcome == outcomeFailed:
		s.gist = found.gist
	case found.proven && s.command.class >= commandBuild:
		s.outcome, s.gist = outcomeFailed, found.gist
	case s.outcome == outcomeUnknown && s.command.telling() && hasAny(text, passMarks):
		s.outcome = outcomePassed
	}
	if s.outcome == outcomePassed {
		s.summarise(text)
	}
}

func (s *step) summarise(text string) {
	if s.command.class == commandTest {
		s.summary = passSummary(text)
	}
}

// statedOutcome is what the agent says of the outcome, the exit status first.
func statedOutcome(facts *eventv1.ToolFacts, reply *response) outcome {
	switch {
	case facts != nil && facts.ExitCode != nil:
		return outcomeOf(facts.GetExitCode() == 0)
	case reply.hasExit:
		return outcomeOf(reply.exit == 0)
	case facts != nil && facts.Success != nil:
		return outcomeOf(facts.GetSuccess())
	case facts.GetError() != "":
		return outcomeFailed
	case reply.success != unsaid:
		return outcomeOf(reply.success == yes)
	}
	return outcomeUnknown
}

func outcomeOf(passed bool) outcome {
	if passed {
		return outcomePassed
	}
	return outcomeFailed
}

func (s *step) changes() bool {
	return s.outcome != outcomeFailed && len(s.files) > 0 &&
		(s.class == eventv1.ToolClass_TOOL_CLASS_EDIT || s.class == eventv1.ToolClass_TOOL_CLASS_WRITE)
}

func runsCommands(class eventv1.ToolClass) bool {
	switch class {
	case eventv1.ToolClass_TOOL_CLASS_SHELL, eventv1.ToolClass_TOOL_CLASS_TEST, eventv1.ToolClass_TOOL_CLASS_VCS,
		eventv1.ToolClass_TOOL_CLASS_OTHER, eventv1.ToolClass_TOOL_CLASS_UNSPECIFIED:
		return true
	}
	return false
}

func handlesFiles(class eventv1.ToolClass) bool {
	switch class {
	case eventv1.ToolClass_TOOL_CLASS_READ, eventv1.ToolClass_TOOL_CLASS_EDIT, eventv1.ToolClass_TOOL_CLASS_WRITE:
		return true
	}
	return false
}

// toolWords tell a tool's class by a part of its name, for producers that send no tool facts. The first match counts.
var toolWords = []struct {
	part  string
	class eventv1.ToolClass
}{
	{"mcp__", eventv1.ToolClass_TOOL_CLASS_MCP},
	{"web", eventv1.ToolClass_TOOL_CLASS_WEB},
	{"fetch", eventv1.ToolClass_TOOL_CLASS_WEB},
	{"bash", eventv1.ToolClass_TOOL_CLASS_SHELL},
	{"shell", eventv1.ToolClass_TOOL_CLASS_SHELL},
	{"exec", eventv1.ToolClass_TOOL_CLASS_SHELL},
	{"terminal", eventv1.ToolClass_TOOL_CLASS_SHELL},
	{"command", eventv1.ToolClass_TOOL_CLASS_SHELL},
	{"edit", eventv1.ToolClass_TOOL_CLASS_EDIT},
	{"replace", eventv1.ToolClass_TOOL_CLASS_EDIT},
	{"patch", eventv1.ToolClass_TOOL_CLASS_EDIT},
	{"write", eventv1.ToolClass_TOOL_CLASS_WRITE},
	{"create_file", eventv1.ToolClass_TOOL_CLASS_WRITE},
	{"grep", eventv1.ToolClass_TOOL_CLASS_SEARCH},
	{"glob", eventv1.ToolClass_TOOL_CLASS_SEARCH},
	{"search", eventv1.ToolClass_TOOL_CLASS_SEARCH},
	{"read", eventv1.ToolClass_TOOL_CLASS_READ},
	{"view", eventv1.ToolClass_TOOL_CLASS_READ},
}

func classOfTool(name string) eventv1.ToolClass {
	if strings.HasPrefix(name, "@") {
		return eventv1.ToolClass_TOOL_CLASS_MCP
	}
	name = strings.ToLower(name)
	for _, t := range toolWords {
		if strings.Contains(name, t.part) {
			return t.class
		}
	}
	return eventv1.ToolClass_TOOL_CLASS_OTHER
}

func inputCommand(input map[string]*structpb.Value) string {
	for _, key := range []string{"command", "cmd", "command_line", "script"} {
		v := input[key]
		if s := v.GetStringValue(); s != "" {
			return s
		}
		if list := v.GetListValue().GetValues(); len(list) > 0 && len(list) < 100 {
			words := make([]string, 0, len(list))
			for _, w := range list {
				words = append(words, w.GetStringValue())
			}
			if len(words) == 3 && isShell(programName(words[0])) {
				return words[2]
			}
			return strings.Join(words, " ")
		}
	}
	return ""
}

// openTodos gives what a to-do list that the agent keeps still holds; nil when the tool is no such list.
func openTodos(input map[string]*structpb.Value) []string {
	todos := input["todos"].GetListValue().GetValues()
	if len(todos) == 0 {
		return nil
	}
	open := []string{}
	for i, t := range todos {
		fields := t.GetStructValue().GetFields()
		status := fields["status"].GetStringValue()
		if text := oneLine(head(fields["content"].GetStringValue(), 200)); text != "" && status != "completed" && status != "done" && i < 50 {
			open = append(open, text)
		}
	}
	return open
}
