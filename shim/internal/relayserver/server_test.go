//go:build unix

package relayserver_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/relayserver"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

// childMode makes this test binary act as a relay that inherits its lock.
const childMode = "KIROKU_TEST_RELAY_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childMode); dir != "" {
		os.Exit(runChild(dir))
	}
	goleak.VerifyTestMain(m)
}

const patience = 10 * time.Second

// privatePaths keeps the socket path short, which a test's own directory may not be.
func privatePaths(t *testing.T) rundir.Paths {
	t.Helper()
	dir, err := os.MkdirTemp("", "krs") //nolint:usetesting // t.TempDir is too long for a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return rundir.Paths{Runtime: filepath.Join(dir, "run"), State: filepath.Join(dir, "state")}
}

type relay struct {
	paths rundir.Paths
	stop  context.CancelFunc
	done  chan error
}

// start serves until the test ends or stop is called.
func start(t *testing.T, handler relayserver.Handler, opts relayserver.Options) *relay {
	t.Helper()
	paths := privatePaths(t)
	lock, err := relayserver.Acquire(paths)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan struct{})
	opts.Ready = func() { close(ready) }
	r := &relay{paths: paths, stop: cancel, done: make(chan error, 1)}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		err := relayserver.Serve(ctx, paths, lock, handler, opts)
		_ = lock.Close()
		r.done <- err
	}()
	t.Cleanup(func() {
		cancel()
		<-finished
	})
	await(t, ready)
	return r
}

func await[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		require.FailNow(t, "waited too long")
		panic("unreachable")
	}
}

func dial(t *testing.T, paths rundir.Paths) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", paths.Socket())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn
}

func send(t *testing.T, conn net.Conn, r frame.Request) {
	t.Helper()
	_, err := conn.Write(frame.Append(nil, &r))
	require.NoError(t, err)
}

// ask sends a request and reads its answer; it may be called on any goroutine.
func ask(conn net.Conn, r frame.Request) (frame.Answer, error) {
	if _, err := conn.Write(frame.Append(nil, &r)); err != nil {
		return frame.Answer{}, err
	}
	return frame.ReadAnswer(conn)
}

func exchange(t *testing.T, paths rundir.Paths, r frame.Request) frame.Answer {
	t.Helper()
	answer, err := ask(dial(t, paths), r)
	require.NoError(t, err)
	return answer
}

func accept(context.Context, frame.Request) frame.Answer {
	return frame.Answer{Status: frame.Accepted}
}

func TestRequestCarriesPayloadAndPeer(t *testing.T) {
	t.Parallel()
	got := make(chan frame.Request, 1)
	r := start(t, func(_ context.Context, r frame.Request) frame.Answer {
		got <- r
		return frame.Answer{Status: frame.Accepted, Stdout: []byte("recalled\n")}
	}, relayserver.Options{})

	info, err := os.Stat(r.paths.Socket())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	answer := exchange(t, r.paths, frame.Request{Argv: []string{"kiro-cli"}, Payload: []byte(`{"a":1}`)})
	require.Equal(t, frame.Answer{Status: frame.Accepted, Stdout: []byte("recalled\n")}, answer)
	request := await(t, got)
	require.JSONEq(t, `{"a":1}`, string(request.Payload))
	require.Equal(t, os.Getpid(), request.Peer)
	require.NotEmpty(t, request.Ancestors)
	require.Equal(t, os.Getppid(), request.Ancestors[0].PID)
}

func TestLargePayloadsAtOnce(t *testing.T) {
	t.Parallel()
	r := start(t, func(_ context.Context, r frame.Request) frame.Answer {
		return frame.Answer{Status: frame.Accepted, Stdout: []byte{byte(len(r.Payload) >> 20)}}
	}, relayserver.Options{})
	type result struct {
		answer frame.Answer
		err    error
	}
	results := make(chan result, 3)
	for range cap(results) {
		conn := dial(t, r.paths)
		go func() {
			answer, err := ask(conn, frame.Request{Payload: make([]byte, 6<<20)})
			results <- result{answer, err}
		}()
	}
	for range cap(results) {
		got := await(t, results)
		require.NoError(t, got.err)
		require.Equal(t, []byte{6}, got.answer.Stdout)
	}
}

