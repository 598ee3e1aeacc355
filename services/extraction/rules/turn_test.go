package rules

import (
	"testing"

	"github.com/stretchr/testify/require"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

func kindEvent(id string, kind eventv1.Kind, text string) *eventv1.Event {
	return &eventv1.Event{EventId: id, Kind: kind, ActorId: "ana", SessionId: "s1", Namespace: "/actor/ana/project/p_1/", Body: textBody(text)}
}

func ids(events []*eventv1.Event) []string {
	var out []string
	for _, ev := range events {
		out = append(out, ev.GetEventId())
	}
	return out
}

func TestSplitTurns(t *testing.T) {
	t.Parallel()
	start := kindEvent("n1", eventv1.Kind_KIND_NOTE, "session started")
	late := kindEvent("u3", eventv1.Kind_KIND_TOOL_USE, "")
	late.ParentEventId = "p1"
	turns := SplitTurns([]*eventv1.Event{
		start,
		kindEvent("p1", eventv1.Kind_KIND_PROMPT, "first"),
		kindEvent("u1", eventv1.Kind_KIND_TOOL_USE, ""),
		nil,
		kindEvent("p2", eventv1.Kind_KIND_PROMPT, "second"),
		late,
		kindEvent("u2", eventv1.Kind_KIND_TOOL_USE, ""),
		kindEvent("a2", eventv1.Kind_KIND_SESSION_SUMMARY, "done"),
		kindEvent("p3", eventv1.Kind_KIND_PROMPT, "third"),
	})
	require.Len(t, turns, 4)
	require.Nil(t, turns[0].Prompt)
	require.Equal(t, []string{"n1"}, ids(turns[0].Events))
	require.Equal(t, []string{"p1", "u1", "u3"}, ids(turns[1].Events), "a late event belongs to the prompt that it names")
	require.True(t, turns[1].Ended, "the next prompt ends a turn")
	require.Equal(t, []string{"p2", "u2", "a2"}, ids(turns[2].Events))
	require.True(t, turns[2].Ended)
	require.False(t, turns[3].Ended, "nothing has ended the last turn")
	require.Equal(t, "p_1", turns[3].ProjectID)
	require.Equal(t, "ana", turns[3].ActorID)
	require.Equal(t, "s1", turns[3].SessionID)
	require.Empty(t, SplitTurns(nil))
}

func TestSplitTurnsEndsWithSession(t *testing.T) {
	t.Parallel()
	end := kindEvent("n1", eventv1.Kind_KIND_NOTE, "")
	end.Lifecycle = &eventv1.Lifecycle{Type: eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_END}
	sub := kindEvent("a1", eventv1.Kind_KIND_SESSION_SUMMARY, "the subagent's words")
	sub.Lifecycle = &eventv1.Lifecycle{Type: eventv1.LifecycleType_LIFECYCLE_TYPE_SUBAGENT_END}
	prompt := kindEvent("p1", eventv1.Kind_KIND_PROMPT, "x")
	require.False(t, SplitTurns([]*eventv1.Event{prompt, sub})[0].Ended, "a subagent's end does not end the turn")
	require.True(t, SplitTurns([]*eventv1.Event{prompt, sub, end})[0].Ended)
}

func TestSplitNamespace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ namespace, actor, project string }{
		{"/actor/ana/project/p_1/", "ana", "p_1"}, {"/actor//project/p/", "", "p"}, {"", "", ""}, {"/actor/ana", "ana", ""}, {"nonsense", "", ""},
	} {
		actor, project := splitNamespace(c.namespace)
		require.Equal(t, c.actor, actor, c.namespace)
		require.Equal(t, c.project, project, c.namespace)
	}
}
