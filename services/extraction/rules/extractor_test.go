package rules

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
)

func labelledByName(t testing.TB, about string) Turn {
	t.Helper()
	for _, l := range labelledTurns(t) {
		if l.About == about {
			return l.turn(t)
		}
	}
	require.Fail(t, "no such turn", about)
	return Turn{}
}

func TestExtractIsDeterministic(t *testing.T) {
	t.Parallel()
	for _, l := range labelledTurns(t) {
		turn := l.turn(t)
		want := New().Extract(turn)
		for range 5 {
			fresh := turn
			fresh.Events = nil
			for _, ev := range turn.Events {
				fresh.Events = append(fresh.Events, proto.CloneOf(ev))
			}
			if turn.Prompt != nil {
				fresh.Prompt = fresh.Events[slices.Index(turn.Events, turn.Prompt)]
			}
			require.Empty(t, cmp.Diff(want, New().Extract(fresh), protocmp.Transform()), l.About)
		}
	}
}

// TestExtractKeepsKeys holds that a turn extracted while it grows keeps the keys of what it has already told.
func TestExtractKeepsKeys(t *testing.T) {
	t.Parallel()
	x := New()
	for _, l := range labelledTurns(t) {
		whole := l.turn(t)
		final := map[string]bool{}
		for i, r := range x.Extract(whole) {
			final[x.Key(i, r)] = true
		}
		for n := 1 + max(slices.Index(whole.Events, whole.Prompt), 0); n < len(whole.Events); n++ {
			part := whole
			part.Events, part.Ended = whole.Events[:n], false
			records := x.Extract(part)
			checkRecords(t, part, records)
			for i, r := range records {
				if x.Key(i, r) == mainKey || r.GetObservationType() != recordv1.ObservationType_OBSERVATION_TYPE_BUGFIX {
					require.True(t, final[x.Key(i, r)] || i == 0, "%s: %q is gone from the whole turn", l.About, x.Key(i, r))
				}
			}
		}
	}
}

func TestExtractSetsProvenance(t *testing.T) {
	t.Parallel()
	turn := labelledByName(t, "go-cache-stale-read")
	records := New().Extract(turn)
	require.Len(t, records, 1)
	r := records[0]
	require.Equal(t, "p_test", r.GetProjectId())
	require.Equal(t, "shop", r.GetProjectName())
	require.Equal(t, "ana", r.GetActorId())
	require.Equal(t, "s-go-cache-stale-read", r.GetSessionId())
	require.Equal(t, recordv1.ObservationType_OBSERVATION_TYPE_BUGFIX, r.GetObservationType())
	require.Equal(t, recordv1.Visibility_VISIBILITY_PROJECT, r.GetVisibility())
	require.EqualValues(t, 1, r.GetSeenCount())
	require.Empty(t, r.GetRecordId())
	require.Equal(t, ids(turn.Events), r.GetSourceEventIds(), "each event of this turn told something")
	last := turn.Events[len(turn.Events)-1]
	require.Equal(t, eventTime(last).AsTime(), r.GetValidFrom().AsTime())
}

func TestExtractLeavesOutEventsThatToldNothing(t *testing.T) {
	t.Parallel()
	turn := labelledByName(t, "long-turn-many-reads")
	records := New().Extract(turn)
	require.NotEmpty(t, records)
	for _, ev := range turn.Events {
		command := ev.GetTool().GetCommand()
		looks := command != "" && readCommand(command).class == commandNoise
		require.Equal(t, !looks, slices.Contains(records[0].GetSourceEventIds(), ev.GetEventId()), "%v", ev.GetTool())
	}
}

func TestExtractIgnoresForeignWords(t *testing.T) {
	t.Parallel()
	for _, about := range []string{"assembled-prompt", "compaction-in-the-middle", "task-notification"} {
		for i, r := range New().Extract(labelledByName(t, about)) {
			require.Zero(t, i, "%s: %q is not in the user's words", about, r.GetTitle())
		}
	}
}

func TestExtractNothing(t *testing.T) {
	t.Parallel()
	x := New()
	prompt := promptEvent("what does the cache do?")
	require.Empty(t, x.Extract(Turn{}))
	require.Empty(t, x.Extract(Turn{Prompt: prompt, Events: []*eventv1.Event{prompt}}), "a prompt alone only repeats itself")
	note := kindEvent("n1", eventv1.Kind_KIND_NOTE, "session started")
	require.Empty(t, x.Extract(Turn{Events: []*eventv1.Event{note}, Ended: true}))
	limit := kindEvent("a1", eventv1.Kind_KIND_SESSION_SUMMARY, "API Error: 529 overloaded. Please try again later, or ask support for help.")
	require.Empty(t, x.Extract(Turn{Prompt: prompt, Events: []*eventv1.Event{prompt, limit}, Ended: true}))
	echo := kindEvent("a1", eventv1.Kind_KIND_SESSION_SUMMARY, "What does the cache do")
	require.Empty(t, x.Extract(Turn{Prompt: prompt, Events: []*eventv1.Event{prompt, echo}, Ended: true}))
}

func shellStep(id, command string, response any) *eventv1.Event {
	data, err := structpb.NewValue(map[string]any{"tool_name": "execute_bash", "tool_input": map[string]any{"command": command}, "tool_response": response})
	if err != nil {
		panic(err)
	}
	ev := kindEvent(id, eventv1.Kind_KIND_TOOL_USE, "")
	ev.Body = &eventv1.Body{Body: &eventv1.Body_Json{Json: &eventv1.JsonBody{Data: data}}}
	return ev
}

