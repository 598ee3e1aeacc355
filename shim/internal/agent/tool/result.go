package tool

import (
	"regexp"
	"strings"
	"sync"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/payload"
)

// result is what a tool's response says, whatever its shape.
type result struct {
	// text is the response when it is prose, or the text blocks of a list.
	text     string
	exitCode *int32
	success  *bool
	err      string
	files    []string
}

// readResult understands a string, a list of blocks, an object with the outcome in it, and an
// object around any of these.
func readResult(v any) result {
	var r result
	r.read(payload.Unwrap(v), 0)
	return r
}

func (r *result) read(v any, depth int) {
	if depth > 4 {
		return
	}
	switch v := v.(type) {
	case string:
		r.text = join(r.text, v)
	case []any:
		for _, item := range v {
			r.read(item, depth+1)
		}
	case map[string]any:
		r.readObject(v, depth)
	}
}

func (r *result) readObject(obj payload.Object, depth int) {
	if code, ok := obj.Number("exit_code", "exitCode", "exit_status", "exitStatus"); ok && r.exitCode == nil {
		code := int32(code)
		r.exitCode = &code
	}
	r.readSuccess(obj)
	if text := obj.Text("error", "stderr"); r.err == "" {
		r.err = text
	}
	if obj.Text("type") == "text" {
		r.text = join(r.text, obj.Text("text"))
	}
	r.files = append(r.files, pathsIn(payload.Object{"filePath": obj["filePath"], "file_path": obj["file_path"]})...)
	for _, key := range []string{"result", "content", "output", "file"} {
		if inner, ok := obj[key]; ok {
			r.read(inner, depth+1)
		}
	}
}

func (r *result) readSuccess(obj payload.Object) {
	if r.success != nil {
		return
	}
	if ok, known := obj.Bool("success"); known {
		r.success = &ok
	} else if failed, known := obj.Bool("is_error", "isError", "interrupted"); known && failed {
		ok := false
		r.success = &ok
	}
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// prose lists the sentences with which the Kiro IDE reports what a tool did to a file; its hooks
// carry no arguments.
var prose = sync.OnceValue(func() []sentence {
	compile := regexp.MustCompile
	return []sentence{
		{compile(`^Created the (.+) file\.?\s*$`), eventv1.ToolClass_TOOL_CLASS_WRITE},
		{compile(`^Deleted the (.+) file\.?\s*$`), eventv1.ToolClass_TOOL_CLASS_WRITE},
		{compile(`^Replaced text in (.+?)(?: \(\d+ occurrences?\))?\.?\s*$`), eventv1.ToolClass_TOOL_CLASS_EDIT},
		{compile(`^Appended the text to the (.+) file\.?\s*$`), eventv1.ToolClass_TOOL_CLASS_EDIT},
	}
})

type sentence struct {
	pattern *regexp.Regexp
	class   eventv1.ToolClass
}

// maxProse is how long a sentence about a file can be: long output is no sentence.
const maxProse = 4096

func matchProse(text string) (file string, class eventv1.ToolClass, ok bool) {
	if len(text) > maxProse {
		return "", 0, false
	}
	for _, s := range prose() {
		if m := s.pattern.FindStringSubmatch(text); m != nil {
			return m[1], s.class, true
		}
	}
	return "", 0, false
}

func filesOfProse(text string) []string {
	if file, _, ok := matchProse(text); ok {
		return []string{file}
	}
	return nil
}

// classOfProse tells the class from the result's wording, or returns the given one.
func classOfProse(text string, class eventv1.ToolClass) eventv1.ToolClass {
	if _, found, ok := matchProse(text); ok {
		return found
	}
	if strings.HasPrefix(text, "Output:\n") && exitPattern().MatchString(text) {
		return eventv1.ToolClass_TOOL_CLASS_SHELL
	}
	return class
}

// Missing names the payload fields of a tool result that the call did not give.
func Missing(c Call, callID string, facts *eventv1.ToolFacts) []string {
	var missing []string
	response, _ := payload.Unwrap(c.Response).(map[string]any)
	add := func(absent bool, name string) {
		if absent {
			missing = append(missing, name)
		}
	}
	add(c.Name == "", "tool_name")
	add(callID == "", "tool_call_id")
	switch {
	case facts.GetClass() == eventv1.ToolClass_TOOL_CLASS_MCP:
		add(c.Response == nil && c.Error == "", "result")
	case c.Error == "":
		add(facts.ExitCode == nil, "exit_code")
		add(!hasStream(response, "stdout"), "stdout")
		add(!hasStream(response, "stderr"), "stderr")
	}
	add(facts.GetDuration() == nil, "duration_ms")
	add(facts.Success == nil, "success")
	return missing
}

// hasStream reports whether an output stream is in the response or in the first result in it.
func hasStream(response payload.Object, name string) bool {
	if _, ok := response[name]; ok {
		return true
	}
	for _, item := range response.List("result") {
		if obj, ok := item.(map[string]any); ok {
			if _, ok := obj[name]; ok {
				return true
			}
		}
	}
	return false
}
