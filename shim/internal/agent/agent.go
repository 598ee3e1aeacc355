// Package agent defines what the relay knows about a hook call of a coding agent: the call as
// it came, what a dialect reads out of it, and the answer in the agent's own form.
//
// Each agent has a package below this one that implements Dialect. Package dialects lists them
// and decides who is calling.
package agent

import (
	"time"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/payload"
)

// Hook is one call of a hook program, as the agent made it.
type Hook struct {
	// Argv is the command line after the program's name: the agent as the configuration names
	// it, then perhaps the event.
	Argv []string
	// Env holds the environment variables that the hook passed on.
	Env map[string]string
	// Dir is the hook's working directory, "" when unknown.
	Dir string
	// Time is when the hook was called.
	Time time.Time
	// Programs names the processes above the hook, the nearest first.
	Programs []string
	// Payload is what the agent wrote to stdin, as it came.
	Payload []byte
	// Object is the payload when it is a JSON object, else nil.
	Object payload.Object
	// Problems says what had to be overlooked to read the payload.
	Problems payload.Problems
}

// NewHook completes a call by reading its payload.
func NewHook(h Hook) Hook {
	h.Object, h.Problems, _ = payload.DecodeObject(h.Payload)
	return h
}

// Arg returns the argument at the given place, "" when there is none.
func (h Hook) Arg(i int) string {
	if i >= len(h.Argv) {
		return ""
	}
	return h.Argv[i]
}

// Want says what text an agent takes into the model's context after a hook.
type Want int

const (
	// WantNothing means that the hook's answer is empty.
	WantNothing Want = iota
	// WantPrompt is for notes that fit the prompt.
	WantPrompt
	// WantSessionStart is for a brief of the project.
	WantSessionStart
)

// Compaction says how an event bears on the count of the session's compactions.
type Compaction int

const (
	// CompactionNone means not at all.
	CompactionNone Compaction = iota
	// CompactionBegins means that the agent is about to compress its context.
	CompactionBegins
	// CompactionDone means that the agent has done so; it may have said before that it would.
	CompactionDone
)

// Parsed is one event as a dialect understands it. Everything but Event.Kind and Event.Body may
// be absent.
type Parsed struct {
	// Event holds what the payload tells: kind, type, lifecycle, tool facts, body, session id,
	// labels, correlation id and missing fields. Tool files are as the agent wrote them.
	Event *eventv1.Event
	// Dir is the working directory by the payload, or the hook's own.
	Dir string
	// DeliveryID tells this event from an equal one: the id of the tool call or the prompt.
	DeliveryID string
	// Query is the prompt in the user's words; "" when there is nothing to ask with.
	Query string
	// Want is what the agent can take in answer.
	Want Want
	// Compaction is what the event says about the agent's context window.
	Compaction Compaction
}

// Dialect is how one coding agent speaks. Implementations hold no state and may be used by many
// goroutines. They never fail: what they do not know becomes a note.
type Dialect interface {
	// Surface is the agent's name in events, such as "claude-code".
	Surface() string
	// Parse reads a call. A call may carry several events, or none at all.
	Parse(h Hook) []Parsed
	// Render gives the exact bytes to print so that the agent takes text into its context;
	// nothing for an empty text or when nothing is wanted.
	Render(want Want, text string) []byte
}
