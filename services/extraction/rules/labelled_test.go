package rules

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	"github.com/stretchr/testify/require"
)

// labelledTurn is a turn in testdata/turns with what a person said must be kept of it.
type labelledTurn struct {
	About   string         `json:"about"`
	Surface string         `json:"surface"`
	Actor   string         `json:"actor"`
	Root    string         `json:"root"`
	Events  []compactEvent `json:"events"`
	Labels  labels         `json:"labels"`
	Records *int           `json:"records"`
}

// labels are phrases that must stand in one record; the parts of "a + b" must stand in the same.
type labels struct {
	Fixes       []string `json:"fixes"`
	Decisions   []string `json:"decisions"`
	Preferences []string `json:"preferences"`
	Commands    []string `json:"commands"`
	Files       []string `json:"files"`
}

// compactEvent is an event as testdata writes it: one of prompt, answer, note and tool.
type compactEvent struct {
	Prompt   *string        `json:"prompt"`
	Answer   *string        `json:"answer"`
	Note     *string        `json:"note"`
	Life     string         `json:"life"`
	Tool     string         `json:"tool"`
	Class    string         `json:"class"`
	Command  string         `json:"command"`
	Files    []string       `json:"files"`
	Exit     *int32         `json:"exit"`
	OK       *bool          `json:"ok"`
	Error    string         `json:"error"`
	Input    map[string]any `json:"input"`
	Response any            `json:"response"`
}

func (c *compactEvent) event(t testing.TB, turn *labelledTurn, n int) *eventv1.Event {
	t.Helper()
	ev := &eventv1.Event{
		EventId: fmt.Sprintf("01K%023d", n), ActorId: turn.Actor, SessionId: "s-" + turn.About, SequenceNumber: int64(n),
		Namespace: "/actor/" + turn.Actor + "/project/p_test/", ProjectName: filepath.Base(turn.Root),
		ValidTime: time.Date(2026, 2, 11, 9, 30, 10*n, 0, time.FixedZone("", 3600)).Format(time.RFC3339),
		Source:    &eventv1.Source{Surface: turn.Surface, ProjectPath: turn.Root},
	}
	switch {
	case c.Prompt != nil:
		ev.Kind, ev.Body = eventv1.Kind_KIND_PROMPT, textBody(*c.Prompt)
	case c.Answer != nil:
		ev.Kind, ev.Body = eventv1.Kind_KIND_SESSION_SUMMARY, textBody(*c.Answer)
	case c.Note != nil:
		ev.Kind, ev.Body = eventv1.Kind_KIND_NOTE, textBody(*c.Note)
		life, ok := eventv1.LifecycleType_value["LIFECYCLE_TYPE_"+strings.ToUpper(c.Life)]
		require.True(t, ok, c.Life)
		ev.Lifecycle = &eventv1.Lifecycle{Type: eventv1.LifecycleType(life)}
	default:
		class, ok := eventv1.ToolClass_value["TOOL_CLASS_"+strings.ToUpper(c.Class)]
		require.True(t, ok, c.Class)
		ev.Kind, ev.Body = eventv1.Kind_KIND_TOOL_USE, toolUseBody(t, c.Tool, c.Input, c.Response)
		ev.Tool = &eventv1.ToolFacts{
			Name: c.Tool, Class: eventv1.ToolClass(class), Files: c.Files, Command: c.Command, ExitCode: c.Exit, Success: c.OK, Error: c.Error,
		}
	}
	return ev
}

func (l *labelledTurn) turn(t testing.TB) Turn {
	t.Helper()
	var events []*eventv1.Event
	var prompt *eventv1.Event
	for i := range l.Events {
		events = append(events, l.Events[i].event(t, l, i+1))
		if l.Events[i].Prompt != nil {
			prompt = events[i]
		}
	}
	return Turn{ProjectID: "p_test", ActorID: l.Actor, SessionID: "s-" + l.About, Prompt: prompt, Events: events, Ended: true}
}

func labelledTurns(t testing.TB) []*labelledTurn {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "turns", "*.json"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(names), 30)
	var out []*labelledTurn
	for _, name := range names {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		turn := &labelledTurn{}
		require.NoError(t, json.Unmarshal(raw, turn), name)
		out = append(out, turn)
	}
	return out
}

// tally counts what was kept of one kind of label.
type tally struct{ kept, all int }

func (c tally) percent() int { return 100 * c.kept / max(c.all, 1) }

// TestLabelledTurns holds the share of what people want remembered above a floor, for each kind of fact.
func TestLabelledTurns(t *testing.T) {
	t.Parallel()
	x := New()
	counts := map[string]*tally{}
	kinds := []string{"fixes", "decisions", "preferences", "commands", "files"}
	for _, kind := range kinds {
		counts[kind] = &tally{}
	}
	for _, l := range labelledTurns(t) {
		turn := l.turn(t)
		records := x.Extract(turn)
		checkRecords(t, turn, records)
		if l.Records != nil {
			require.Len(t, records, *l.Records, l.About)
		} else {
			require.NotEmpty(t, records, l.About)
		}
		for i, phrases := range [][]string{l.Labels.Fixes, l.Labels.Decisions, l.Labels.Preferences, l.Labels.Commands, l.Labels.Files} {
			for _, phrase := range phrases {
				counts[kinds[i]].all++
				if kept(records, phrase, kinds[i]) {
					counts[kinds[i]].kept++
				} else {
					t.Logf("lost in %s, %s: %s", l.About, kinds[i], phrase)
				}
			}
		}
	}
	for _, kind := range kinds {
		c := counts[kind]
		t.Logf("%-12s %3d of %3d kept, %d %%", kind, c.kept, c.all, c.percent())
		require.GreaterOrEqual(t, c.percent(), 80, kind)
	}
}

// kept reports whether one record holds all parts of the phrase. Preferences must stand in a record of their own kind.
func kept(records []*recordv1.Record, phrase, kind string) bool {
	for _, r := range records {
		own := r.GetObservationType() == recordv1.ObservationType_OBSERVATION_TYPE_PREFERENCE ||
			r.GetObservationType() == recordv1.ObservationType_OBSERVATION_TYPE_DECISION
		if kind == "preferences" && !own {
			continue
		}
		text := plain(r.GetTitle() + " " + r.GetSummary() + " " + strings.Join(r.GetFacts(), " "))
		if kind == "files" {
			text = plain(strings.Join(r.GetFilesTouched(), " "))
		}
		all := true
		for _, part := range strings.Split(phrase, " + ") {
			all = all && strings.Contains(text, plain(part))
		}
		if all {
			return true
		}
	}
	return false
}

// plain compares phrases without case and backquotes.
func plain(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(strings.ReplaceAll(s, "`", ""))), " ")
}
