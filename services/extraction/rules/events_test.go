package rules

import (
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// promptEvent is a prompt with nothing else set.
func promptEvent(text string) *eventv1.Event {
	return kindEvent("p1", eventv1.Kind_KIND_PROMPT, text)
}
