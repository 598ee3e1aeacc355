package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

// ErrNotRunning means that no relay answers on the socket.
var ErrNotRunning = errors.New("no relay is running")

// Ask sends a control word to the running relay and returns what it says.
func Ask(ctx context.Context, paths rundir.Paths, word string) ([]byte, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", paths.Socket())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	defer func() { _ = conn.Close() }()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(3 * time.Second)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	request := frame.Request{Argv: []string{ControlName, word}, PID: os.Getpid(), PPID: os.Getppid(), Time: time.Now()}
	if _, err := conn.Write(frame.Append(nil, &request)); err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	answer, err := frame.ReadAnswer(conn)
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	if answer.Status != frame.Accepted {
		return nil, fmt.Errorf("relay does not know %q", word)
	}
	return answer.Stdout, nil
}

// CurrentStatus returns the status of the running relay, or what the last one left behind; live
// tells which.
func CurrentStatus(ctx context.Context, paths rundir.Paths) (s Status, live bool, err error) {
	data, err := Ask(ctx, paths, ControlStatus)
	if err == nil {
		err = json.Unmarshal(data, &s)
		return s, true, err
	}
	if !errors.Is(err, ErrNotRunning) {
		return s, false, err
	}
	s, err = ReadStatus(filepath.Join(paths.State, statusFile))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return s, false, err
}
