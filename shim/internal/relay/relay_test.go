package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/config"
	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/journal"
	"github.com/kiroku-dev/kiroku/shim/internal/project"
	"github.com/kiroku-dev/kiroku/shim/internal/relay"
	"github.com/kiroku-dev/kiroku/shim/internal/relay/servertest"
	"github.com/kiroku-dev/kiroku/shim/internal/relayserver"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
	"github.com/kiroku-dev/kiroku/shim/internal/spool"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("google.golang.org/grpc/internal/grpcsync.(*CallbackSerializer).run"))
}

// rig is a relay on a socket of its own.
type rig struct {
	t      *testing.T
	paths  rundir.Paths
	config config.Config
	log    *relay.LogFile
	end    context.CancelFunc
	done   chan error
}

func newRig(t *testing.T, addr string) *rig {
	t.Helper()
	base, err := os.MkdirTemp("", "kr")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(base)) })
	token := filepath.Join(base, "token")
	require.NoError(t, os.WriteFile(token, []byte(servertest.Token), 0o600))
	return &rig{
		t:      t,
		paths:  rundir.Paths{Runtime: filepath.Join(base, "run"), State: filepath.Join(base, "state")},
		config: config.Config{IngestAddr: addr, RetrievalAddr: addr, TokenFile: token},
	}
}

func resolve(dir string) (project.Project, error) {
	root := "/srv/shop"
	if !strings.HasPrefix(dir, root) {
		root = dir
	}
	return project.Project{ID: "p_" + filepath.Base(root), Name: filepath.Base(root), Root: root}, nil
}