// TestOutcomeOfResponses reads the shapes in which agents give a command's outcome.
func TestOutcomeOfResponses(t *testing.T) {
	t.Parallel()
	entry := func(status any, out string) map[string]any {
		return map[string]any{"exit_status": status, "stdout": out, "stderr": ""}
	}
	for i, c := range []struct {
		response any
		want     outcome
	}{
		{map[string]any{"success": true, "result": []any{entry("0", "ok  \tshop")}}, outcomePassed},
		{map[string]any{"success": true, "result": []any{entry("1", "FAIL\tshop")}}, outcomeFailed},
		{map[string]any{"success": false, "result": nil}, outcomeFailed},
		{map[string]any{"stdout": "ok  \tshop\t0.1s", "stderr": "", "interrupted": false}, outcomePassed},
		{map[string]any{"stdout": "half", "interrupted": true}, outcomeUnknown},
		{map[string]any{"is_error": true, "content": []any{map[string]any{"type": "text", "text": "boom"}}}, outcomeFailed},
		{map[string]any{"exit_code": 2.0}, outcomeFailed},
		{map[string]any{"returncode": 0.0, "output": ""}, outcomePassed},
		{"Output:\nall good\n\nExit Code: 0", outcomePassed},
		{"Output:\nno\n\nExit Code: 1", outcomeFailed},
		{"--- FAIL: TestX (0.1s)\nFAIL", outcomeFailed},
		{"{\"output\":\"x\",\"exitCode\":1}", outcomeFailed},
		{"some words", outcomeUnknown},
		{[]any{}, outcomeUnknown},
		{nil, outcomeUnknown},
		{12.0, outcomeUnknown},
		{true, outcomeUnknown},
	} {
		s := readStep(shellStep(fmt.Sprint(i), "go test ./...", c.response))
		require.Equal(t, c.want, s.outcome, "%d: %v", i, c.response)
	}
}

func TestUnknownOutcomeIsNeverClaimedToWork(t *testing.T) {
	t.Parallel()
	prompt := promptEvent("run the whole test suite on the new branch")
	turn := Turn{Prompt: prompt, Ended: true, Events: []*eventv1.Event{
		prompt, shellStep("u1", "go test ./...", nil), kindEvent("a1", eventv1.Kind_KIND_SESSION_SUMMARY, "The suite was started, its output has not come back yet."),
	}}
	for _, r := range New().Extract(turn) {
		for _, fact := range r.GetFacts() {
			require.NotContains(t, fact, "Works:")
		}
	}
}

func TestFailedCommandThatStaysBroken(t *testing.T) {
	t.Parallel()
	prompt := promptEvent("deploy staging")
	turn := Turn{Prompt: prompt, Ended: true, Events: []*eventv1.Event{
		prompt, shellStep("u1", "make deploy-up", "Error: no kubeconfig for staging\nExit Code: 1"),
	}}
	records := New().Extract(turn)
	require.Len(t, records, 1)
	require.Equal(t, recordv1.ObservationType_OBSERVATION_TYPE_ERROR, records[0].GetObservationType())
	require.Contains(t, records[0].GetFacts(), "`make deploy-up` failed and was not mended: Error: no kubeconfig for staging.")
	turn.Ended = false
	for _, r := range New().Extract(turn) {
		require.NotContains(t, r.GetFacts(), "`make deploy-up` failed and was not mended: Error: no kubeconfig for staging.", "the turn goes on")
	}
}

func TestManyFixesStayWithinFourRecords(t *testing.T) {
	t.Parallel()
	prompt := promptEvent("make all packages build. Always run gofmt first. We use chi, not mux.")
	events := []*eventv1.Event{prompt}
	for i := range 12 {
		command := fmt.Sprintf("go build ./p%d", i)
		events = append(events, shellStep(fmt.Sprintf("f%d", i), command, fmt.Sprintf("p%d/a.go:1:%d: undefined: name%d\nExit Code: 1", i, i+1, i)))
		if i < 4 {
			events = append(events, shellStep(fmt.Sprintf("m%d", i), "npm install", "Exit Code: 0"))
		}
		edit := kindEvent(fmt.Sprintf("e%d", i), eventv1.Kind_KIND_TOOL_USE, "")
		edit.Tool = &eventv1.ToolFacts{Class: eventv1.ToolClass_TOOL_CLASS_EDIT, Files: []string{fmt.Sprintf("p%d/a.go", i)}}
		if i >= 4 {
			events = append(events, edit)
		}
		events = append(events, shellStep(fmt.Sprintf("g%d", i), command, "Exit Code: 0"))
	}
	turn := Turn{Prompt: prompt, Events: events, Ended: true}
	records := New().Extract(turn)
	checkRecords(t, turn, records)
	require.Len(t, records, MaxRecords)
	require.Equal(t, recordv1.ObservationType_OBSERVATION_TYPE_BUGFIX, records[1].GetObservationType())
	require.Equal(t, "fix:1", New().Key(1, records[1]))
	require.NotEqual(t, New().Key(2, records[2]), New().Key(3, records[3]))
}

// TestEventTime falls back to the server's time.
func TestEventTime(t *testing.T) {
	t.Parallel()
	at := timestamppb.Now()
	require.Equal(t, at, eventTime(&eventv1.Event{ValidTime: "yesterday", ReceivedTime: at}))
	require.Equal(t, int64(0), eventTime(&eventv1.Event{ValidTime: "1970-01-01T01:00:00+01:00"}).GetSeconds())
	require.Nil(t, eventTime(&eventv1.Event{}))
}

// TestShuffledEventsHoldBounds: order is the caller's duty, bounds are ours.
func TestShuffledEventsHoldBounds(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(1))
	for _, l := range labelledTurns(t) {
		turn := l.turn(t)
		random.Shuffle(len(turn.Events), func(i, j int) { turn.Events[i], turn.Events[j] = turn.Events[j], turn.Events[i] })
		checkRecords(t, turn, New().Extract(turn))
	}
}
