package tool

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/payload"
)

const (
	// maxError is how much of an error's text the facts carry, in bytes; the body has all of it.
	maxError = 4096
	// maxCommand is how much of a command line the facts carry, in bytes.
	maxCommand = 16 << 10
	// maxFiles is how many files the facts name.
	maxFiles = 100
)

// Call is one finished tool call in an agent's own words.
type Call struct {
	// Name is the tool's name, "" when the agent gave none.
	Name string
	// Input and Response are decoded JSON of any type, nil when absent.
	Input, Response any
	// Error is the error text that came beside the response, if any.
	Error string
	// Success is what the kind of hook says; nil when it says nothing.
	Success *bool
	// Duration is how long the call took; 0 when unknown.
	Duration time.Duration
}

// Facts derives what the call did. Files are as the agent wrote them: absolute, or relative to
// the working directory. What the agent did not say stays absent.
func Facts(c Call) *eventv1.ToolFacts {
	input, _ := payload.Unwrap(c.Input).(map[string]any)
	result := readResult(c.Response)
	facts := &eventv1.ToolFacts{Name: c.Name, Class: ClassOf(c.Name), Success: c.Success, Error: c.Error}
	if facts.GetClass() == eventv1.ToolClass_TOOL_CLASS_SHELL {
		facts.Command = cut(commandOf(input), maxCommand)
		facts.Class = refine(facts.GetCommand())
	}
	if facts.GetClass() == eventv1.ToolClass_TOOL_CLASS_WRITE && isPartial(input, result.text) {
		facts.Class = eventv1.ToolClass_TOOL_CLASS_EDIT
	}
	if facts.GetClass() == eventv1.ToolClass_TOOL_CLASS_OTHER || facts.GetClass() == eventv1.ToolClass_TOOL_CLASS_UNSPECIFIED {
		facts.Class = classOfProse(result.text, facts.GetClass())
	}
	facts.Files = filesOf(facts.GetClass(), c.Input, input, result)
	facts.ExitCode = exitCode(result, c.Error)
	if facts.Success == nil {
		facts.Success = success(result, facts.ExitCode)
	}
	if facts.GetError() == "" && facts.Success != nil && !facts.GetSuccess() {
		facts.Error = result.err
	}
	facts.Error = cut(strings.TrimSpace(facts.GetError()), maxError)
	if c.Duration > 0 {
		facts.Duration = durationpb.New(c.Duration)
	}
	return facts
}

// cut shortens text to at most limit bytes on a rune boundary.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}

func commandOf(input payload.Object) string {
	v, _ := input.Lookup("command", "cmd", "script")
	if list, ok := v.([]any); ok {
		parts := make([]string, 0, len(list))
		for _, item := range list {
			if word, ok := item.(string); ok {
				parts = append(parts, word)
			}
		}
		return strings.Join(parts, " ")
	}
	return input.Text("command", "cmd", "script")
}

// isPartial tells a change of part of a file from a whole write, for tools that do both.
func isPartial(input payload.Object, text string) bool {
	switch input.Text("command") {
	case "str_replace", "strReplace", "insert", "append":
		return true
	}
	return strings.HasPrefix(text, "Replaced text in ") || strings.HasPrefix(text, "Appended the text to ")
}

func exitCode(r result, errText string) *int32 {
	if r.exitCode != nil {
		return r.exitCode
	}
	for _, text := range []string{errText, r.text} {
		if m := exitPattern().FindStringSubmatch(text); m != nil {
			if code, err := strconv.ParseInt(m[1], 10, 32); err == nil {
				code := int32(code)
				return &code
			}
		}
	}
	return nil
}

// exitPattern finds the exit status that Claude Code puts first in an error and the Kiro IDE last
// in a result.
var exitPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^Exit code |\n\s*Exit Code: )(-?\d+)\s*(?:\n|$)`)
})

func success(r result, code *int32) *bool {
	switch {
	case r.success != nil:
		return r.success
	case code != nil:
		ok := *code == 0
		return &ok
	}
	return nil
}

// filesOf lists the files that a call read or changed. Directories that were searched and files
// that were merely found are not among them.
func filesOf(class eventv1.ToolClass, raw any, input payload.Object, r result) []string {
	switch class {
	case eventv1.ToolClass_TOOL_CLASS_READ, eventv1.ToolClass_TOOL_CLASS_EDIT, eventv1.ToolClass_TOOL_CLASS_WRITE:
	default:
		return nil
	}
	files := pathsIn(input)
	for _, key := range []string{"operations", "edits", "files"} {
		for _, item := range input.List(key) {
			if obj, ok := item.(map[string]any); ok {
				files = append(files, pathsIn(obj)...)
			}
		}
	}
	patch, _ := raw.(string)
	for _, text := range []string{patch, input.Text("patch", "input")} {
		files = append(files, filesOfPatch(text)...)
	}
	if len(files) == 0 {
		files = append(files, r.files...)
	}
	if len(files) == 0 {
		files = filesOfProse(r.text)
	}
	return firstOfEach(files)
}

func pathsIn(obj payload.Object) []string {
	var files []string
	for _, key := range []string{"file_path", "filePath", "notebook_path", "path", "file", "paths", "file_paths", "files", "targetFile"} {
		switch v := obj[key].(type) {
		case string:
			files = append(files, v)
		case []any:
			for _, item := range v {
				if s, ok := item.(string); ok {
					files = append(files, s)
				}
			}
		}
	}
	return files
}

func filesOfPatch(text string) []string {
	if !strings.HasPrefix(strings.TrimSpace(text), "*** Begin Patch") {
		return nil
	}
	var files []string
	for line := range strings.Lines(text) {
		for _, mark := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if name, ok := strings.CutPrefix(line, mark); ok {
				files = append(files, strings.TrimSpace(name))
			}
		}
	}
	return files
}

func firstOfEach(files []string) []string {
	var kept []string
	for _, file := range files {
		if file != "" && !slices.Contains(kept, file) && len(kept) < maxFiles {
			kept = append(kept, file)
		}
	}
	return kept
}
