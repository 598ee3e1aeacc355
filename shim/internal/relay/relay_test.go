package relay_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/relay/servertest"
	"github.com/kiroku-dev/kiroku/shim/internal/spool"
)

func TestTurnIsLinkedAndSentInOrder(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	g := newRig(t, server.Addr)
	g.start()
	g.fire("claude-code", claude("SessionStart", `,"source":"startup"`))
	g.fire("claude-code", claude("UserPromptSubmit", `,"prompt":"fix the total"`))
	g.fire("claude-code", claude("PostToolUse", `,"tool_name":"Edit","tool_use_id":"t1","tool_input":{"file_path":"/srv/shop/api/cart.go"},"tool_response":{}`))
	g.fire("claude-code", claude("PostToolUse", `,"tool_name":"Read","tool_use_id":"t2","tool_input":{"file_path":"/etc/hosts"},"tool_response":{}`))
	g.fire("claude-code", claude("Stop", `,"last_assistant_message":"Done."`))
	g.fire("claude-code", claude("UserPromptSubmit", `,"prompt":"thanks, and the tax?"`))
	events := server.Await(t, 6)

	prompt := events[1]
	require.Equal(t, eventv1.Kind_KIND_PROMPT, prompt.GetKind())
	require.Equal(t, "/actor/ana/project/p_shop/", prompt.GetNamespace())
	require.Equal(t, "ana", prompt.GetActorId())
	require.Equal(t, "s1", prompt.GetSessionId())
	require.Equal(t, "shop", prompt.GetProjectName())
	require.Equal(t, "/srv/shop", prompt.GetSource().GetProjectPath())
	require.Equal(t, "claude-code", prompt.GetMetadata().GetSource())
	at, err := time.Parse(time.RFC3339Nano, prompt.GetValidTime())
	require.NoError(t, err)
	require.Equal(t, 2026, at.Year(), "the hook's time, not the relay's")
	require.True(t, strings.HasPrefix(prompt.GetContentHash(), "sha256:"))
	require.Empty(t, prompt.GetParentEventId())
	for _, of := range events[2:5] {
		require.Equal(t, prompt.GetEventId(), of.GetParentEventId())
	}
	require.Equal(t, []string{"api/cart.go"}, events[2].GetTool().GetFiles())
	require.Equal(t, []string{"/etc/hosts"}, events[3].GetTool().GetFiles())
	require.Empty(t, events[5].GetParentEventId())

	questions := server.Questions()
	require.Len(t, questions, 3)
	require.Equal(t, retrievalv1.Purpose_PURPOSE_SESSION_START, questions[0].GetPurpose())
	require.Equal(t, "fix the total", questions[1].GetQuery())
	require.Equal(t, prompt.GetEventId(), questions[1].GetEventId())
	require.Equal(t, []string{"api/cart.go", "/etc/hosts"}, questions[2].GetFiles())
}

func TestContextIsPrintedInTheAgentsDialect(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	server.Change(func(s *servertest.Server) {
		s.Context = func(_ context.Context, r *retrievalv1.BuildContextRequest) (string, error) {
			return "<kiroku-context>\n- " + r.GetPurpose().String() + " \x1b[2J& \"" + r.GetQuery() + "\"\n</kiroku-context>", nil
		}
	})
	g := newRig(t, server.Addr)
	g.start()
	require.Equal(t, //nolint:testifylint // every byte counts
		`{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"<kiroku-context>\n- PURPOSE_PROMPT [2J& \"why?\"\n</kiroku-context>"}}`+"\n",
		string(g.fire("claude-code", claude("UserPromptSubmit", `,"prompt":"why?"`)).Stdout))
	require.Equal(t, "<kiroku-context>\n- PURPOSE_SESSION_START [2J& \"\"\n</kiroku-context>\n",
		string(g.fire("kiro-cli", `{"hook_event_name":"agentSpawn","cwd":"/srv/shop"}`).Stdout))
	require.Empty(t, g.fire("kiro-cli", `{"hook_event_name":"agentSpawn","cwd":"/srv/shop"}`).Stdout, "one brief a session, however often the hook fires")
	require.NotEmpty(t, g.fire("kiro-cli", `{"hook_event_name":"userPromptSubmit","cwd":"/srv/shop","prompt":"why?"}`).Stdout)
	require.Empty(t, g.fire("kiro-cli", `{"hook_event_name":"stop","cwd":"/srv/shop"}`).Stdout)
	require.Empty(t, g.fire("claude-code", claude("UserPromptSubmit", `,"prompt":" "`)).Stdout, "nothing to ask with")
}

