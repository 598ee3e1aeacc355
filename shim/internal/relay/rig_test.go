package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

	"github.com/kiroku-dev/kiroku/shim/internal/config"
	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/project"
	"github.com/kiroku-dev/kiroku/shim/internal/relay"
	"github.com/kiroku-dev/kiroku/shim/internal/relay/servertest"
	"github.com/kiroku-dev/kiroku/shim/internal/relayserver"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
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
	base, err := os.MkdirTemp("", "kr") //nolint:usetesting // a socket's path must be short
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

// brokenDir is a directory whose project cannot be told without a panic.
const brokenDir = "/srv/broken"

func resolve(dir string) (project.Project, error) {
	if dir == brokenDir {
		panic("nobody expected this directory")
	}
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
