package rules

import (
	"strings"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// Turn is one prompt with all that followed it, in order.
type Turn struct {
	ProjectID string
	ActorID   string
	SessionID string
	// Prompt starts the turn. It is nil for events that came before any prompt.
	Prompt *eventv1.Event
	// Events are all events of the turn, the prompt included, in the order of the session.
	Events []*eventv1.Event
	// Ended tells that nothing more is expected: the agent finished, the session ended or the next prompt came.
	Ended bool
}

// SplitTurns cuts one session's events, given in order, into turns. An event that names its prompt as its parent goes to
// that prompt's turn even when it came late; any other goes to the turn that is running.
func SplitTurns(events []*eventv1.Event) []Turn {
	var turns []Turn
	ofPrompt := map[string]int{}
	for _, ev := range events {
		if ev == nil {
			continue
		}
		if ev.GetKind() == eventv1.Kind_KIND_PROMPT {
			if n := len(turns); n > 0 {
				turns[n-1].Ended = true
			}
			ofPrompt[ev.GetEventId()] = len(turns)
			turns = append(turns, newTurn(ev))
			continue
		}
		at, known := ofPrompt[ev.GetParentEventId()]
		if !known {
			if len(turns) == 0 {
				turns = append(turns, newTurn(ev))
				continue
			}
			at = len(turns) - 1
		}
		turns[at].Events = append(turns[at].Events, ev)
		turns[at].Ended = turns[at].Ended || endsTurn(ev)
	}
	return turns
}

func newTurn(first *eventv1.Event) Turn {
	actor, project := splitNamespace(first.GetNamespace())
	if first.GetActorId() != "" {
		actor = first.GetActorId()
	}
	turn := Turn{
		ProjectID: project,
		ActorID:   actor,
		SessionID: first.GetSessionId(),
		Events:    []*eventv1.Event{first},
		Ended:     endsTurn(first),
	}
	if first.GetKind() == eventv1.Kind_KIND_PROMPT {
		turn.Prompt = first
	}
	return turn
}

func endsTurn(ev *eventv1.Event) bool {
	switch ev.GetLifecycle().GetType() {
	case eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_END, eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_END:
		return true
	case eventv1.LifecycleType_LIFECYCLE_TYPE_SUBAGENT_END:
		return false
	default:
		return ev.GetKind() == eventv1.Kind_KIND_SESSION_SUMMARY
	}
}

// splitNamespace reads "/actor/<actor>/project/<project>/"; what is not there is empty.
func splitNamespace(namespace string) (actor, project string) {
	parts := strings.Split(namespace, "/")
	for i := 1; i+1 < len(parts); i += 2 {
		switch parts[i] {
		case "actor":
			actor = parts[i+1]
		case "project":
			project = parts[i+1]
		}
	}
	return actor, project
}
