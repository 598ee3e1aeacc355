package event_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/proto/event"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

func TestQueryAndText(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		body        *eventv1.Body
		query, text string
	}{
		{nil, "", ""},
		{textBody("why?"), "why?", "why?"},
		{messageBody(), "", ""},
		{messageBody(turn("user", "one"), turn("User", "two"), turn("assistant", "so")), "two", "user: one\nUser: two\nassistant: so"},
		{messageBody(turn("system", "be brief"), turn("assistant", "so")), "so", "system: be brief\nassistant: so"},
		{data(t, map[string]any{"b": 1, "a": "x"}), `{"a":"x","b":1}`, `{"a":"x","b":1}`},
		{jsonBody(nil), "", ""},
	} {
		require.Equal(t, tc.query, event.Query(tc.body))
		require.Equal(t, tc.text, event.Text(tc.body))
	}
}

func TestMarker(t *testing.T) {
	t.Parallel()
	note := func(body *eventv1.Body, lifecycle *eventv1.Lifecycle) *eventv1.Event {
		return &eventv1.Event{Kind: eventv1.Kind_KIND_NOTE, Body: body, Lifecycle: lifecycle}
	}
	for name, marker := range map[string]*eventv1.Event{
		"published start":     note(textBody("session started"), nil),
		"empty":               note(textBody(" \n"), nil),
		"other case":          note(textBody("Session Started\n"), nil),
		"no body":             note(nil, nil),
		"empty object":        note(data(t, map[string]any{}), nil),
		"null":                note(data(t, nil), nil),
		"silent conversation": note(messageBody(turn("user", " ")), nil),
		"silent turn end":     note(textBody(""), &eventv1.Lifecycle{Type: eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_END, Model: "m"}),
	} {
		require.True(t, event.Marker(marker), name)
	}
	for name, other := range map[string]*eventv1.Event{
		"nil":          nil,
		"notification": note(textBody("Waiting for your permission to run make"), nil),
		"task":         note(textBody("subagent started"), &eventv1.Lifecycle{TaskDescription: "find the flaky test"}),
		"answer":       note(textBody(""), &eventv1.Lifecycle{ResponseMessage: "done"}),
		"conversation": note(messageBody(turn("user", "hi")), nil),
		"data":         note(data(t, map[string]any{"a": 1}), nil),
		"prompt":       {Kind: eventv1.Kind_KIND_PROMPT, Body: textBody("")},
		"summary":      {Kind: eventv1.Kind_KIND_SESSION_SUMMARY, Body: textBody("session started")},
	} {
		require.False(t, event.Marker(other), name)
	}
}

func TestMarkerTextsAreMarkers(t *testing.T) {
	t.Parallel()
	require.Equal(t, "session started", event.MarkerText(eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_START))
	for lifecycle := range eventv1.LifecycleType_name {
		ev := &eventv1.Event{Kind: eventv1.Kind_KIND_NOTE, Body: textBody(event.MarkerText(eventv1.LifecycleType(lifecycle)))}
		require.True(t, event.Marker(ev), lifecycle)
	}
}