func TestMachineMadePromptsAreNeitherWordsNorQuestions(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	g := newRig(t, server.Addr)
	g.start()
	g.fire("claude-code", claude("UserPromptSubmit", `,"prompt":"<kiroku-context>\n- old notes\n</kiroku-context>"`))
	g.fire("claude-code", claude("UserPromptSubmit", `,"prompt":"<task-notification><task-id>b</task-id></task-notification>"`))
	g.fire("claude-code", claude("UserPromptSubmit", `,"prompt":"<kiroku-context>\n- old notes\n</kiroku-context>\nreal words"`))
	events := server.Await(t, 3)
	require.Equal(t, eventv1.Kind_KIND_NOTE, events[0].GetKind())
	require.Equal(t, eventv1.Kind_KIND_NOTE, events[1].GetKind())
	require.Equal(t, eventv1.Kind_KIND_PROMPT, events[2].GetKind())
	require.Equal(t, "real words", strings.TrimSpace(events[2].GetBody().GetText().GetContent()))
	require.Len(t, server.Questions(), 1)
	require.Equal(t, "real words", server.Questions()[0].GetQuery())
}

func TestCompactionsAreCountedOnceAndBriefAgain(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	server.Change(func(s *servertest.Server) {
		s.Context = func(context.Context, *retrievalv1.BuildContextRequest) (string, error) { return "<b>", nil }
	})
	g := newRig(t, server.Addr)
	g.start()
	require.NotEmpty(t, g.fire("claude-code", claude("SessionStart", `,"source":"startup"`)).Stdout)
	require.Empty(t, g.fire("claude-code", claude("SessionStart", `,"source":"resume"`)).Stdout)
	g.fire("claude-code", claude("PreCompact", `,"trigger":"auto"`))
	g.fire("claude-code", claude("PostCompact", `,"trigger":"auto"`))
	require.NotEmpty(t, g.fire("claude-code", claude("SessionStart", `,"source":"compact"`)).Stdout)
	g.fire("claude-code", claude("UserPromptSubmit", `,"prompt":"go on"`))
	g.stop()
	g.start()
	require.NotEmpty(t, g.fire("claude-code", claude("SessionStart", `,"source":"compact"`)).Stdout, "counted without a hook before it, after a restart")
	var counts []int32
	for _, q := range server.Questions() {
		counts = append(counts, q.GetCompactions())
	}
	require.Equal(t, []int32{0, 1, 1, 2}, counts)
}

func TestDuplicateDeliveriesCollapse(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	server.Change(func(s *servertest.Server) {
		s.Context = func(context.Context, *retrievalv1.BuildContextRequest) (string, error) { return "<b>", nil }
	})
	g := newRig(t, server.Addr)
	g.start()

	prompt := request("claude-code", claude("UserPromptSubmit", `,"prompt":"once"`))
	again := prompt
	again.PID, again.Time = 101, prompt.Time.Add(3*time.Millisecond)
	printed := 0
	for _, r := range []frame.Request{prompt, again} {
		if len(g.send(r).Stdout) > 0 {
			printed++
		}
	}
	require.Equal(t, 1, printed)

	later := prompt
	later.PID, later.Time = 102, prompt.Time.Add(3*time.Minute)
	g.send(later)

	withID := request("claude-code", claude("PostToolUse", `,"tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"ls"}`))
	g.send(withID)
	withID.PID, withID.Time = 103, withID.Time.Add(time.Second)
	g.send(withID)

	// The same command twice in a row, from two hooks that did not overlap: two events.
	bare := request("kiro-cli", `{"hook_event_name":"postToolUse","cwd":"/srv/shop","tool_name":"execute_bash","tool_input":{"command":"ls"}}`)
	bare.Time = time.Now()
	g.send(bare)
	bare.PID, bare.Time = 104, time.Now().Add(time.Second)
	g.send(bare)

	otherAgent := prompt
	otherAgent.PID, otherAgent.Time = 105, prompt.Time.Add(time.Second)
	otherAgent.Ancestors = []frame.Process{{PID: 55, Start: 1, Name: "agent"}}
	g.send(otherAgent)

	require.Len(t, server.Await(t, 6), 6)
	require.EqualValues(t, 2, g.status().Duplicates)
}

func TestSyntheticSessionsAreStableAndApart(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	g := newRig(t, server.Addr)
	g.start()
	stop := func(pid int, start uint64, dir string) {
		r := request("kiro-cli", fmt.Sprintf(`{"hook_event_name":"stop","cwd":%q,"assistant_response":"x"}`, dir))
		r.Ancestors = []frame.Process{{PID: r.PID, Start: 1, Name: "bash"}, {PID: pid, Start: start, Name: "kiro-cli"}}
		g.send(r)
	}
	stop(10, 1, "/srv/shop")
	stop(10, 1, "/srv/shop/api")
	stop(11, 1, "/srv/shop")
	stop(10, 2, "/srv/shop")
	stop(10, 1, "/srv/other")
	events := server.Await(t, 5)
	require.Equal(t, events[0].GetSessionId(), events[1].GetSessionId())
	seen := map[string]bool{}
	for _, ev := range events[1:] {
		require.True(t, ev.GetFlags().GetSyntheticSession())
		require.False(t, seen[ev.GetSessionId()])
		seen[ev.GetSessionId()] = true
	}
}

