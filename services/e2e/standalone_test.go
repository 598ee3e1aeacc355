package e2e_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/e2e/internal/server"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

// stopPromise is how long a server may take to end.
const stopPromise = 10 * time.Second

// privateServer is where a standalone server with stores of its own lives.
func privateServer(t *testing.T) server.StandaloneOptions {
	t.Helper()
	dir := shortDir(t)
	return server.StandaloneOptions{
		Program: filepath.Join(programsDir(t), "kiroku-server"),
		DataDir: filepath.Join(dir, "data"), RuntimeDir: filepath.Join(dir, "run"),
		Vars: map[string]string{"KIROKU_BOOTSTRAP_ACTOR": "ana"},
	}
}

func start(t *testing.T, o server.StandaloneOptions) *server.Standalone {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTime)
	defer cancel()
	s, err := server.StartStandalone(ctx, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	return s
}

// What was acknowledged is there after kill -9, and what was not extracted yet is extracted after the next start.
func TestStandaloneSurvivesKill(t *testing.T) {
	t.Parallel()
	o := privateServer(t)
	// Nothing is due by itself, so that the kill comes before extraction.
	o.Vars["KIROKU_BUFFER_DUE_IDLE"], o.Vars["KIROKU_BUFFER_DUE_AGE"], o.Vars["KIROKU_BUFFER_DUE_TURN_END"] = "1h", "1h", "false"
	s := start(t, o)
	m := newMember(t, installation{Standalone: s}, readToken(t, s.TokenFile))
	events := turn(estateProject, "killed", 1)
	stored, err := ingest(t.Context(), m.ingest, events)
	require.NoError(t, err)
	require.Equal(t, len(events), stored)
	token := readToken(t, s.TokenFile)
	s.Kill()

	s = start(t, o)
	require.Equal(t, token, readToken(t, s.TokenFile), "the tokens that people have must stay good")
	m = newMember(t, installation{Standalone: s}, token)
	require.Equal(t, []ingestv1.EventState{ingestv1.EventState_EVENT_STATE_PENDING}, statesOf(t, m, idsOf(events)))
	mustSettle(t, m.extraction, estateProject)
	require.Equal(t, []ingestv1.EventState{ingestv1.EventState_EVENT_STATE_EXTRACTED}, statesOf(t, m, idsOf(events)))
	found, err := m.retrieval.Search(t.Context(), &retrievalv1.SearchRequest{ProjectId: estateProject, Query: "retry limit"})
	require.NoError(t, err)
	require.Len(t, found.GetHits(), 1)
}

// statesOf are the states that the events are in, each once.
func statesOf(t *testing.T, m member, ids []string) (states []ingestv1.EventState) {
	t.Helper()
	resp, err := m.ingest.GetEventStatus(t.Context(), &ingestv1.GetEventStatusRequest{EventIds: ids})
	require.NoError(t, err)
	require.Len(t, resp.GetStatuses(), len(ids))
	seen := map[ingestv1.EventState]bool{}
	for _, status := range resp.GetStatuses() {
		if !seen[status.GetState()] {
			states = append(states, status.GetState())
		}
		seen[status.GetState()] = true
	}
	return states
}

func TestSecondStandaloneIsRefused(t *testing.T) {
	t.Parallel()
	o := privateServer(t)
	first := start(t, o)
	second, err := server.LaunchStandalone(o)
	require.NoError(t, err)
	t.Cleanup(second.Kill)
	select {
	case <-second.Ended():
	case <-time.After(startTime):
		t.Fatal("the second instance runs")
	}
	require.ErrorContains(t, second.Failure(), "exit status 1")
	require.Contains(t, second.Log(), o.DataDir, "the message must name the data directory")
	require.Contains(t, second.Log(), strconv.Itoa(first.PID()), "and the process that has it")
	m := newMember(t, installation{Standalone: first}, readToken(t, first.TokenFile))
	_, err = m.ingest.WhoAmI(t.Context(), &ingestv1.WhoAmIRequest{})
	require.NoError(t, err, "the first instance must not suffer")
}

func TestStandaloneEndsWhole(t *testing.T) {
	t.Parallel()
	o := privateServer(t)
	s := start(t, o)
	require.NotEmpty(t, processesOf(t, o.DataDir, s.PID()), "no Postgres and no Redis are found: the check proves nothing")
	begun := time.Now()
	require.NoError(t, s.Stop())
	require.Less(t, time.Since(begun), stopPromise)
	require.Empty(t, processesOf(t, o.DataDir, 0), "processes are left")
	require.Empty(t, socketsIn(t, o.RuntimeDir), "sockets are left")
}

// When a store dies, the whole ends and says so.
func TestStandaloneNoticesDeadStore(t *testing.T) {
	t.Parallel()
	o := privateServer(t)
	s := start(t, o)
	pid, err := os.ReadFile(filepath.Join(o.DataDir, "postgres", "postmaster.pid"))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(pid), "\n")
	number, err := strconv.Atoi(first)
	require.NoError(t, err)
	process, err := os.FindProcess(number)
	require.NoError(t, err)
	require.NoError(t, process.Kill())
	select {
	case <-s.Ended():
	case <-time.After(startTime):
		t.Fatal("the server goes on without Postgres")
	}
	require.ErrorContains(t, s.Failure(), "exit status 1")
	require.Contains(t, strings.ToLower(s.Log()), "postgres")
	// Processes of Postgres notice for themselves that it is gone.
	testenv.Eventually(t, stopPromise, func() bool { return len(processesOf(t, o.DataDir, 0)) == 0 }, "processes are left")
}

// processesOf lists the processes that run below a directory or name it, but for one.
func processesOf(t *testing.T, dir string, but int) (found []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == but || pid == os.Getpid() {
			continue
		}
		cwd, err := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd"))
		if err != nil {
			continue // it has ended, or is another user's
		}
		command, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err == nil && len(command) > 0 && (strings.HasPrefix(cwd, dir) || strings.Contains(string(command), dir)) {
			found = append(found, entry.Name()+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

func socketsIn(t *testing.T, dir string) (sockets []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && entry.Type()&fs.ModeSocket != 0 {
			sockets = append(sockets, path)
		}
		return err
	})
	require.NoError(t, err)
	return sockets
}