func TestOddConnectionsHarmNobody(t *testing.T) {
	t.Parallel()
	r := start(t, accept, relayserver.Options{})

	newer := frame.Append(nil, &frame.Request{})
	newer[1]++
	conn := dial(t, r.paths)
	_, err := conn.Write(newer)
	require.NoError(t, err)
	answer, err := frame.ReadAnswer(conn)
	require.NoError(t, err)
	require.Equal(t, frame.Unavailable, answer.Status)

	conn = dial(t, r.paths)
	_, err = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	require.NoError(t, err)
	_, err = frame.ReadAnswer(conn)
	require.Error(t, err)

	require.Equal(t, frame.Accepted, exchange(t, r.paths, frame.Request{}).Status)
}

func TestSilentConnectionIsDropped(t *testing.T) {
	t.Parallel()
	r := start(t, accept, relayserver.Options{ReadTimeout: 20 * time.Millisecond})
	_, err := frame.ReadAnswer(dial(t, r.paths))
	require.Error(t, err)
}

func TestPanicOverOnePayloadKeepsTheRelay(t *testing.T) {
	t.Parallel()
	r := start(t, func(_ context.Context, r frame.Request) frame.Answer {
		if r.Event == "bad" {
			panic("payload")
		}
		return frame.Answer{Status: frame.Accepted}
	}, relayserver.Options{})
	require.Equal(t, frame.Unavailable, exchange(t, r.paths, frame.Request{Event: "bad"}).Status)
	require.Equal(t, frame.Accepted, exchange(t, r.paths, frame.Request{Event: "good"}).Status)
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan string, 3), make(chan struct{})
	r := start(t, func(_ context.Context, r frame.Request) frame.Answer {
		entered <- r.Event
		<-leave
		return frame.Answer{Status: frame.Accepted}
	}, relayserver.Options{MaxConns: 2})
	conns := make([]net.Conn, 0, 3)
	for range 2 {
		conn := dial(t, r.paths)
		send(t, conn, frame.Request{Event: "first"})
		conns = append(conns, conn)
		await(t, entered)
	}
	waiting := dial(t, r.paths)
	send(t, waiting, frame.Request{Event: "second"})
	require.Empty(t, entered)
	close(leave)
	for _, conn := range append(conns, waiting) {
		_, err := frame.ReadAnswer(conn)
		require.NoError(t, err)
	}
	require.Equal(t, "second", await(t, entered))
}

func TestStopAnswersOpenRequestsFirst(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan context.Context, 1), make(chan struct{})
	r := start(t, func(ctx context.Context, _ frame.Request) frame.Answer {
		entered <- ctx
		<-leave
		return frame.Answer{Status: frame.Accepted}
	}, relayserver.Options{DrainTimeout: patience})
	conn := dial(t, r.paths)
	send(t, conn, frame.Request{})
	ctx := await(t, entered)
	r.stop()
	require.Eventually(t, func() bool {
		_, err := os.Stat(r.paths.Socket())
		return os.IsNotExist(err)
	}, patience, time.Millisecond)
	require.NoError(t, ctx.Err())
	close(leave)
	answer, err := frame.ReadAnswer(conn)
	require.NoError(t, err)
	require.Equal(t, frame.Accepted, answer.Status)
	require.NoError(t, await(t, r.done))
}

func TestStopEndsRequestsThatOutlastTheDrain(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	r := start(t, func(ctx context.Context, _ frame.Request) frame.Answer {
		close(entered)
		<-ctx.Done()
		return frame.Answer{Status: frame.Unavailable}
	}, relayserver.Options{DrainTimeout: 10 * time.Millisecond, MaxConns: 1})
	send(t, dial(t, r.paths), frame.Request{})
	await(t, entered)
	r.stop()
	require.NoError(t, await(t, r.done))
}

func TestIdleRelayEndsUnlessBusy(t *testing.T) {
	t.Parallel()
	timers := make(chan chan time.Time)
	busy := true
	r := start(t, accept, relayserver.Options{
		Idle: 10 * time.Minute,
		Busy: func() bool { return busy },
		After: func(d time.Duration) <-chan time.Time {
			require.Equal(t, 10*time.Minute, d)
			ch := make(chan time.Time, 1)
			timers <- ch
			return ch
		},
	})
	first := await(t, timers)
	require.Equal(t, frame.Accepted, exchange(t, r.paths, frame.Request{}).Status)
	second := await(t, timers) // the request began the wait anew
	first <- time.Now()        // the old timer is dead
	second <- time.Now()
	third := await(t, timers) // still busy
	busy = false
	third <- time.Now()
	require.NoError(t, await(t, r.done))
	require.NoFileExists(t, r.paths.Socket())
}
