package event

import (
	"strings"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// Query returns the text that a prompt asks with: a text's content, a message's last user turn (its last turn when no
// user spoke), or the canonical JSON of structured data. It is empty when there is none.
func Query(body *eventv1.Body) string {
	turns := body.GetMessage().GetTurns()
	if len(turns) > 0 {
		return turns[queryTurn(turns)].GetContent()
	}
	return Text(body)
}

// Text returns everything that the body says: a text's content, the turns of a message as lines of "role: content", or
// the canonical JSON of structured data. It is empty when there is nothing, or nothing that has canonical JSON.
func Text(body *eventv1.Body) string {
	switch shape := body.GetBody().(type) {
	case *eventv1.Body_Text:
		return shape.Text.GetContent()
	case *eventv1.Body_Message:
		var b strings.Builder
		for i, turn := range shape.Message.GetTurns() {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(turn.GetRole())
			b.WriteString(": ")
			b.WriteString(turn.GetContent())
		}
		return b.String()
	case *eventv1.Body_Json:
		text, err := appendValue(nil, shape.Json.GetData())
		if err != nil {
			return ""
		}
		return string(text)
	default:
		return ""
	}
}

// MarkerText returns the content of a note that has nothing to say but that something happened, such as "session
// started". It is empty where the place in the life of a session has no such words.
func MarkerText(lifecycle eventv1.LifecycleType) string {
	switch lifecycle {
	case eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_START:
		return "session started"
	case eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_END:
		return "session ended"
	case eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_END:
		return "turn ended"
	case eventv1.LifecycleType_LIFECYCLE_TYPE_COMPACTION:
		return "context compacted"
	case eventv1.LifecycleType_LIFECYCLE_TYPE_SUBAGENT_START:
		return "subagent started"
	case eventv1.LifecycleType_LIFECYCLE_TYPE_SUBAGENT_END:
		return "subagent ended"
	default:
		return ""
	}
}

// markerTexts are all texts of MarkerText, whatever the lifecycle says: writers without one use them too.
var markerTexts = func() map[string]bool {
	texts := map[string]bool{"": true, "{}": true, "[]": true, "null": true, `""`: true}
	for lifecycle := range eventv1.LifecycleType_name {
		texts[MarkerText(eventv1.LifecycleType(lifecycle))] = true
	}
	return texts
}()

// Marker reports whether an event is a note without content beyond its marker: there is nothing to extract from it. Its
// body is empty or one of the texts of MarkerText, and its lifecycle carries no task and no answer.
func Marker(ev *eventv1.Event) bool {
	if ev.GetKind() != eventv1.Kind_KIND_NOTE {
		return false
	}
	if said(ev.GetLifecycle().GetTaskDescription()) || said(ev.GetLifecycle().GetResponseMessage()) {
		return false
	}
	if message := ev.GetBody().GetMessage(); message != nil {
		for _, turn := range message.GetTurns() {
			if said(turn.GetContent()) {
				return false
			}
		}
		return true
	}
	return !said(Text(ev.GetBody()))
}

// said reports whether a text says anything but that something happened.
func said(s string) bool {
	return !markerTexts[strings.ToLower(strings.TrimSpace(s))]
}
