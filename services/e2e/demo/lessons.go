package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// privateWords are from the parts of the recordings that are marked private.
var privateWords = []string{"Velloso", "acquisition closes", "Kestrel-4417"}

// control is a word of the recordings that must be found in a store: a search that does not find it proves nothing.
const control = "TestCheckoutTotal"

// question is a prompt of the third developer, with what the recorded sessions taught about it.
type question struct {
	prompt  string
	lessons []string
}

var questions = []question{
	{
		prompt: "TestCheckoutTotal failed on CI again. What do we know about it, and how do I run the cart tests?",
		lessons: []string{
			"cart/store.go",                  // the file
			"go test -race ./cart/...",       // the command that works
			"without a lock",                 // the root cause, from the agent's answer
			"fixed by editing cart/store.go", // what mended the failure
		},
	},
	{
		prompt:  "I am adding discounts to the cart total. Are prices floats or integer cents here?",
		lessons: []string{"We decided: prices are integer cents, never floats", "cart/total.go"},
	},
	{
		prompt: "I need another migration for the orders table. How do I apply it to my database?",
		lessons: []string{
			"make migrate", "needs DATABASE_URL", // the command and what it needs
			"db/migrations", // where they lie
		},
	},
}

// missing lists the lessons that a text lacks, whatever the case.
func (q question) missing(text string) (lacking []string) {
	for _, lesson := range q.lessons {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(lesson)) {
			lacking = append(lacking, lesson)
		}
	}
	return lacking
}

// brief is what must be in the brief of a session's start: the standing rules, in the words of those who stated them.
var brief = question{lessons: []string{
	"we use pnpm, not npm", "I prefer table tests", "prices are integer cents, never floats",
}}

// contextOf takes the context out of what the hook printed for Claude Code: nothing else may be in it.
func contextOf(stdout []byte, event string) (string, error) {
	if len(stdout) == 0 {
		return "", nil
	}
	var answer struct {
		Output struct {
			Event   string `json:"hookEventName"`
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(stdout, &answer); err != nil {
		return "", fmt.Errorf("the hook printed something else than Claude Code's JSON: %w", err)
	}
	if answer.Output.Event != event {
		return "", fmt.Errorf("the hook answered for %q, want %q", answer.Output.Event, event)
	}
	return answer.Output.Context, nil
}

func indent(text string) string {
	return "  │ " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  │ ")
}
