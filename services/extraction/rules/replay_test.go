package rules

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
)

// recordedDir finds the recorded sessions of a real team, which are no part of the repository.
func recordedDir(t testing.TB) string {
	t.Helper()
	root := os.Getenv("KIROKU_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared")
	}
	dir := filepath.Join(root, "data", "team-sessions")
	if _, err := os.Stat(filepath.Join(dir, "hooks.jsonl.gz")); err != nil {
		t.Skipf("no recorded sessions: set KIROKU_SHARED to a directory that holds data/team-sessions (%v)", err)
	}
	return dir
}

// recordedHook is one line of the recorded sessions.
type recordedHook struct {
	At    string `json:"at"`
	Actor string `json:"actor"`
	Hook  struct {
		SessionID string         `json:"session_id"`
		Cwd       string         `json:"cwd"`
		Name      string         `json:"hook_event_name"`
		Prompt    string         `json:"prompt"`
		Tool      string         `json:"tool_name"`
		Input     map[string]any `json:"tool_input"`
		Response  any            `json:"tool_response"`
		Error     string         `json:"error"`
		Last      string         `json:"last_assistant_message"`
	} `json:"hook"`
}

// recordedSessions reads up to limit events, each session in order, sessions by their first event.
func recordedSessions(t testing.TB, limit int) [][]*eventv1.Event {
	t.Helper()
	dir := recordedDir(t)
	var stats struct {
		Roots []string `json:"roots"`
	}
	raw, err := os.ReadFile(filepath.Join(dir, "stats.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &stats))
	slices.SortFunc(stats.Roots, func(a, b string) int { return len(b) - len(a) })

	file, err := os.Open(filepath.Join(dir, "hooks.jsonl.gz"))
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 8<<20)
	var order []string
	sessions := map[string][]*eventv1.Event{}
	for n := 1; n <= limit && lines.Scan(); n++ {
		var h recordedHook
		require.NoError(t, json.Unmarshal(lines.Bytes(), &h))
		if _, ok := sessions[h.Hook.SessionID]; !ok {
			order = append(order, h.Hook.SessionID)
		}
		ev := h.event(t, n, stats.Roots)
		sessions[h.Hook.SessionID] = append(sessions[h.Hook.SessionID], ev)
	}
	require.NoError(t, lines.Err())
	out := make([][]*eventv1.Event, 0, len(order))
	for _, id := range order {
		out = append(out, sessions[id])
	}
	return out
}

func (h *recordedHook) event(t testing.TB, n int, roots []string) *eventv1.Event {
	t.Helper()
	root := h.Hook.Cwd
	for _, r := range roots {
		if h.Hook.Cwd == r || strings.HasPrefix(h.Hook.Cwd, r+"/") {
			root = r
			break
		}
	}
	ev := &eventv1.Event{
		EventId: fmt.Sprintf("01J%023d", n), ActorId: h.Actor, SessionId: h.Hook.SessionID, ValidTime: h.At,
		Namespace: "/actor/" + h.Actor + "/project/p_team/", Source: &eventv1.Source{Surface: "claude-code", ProjectPath: root},
	}
	switch h.Hook.Name {
	case "UserPromptSubmit":
		ev.Kind, ev.Body = eventv1.Kind_KIND_PROMPT, textBody(h.Hook.Prompt)
	case "Stop":
		ev.Kind, ev.Body = eventv1.Kind_KIND_SESSION_SUMMARY, textBody(h.Hook.Last)
	case "PostToolUse", "PostToolUseFailure":
		ev.Kind = eventv1.Kind_KIND_TOOL_USE
		ev.Body = toolUseBody(t, h.Hook.Tool, h.Hook.Input, h.Hook.Response)
		ok := h.Hook.Name == "PostToolUse"
		ev.Tool = &eventv1.ToolFacts{Name: h.Hook.Tool, Class: classOfTool(h.Hook.Tool), Success: &ok, Error: h.Hook.Error}
		ev.Tool.Command, _ = h.Hook.Input["command"].(string)
		if p, ok := h.Hook.Input["file_path"].(string); ok {
			if p = repoPath(p, root); p != "" {
				ev.Tool.Files = []string{p}
			}
		}
	default:
		ev.Kind, ev.Body = eventv1.Kind_KIND_NOTE, textBody("")
		if h.Hook.Name == "SessionEnd" {
			ev.Lifecycle = &eventv1.Lifecycle{Type: eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_END}
		}
	}
	return ev
}

func textBody(s string) *eventv1.Body {
	return &eventv1.Body{Body: &eventv1.Body_Text{Text: &eventv1.TextBody{Content: s}}}
}

func toolUseBody(t testing.TB, name string, input map[string]any, response any) *eventv1.Body {
	t.Helper()
	if input == nil {
		input = map[string]any{}
	}
	data, err := structpb.NewValue(map[string]any{"tool_name": name, "tool_input": input, "tool_response": response})
	require.NoError(t, err)
	return &eventv1.Body{Body: &eventv1.Body_Json{Json: &eventv1.JsonBody{Data: data}}}
}

// replayEvents keeps the replay short; a dump for people to read holds everything.
func replayEvents() int {
	if os.Getenv("KIROKU_DUMP_RECORDS") != "" {
		return math.MaxInt
	}
	return 2500
}

// replayed counts what came out of a replay.
type replayed struct {
	turns, withWork, withRecord, changed, namesChanged, withFile int

	lengths []int
	kinds   map[recordv1.ObservationType]int
}

func (c *replayed) add(turn Turn, records []*recordv1.Record) {
	c.turns++
	w := gather(turn)
	if w.did() {
		c.withWork++
	}
	if len(w.edited) > 0 {
		c.changed++
		if len(records) > 0 && slices.Contains(records[0].GetFilesTouched(), w.edited[0]) {
			c.namesChanged++
		}
	}
	if len(records) > 0 {
		c.withRecord++
	}
	for _, r := range records {
		c.lengths = append(c.lengths, recordLength(r))
		c.kinds[r.GetObservationType()]++
		if len(r.GetFilesTouched()) > 0 {
			c.withFile++
		}
	}
}

// TestReplay runs recorded sessions of a team through the extractor and holds what comes out to sane bounds.
// KIROKU_DUMP_RECORDS names a file for the records, to be read by a person.
func TestReplay(t *testing.T) {
	t.Parallel()
	sessions := recordedSessions(t, replayEvents())
	out := io.Discard
	if path := os.Getenv("KIROKU_DUMP_RECORDS"); path != "" {
		file, err := os.Create(path)
		require.NoError(t, err)
		defer func() { require.NoError(t, file.Close()) }()
		out = file
	}
	c := replayed{kinds: map[recordv1.ObservationType]int{}}
	for _, events := range sessions {
		for _, turn := range SplitTurns(events) {
			records := New().Extract(turn)
			checkRecords(t, turn, records)
			c.add(turn, records)
			dump(t, out, turn, records)
		}
	}
	slices.Sort(c.lengths)
	median := c.lengths[len(c.lengths)/2]
	t.Logf("%d sessions, %d turns, %d with work, %d with a record; %d records (%.2f per turn), median length %d, %d name a file; %d of %d turns with changes name the file changed most",
		len(sessions), c.turns, c.withWork, c.withRecord, len(c.lengths), float64(len(c.lengths))/float64(c.turns), median, c.withFile, c.namesChanged, c.changed)
	t.Logf("types: %v", c.kinds)
	require.Equal(t, c.changed, c.namesChanged, "a turn with changes must name the file it changed most")
	require.Greater(t, c.withRecord*10, c.turns*6, "too few turns leave a record")
	require.Less(t, len(c.lengths), c.turns*2, "too many records")
	require.Greater(t, median, 150)
}

func dump(t testing.TB, out io.Writer, turn Turn, records []*recordv1.Record) {
	t.Helper()
	for _, r := range records {
		line, err := json.Marshal(map[string]any{
			"session": r.GetSessionId(), "actor": r.GetActorId(), "at": r.GetValidFrom().AsTime(), "kind": r.GetObservationType().String(),
			"title": r.GetTitle(), "summary": r.GetSummary(), "facts": r.GetFacts(), "concepts": r.GetConcepts(), "files": r.GetFilesTouched(),
			"prompt": head(bodyText(turn.Prompt, ""), 400),
		})
		require.NoError(t, err)
		_, err = out.Write(append(line, '\n'))
		require.NoError(t, err)
	}
}

func recordLength(r *recordv1.Record) int {
	return utf8.RuneCountInString(r.GetTitle() + r.GetSummary() + strings.Join(r.GetFacts(), ""))
}