func (g *rig) start() {
	g.t.Helper()
	require.NoError(g.t, rundir.Ensure(g.paths.State))
	lock, err := relayserver.Acquire(g.paths)
	require.NoError(g.t, err)
	g.log, err = relay.OpenLog(g.paths.State)
	require.NoError(g.t, err)
	ready := make(chan struct{})
	r, err := relay.Open(relay.Options{
		Paths: g.paths, Config: g.config, Resolve: resolve, Version: "v1.0.0",
		Logger: slog.New(slog.NewJSONHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Ready:  func() { close(ready) },
	})
	require.NoError(g.t, err)
	ctx, cancel := context.WithCancel(g.t.Context())
	g.end, g.done = cancel, make(chan error, 1)
	go func() {
		err := r.Run(ctx, lock)
		g.done <- errors.Join(err, r.Close(), lock.Close(), g.log.Close())
	}()
	<-ready
	g.t.Cleanup(g.stop)
}

func (g *rig) stop() {
	g.t.Helper()
	if g.end == nil {
		return
	}
	g.end()
	g.end = nil
	require.NoError(g.t, <-g.done)
}

var (
	clockMu sync.Mutex
	clock   = time.Date(2026, 5, 4, 9, 0, 0, 0, time.FixedZone("", 2*3600))
)

// tick returns ascending times, a minute apart, so that nothing is a repeat by accident.
func tick() time.Time {
	clockMu.Lock()
	defer clockMu.Unlock()
	clock = clock.Add(time.Minute)
	return clock
}

func request(agentName, payload string) frame.Request {
	r := frame.Request{Argv: []string{agentName}, Dir: "/srv/shop", PID: 100, PPID: 99, Time: tick(), Payload: []byte(payload), Version: "v1.0.0"}
	r.Ancestors = []frame.Process{{PID: 98, Start: 7, Name: "sh"}, {PID: 97, Start: 5, Name: "agent"}}
	if strings.Contains(payload, "rompt") || strings.Contains(payload, "Start") || strings.Contains(payload, "Spawn") {
		r.Flags, r.Budget = frame.Waiting, 900*time.Millisecond
	}
	return r
}

func (g *rig) send(r frame.Request) frame.Answer {
	g.t.Helper()
	conn, err := net.Dial("unix", g.paths.Socket())
	require.NoError(g.t, err)
	defer func() { require.NoError(g.t, conn.Close()) }()
	_, err = conn.Write(frame.Append(nil, &r))
	require.NoError(g.t, err)
	answer, err := frame.ReadAnswer(conn)
	require.NoError(g.t, err)
	return answer
}

func (g *rig) fire(agentName, payload string) frame.Answer {
	g.t.Helper()
	answer := g.send(request(agentName, payload))
	require.Equal(g.t, frame.Accepted, answer.Status)
	return answer
}

func (g *rig) status() relay.Status {
	g.t.Helper()
	var s relay.Status
	answer := g.send(frame.Request{Argv: []string{relay.ControlName, relay.ControlStatus}})
	require.NoError(g.t, json.Unmarshal(answer.Stdout, &s))
	return s
}

func claude(event, more string) string {
	return fmt.Sprintf(`{"session_id":"s1","transcript_path":"/h/.claude/projects/x/s1.jsonl","cwd":"/srv/shop/api","hook_event_name":%q%s}`, event, more)
}

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
	require.Equal(t, `{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"<kiroku-context>\n- PURPOSE_PROMPT [2J& \"why?\"\n</kiroku-context>"}}`+"\n",
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

func TestServerDownThenEverythingArrivesInOrder(t *testing.T) {
	t.Parallel()
	server := servertest.Unstarted(t)
	g := newRig(t, server.Addr)
	g.start()
	for i := range 20 {
		require.Empty(t, g.fire("kiro-cli", fmt.Sprintf(`{"hook_event_name":"userPromptSubmit","cwd":"/srv/shop","prompt":"%d"}`, i)).Stdout)
	}
	require.EqualValues(t, 20, g.status().Queue.Pending)
	g.stop()
	g.start()
	server.Start(t)
	for i, ev := range server.Await(t, 20) {
		require.Equal(t, fmt.Sprint(i), ev.GetBody().GetText().GetContent())
	}
}

func TestHungServerNeverHoldsAHook(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	server.Change(func(s *servertest.Server) {
		s.Context = func(ctx context.Context, _ *retrievalv1.BuildContextRequest) (string, error) {
			select {
			case <-ctx.Done():
			case <-release:
			}
			return "too late", nil
		}
	})
	g := newRig(t, server.Addr)
	g.start()
	r := request("kiro-cli", `{"hook_event_name":"userPromptSubmit","cwd":"/srv/shop","prompt":"x"}`)
	r.Budget = 150 * time.Millisecond
	answer := g.send(r)
	require.Equal(t, frame.Answer{Status: frame.Accepted, Stdout: []byte{}}, answer)
	server.Await(t, 1)
	require.EqualValues(t, 1, g.status().Context.Failed)
}

func TestRefusedEventsBlockNothing(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	var failures int
	server.Change(func(s *servertest.Server) {
		s.Refuse = func(ev *eventv1.Event) *errorv1.ItemError {
			switch text := ev.GetBody().GetText().GetContent(); {
			case strings.HasPrefix(text, "bad"):
				return &errorv1.ItemError{Code: int32(codes.InvalidArgument), Reason: errorv1.ErrorReason_ERROR_REASON_INVALID_FIELD,
					Message: "secret content", Violations: []*errorv1.FieldViolation{{Field: "body", Description: "is odd"}}}
			case text == "taken":
				return &errorv1.ItemError{Code: int32(codes.AlreadyExists), Reason: errorv1.ErrorReason_ERROR_REASON_EVENT_ID_TAKEN}
			case text == "later" && failures < 3:
				failures++
				return &errorv1.ItemError{Code: int32(codes.Unavailable)}
			}
			return nil
		}
	})
	g := newRig(t, server.Addr)
	g.start()
	for _, text := range []string{"bad 1", "good 1", "taken", "later", "good 2", "bad 2", "good 3"} {
		g.fire("kiro-cli", fmt.Sprintf(`{"hook_event_name":"stop","cwd":"/srv/shop","assistant_response":%q}`, text))
	}
	var got []string
	for _, ev := range server.Await(t, 4) {
		got = append(got, ev.GetBody().GetText().GetContent())
	}
	require.ElementsMatch(t, []string{"good 1", "later", "good 2", "good 3"}, got)
	require.Eventually(t, func() bool { return g.status().Queue.Pending == 0 }, 10*time.Second, 10*time.Millisecond)
	refused, err := journal.OpenQuarantine(filepath.Join(g.paths.State, "quarantine"), 0).List()
	require.NoError(t, err)
	require.Len(t, refused, 3)
	require.Equal(t, "InvalidArgument", refused[0].Code)
	require.Equal(t, "ERROR_REASON_INVALID_FIELD; body: is odd", refused[0].Reason)
	require.Equal(t, 3, g.status().Queue.Quarantined)
}

func TestBatchThatIsRefusedAsAWholeIsHalved(t *testing.T) {
	t.Parallel()
	server := servertest.Unstarted(t)
	server.Change(func(s *servertest.Server) {
		s.RefuseBatch = func(events []*eventv1.Event) error {
			for _, ev := range events {
				if ev.GetBody().GetText().GetContent() == "3" {
					return status.Error(codes.InvalidArgument, "no")
				}
			}
			return nil
		}
	})
	g := newRig(t, server.Addr)
	g.start()
	for i := range 8 {
		g.fire("kiro-cli", fmt.Sprintf(`{"hook_event_name":"stop","cwd":"/srv/shop","assistant_response":"%d"}`, i))
	}
	server.Start(t)
	var got []string
	for _, ev := range server.Await(t, 7) {
		got = append(got, ev.GetBody().GetText().GetContent())
	}
	require.Equal(t, []string{"0", "1", "2", "4", "5", "6", "7"}, got)
	require.Eventually(t, func() bool { return g.status().Queue.Quarantined == 1 }, 10*time.Second, 10*time.Millisecond)
}

func TestTokenIsReadAgainWhenItIsNotGood(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	g := newRig(t, server.Addr)
	require.NoError(t, os.WriteFile(g.config.TokenFile, []byte("kk_old"), 0o600))
	g.start()
	g.fire("kiro-cli", `{"hook_event_name":"stop","cwd":"/srv/shop","assistant_response":"x"}`)
	require.Eventually(t, func() bool { return g.status().Server.State == "Unauthenticated" }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, os.WriteFile(g.config.TokenFile, []byte(servertest.Token), 0o600))
	server.Await(t, 1)
	require.Equal(t, "ok", g.status().Server.State)
	require.Equal(t, "ana", g.status().Server.Actor)
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

const private = "HUSH-4711"

// Every field of every payload kind may hold something private, spelled in every way.
func TestPrivateTextNeverRestsAnywhere(t *testing.T) {
	t.Parallel()
	server := servertest.Unstarted(t)
	g := newRig(t, server.Addr)
	g.start()
	spellings := []string{
		"<private>" + private + "</private>", "a <PRIVATE>" + private + "</PRIVATE> b", "<private><private>x</private>" + private + "</private>",
		"open <private> " + private, `\u003cprivate\u003e` + private + `\u003c/private\u003e`, `<pri\u0076ate reason=\"x\">` + private + `</private>`,
	}
	n := 0
	for _, spelled := range spellings {
		for _, payload := range payloadsWith(spelled) {
			require.Equal(t, frame.Accepted, g.send(request(payload.agent, payload.text)).Status)
			n++
		}
		r := request("kiro-ide", "")
		var decoded string
		require.NoError(t, json.Unmarshal([]byte(`"`+spelled+`"`), &decoded))
		r.Argv, r.Env = []string{"kiro-ide", "promptSubmit"}, []frame.Var{{Name: "USER_PROMPT", Value: decoded}}
		g.send(r)
		n++
	}
	requireNotOnDisk(t, filepath.Dir(g.paths.State))
	server.Start(t)
	for _, ev := range server.Await(t, n) {
		require.NotContains(t, ev.String(), private)
	}
	for _, q := range server.Questions() {
		require.NotContains(t, q.String(), private)
	}
	g.stop()
	requireNotOnDisk(t, filepath.Dir(g.paths.State))
}

type spelledPayload struct{ agent, text string }

func payloadsWith(s string) []spelledPayload {
	return []spelledPayload{
		{"claude-code", claude("UserPromptSubmit", `,"prompt":"`+s+`"`)},
		{"claude-code", claude("Stop", `,"last_assistant_message":"`+s+`"`)},
		{"claude-code", claude("Notification", `,"message":"`+s+`"`)},
		{"claude-code", claude("Novelty", `,"text":"`+s+`"`)},
		{"claude-code", claude("PostCompact", `,"compact_summary":"`+s+`"`)},
		{"claude-code", claude("SubagentStart", `,"agent_id":"`+s+`","agent_type":"`+s+`","description":"`+s+`","prompt":"`+s+`"`)},
		{"claude-code", claude("SessionStart", `,"source":"`+s+`","model":"`+s+`","session_title":"`+s+`"`)},
		{"claude-code", claude("PostToolUse", `,"tool_name":"`+s+`","tool_use_id":"`+s+`","tool_input":{"command":"`+s+`","`+s+`":["`+s+`"]},"tool_response":{"stdout":"`+s+`","deep":[{"x":"`+s+`"}]}`)},
		{"claude-code", claude("PostToolUse", `,"tool_name":"Write","tool_input":{"file_path":"/srv/`+s+`"},"tool_response":"`+s+`"`)},
		{"claude-code", claude("PostToolUseFailure", `,"tool_name":"Bash","tool_input":"`+s+`","error":"`+s+`"`)},
		{"claude-code", `{"session_id":"` + s + `","cwd":"/srv/` + s + `","hook_event_name":"Stop","permission_mode":"` + s + `","transcript_path":"` + s + `","prompt_id":"` + s + `"}`},
		{"claude-code", `{"session_id":"s","cwd":"/srv/shop","hook_event_name":"` + s + `"}`},
		{"kiro-cli", `{"hook_event_name":"userPromptSubmit","cwd":"/srv/shop","prompt":"` + s + `"}`},
		{"kiro-cli", `{"hook_event_name":"postToolUse","cwd":"/srv/shop","tool_name":"execute_bash","tool_input":{"command":"` + s + `"},"tool_response":{"success":true,"result":[{"stdout":"` + s + `"}]}}`},
		{"kiro-cli", `{"hook_event_name":"stop","cwd":"/srv/shop","assistant_response":"` + s + `"}`},
	}
}

func requireNotOnDisk(t *testing.T, dir string) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		if entry.Type().IsRegular() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotContains(t, string(data), private, path)
			files++
		}
		return nil
	}))
	require.Greater(t, files, 2)
}