func TestSpooledFramesGoTheSameWayOnce(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	g := newRig(t, server.Addr)
	first := request("kiro-cli", `{"hook_event_name":"stop","cwd":"/srv/shop","assistant_response":"spooled"}`)
	first.Flags |= frame.Scrubbed
	_, err := spool.Write(g.paths.SpoolDirs(), &first)
	require.NoError(t, err)
	g.start()
	ev := server.Await(t, 1)[0]
	at, err := time.Parse(time.RFC3339Nano, ev.GetValidTime())
	require.NoError(t, err)
	require.True(t, first.Time.Equal(at), "the time is that of the hook")

	// A hook whose answer came too late leaves a copy of what the relay has taken.
	second := request("kiro-cli", `{"hook_event_name":"stop","cwd":"/srv/shop","assistant_response":"both"}`)
	g.send(second)
	server.Await(t, 2)
	g.stop()
	_, err = spool.Write(g.paths.SpoolDirs(), &second)
	require.NoError(t, err)
	g.start()
	g.fire("kiro-cli", `{"hook_event_name":"stop","cwd":"/srv/shop","assistant_response":"third"}`)
	require.Len(t, server.Await(t, 3), 3)
}

func TestFrameOnWhichTheRelayBreaksBlocksNothing(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	g := newRig(t, server.Addr)
	g.start()
	poison := request("kiro-cli", `{"hook_event_name":"stop","cwd":"`+brokenDir+`","assistant_response":"poison"}`)
	require.Equal(t, frame.Unavailable, g.send(poison).Status, "the hook keeps its event")
	require.Equal(t, frame.Unavailable, g.send(poison).Status, "what was not kept is no repeat")
	g.stop()
	poison.Flags |= frame.Scrubbed
	path, err := spool.Write(g.paths.SpoolDirs(), &poison)
	require.NoError(t, err)
	behind := request("kiro-cli", `{"hook_event_name":"stop","cwd":"/srv/shop","assistant_response":"behind it"}`)
	_, err = spool.Write(g.paths.SpoolDirs(), &behind)
	require.NoError(t, err)

	g.start()
	require.Equal(t, "behind it", server.Await(t, 1)[0].GetBody().GetText().GetContent())
	require.FileExists(t, filepath.Join(filepath.Dir(path), "quarantine", filepath.Base(path)))
}

func TestFilesWithPrivateNamesAreNotAskedWith(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	g := newRig(t, server.Addr)
	g.start()
	for _, file := range []string{"/srv/shop/total.go", "/srv/shop/<private>" + private + "</private>.go"} {
		g.fire("claude-code", claude("PostToolUse", `,"tool_name":"Write","tool_use_id":"`+file+`","tool_input":{"file_path":"`+file+`"}`))
	}
	g.fire("claude-code", claude("UserPromptSubmit", `,"prompt":"fix the total"`))
	question := server.Questions()[0]
	require.NotContains(t, question.String(), private)
	require.Len(t, question.GetFiles(), 1)
}

func TestRecordedTimeCountsOnlyWhenActingAsSomebody(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	at := "2026-01-05T12:17:31.459+01:00"
	for _, actor := range []string{"", "dev-1"} {
		g := newRig(t, server.Addr)
		g.config.ActAs = actor
		g.start()
		r := request("claude-code", claude("Stop", ""))
		r.Env = []frame.Var{{Name: "KIROKU_AT", Value: at}, {Name: "KIROKU_PROJECT", Value: "recorded"}, {Name: "KIROKU_PROJECT_ROOT", Value: "/home/dev-1/x"}}
		g.send(r)
	}
	for _, ev := range server.Await(t, 2) {
		require.Equal(t, ev.GetActorId() == "dev-1", ev.GetValidTime() == at)
		require.Equal(t, "recorded", ev.GetProjectName())
		require.Equal(t, "/home/dev-1/x", ev.GetSource().GetProjectPath())
	}
}

func TestNothingToUnderstandIsAcceptedInSilence(t *testing.T) {
	t.Parallel()
	g := newRig(t, servertest.Unstarted(t).Addr)
	g.start()
	for _, payload := range []string{"", "hello", "[]", "null"} {
		require.Equal(t, frame.Answer{Status: frame.Accepted, Stdout: []byte{}}, g.send(request("claude-code", payload)))
	}
	require.Equal(t, frame.Accepted, g.send(request("--help", "{}")).Status)
	require.EqualValues(t, 5, g.status().Ignored)
}

func TestRelayGivesWayToANewerBuild(t *testing.T) {
	t.Parallel()
	g := newRig(t, servertest.Unstarted(t).Addr)
	g.start()
	for _, version := range []string{"v0.9.9", "dev", "", "v1.0.0"} {
		r := request("claude-code", claude("Stop", ""))
		r.Version = version
		require.Equal(t, frame.Accepted, g.send(r).Status)
	}
	r := request("claude-code", claude("Stop", ""))
	r.Version = "v1.0.1"
	require.Equal(t, frame.Accepted, g.send(r).Status)
	require.NoError(t, <-g.done)
	g.end = nil
}
