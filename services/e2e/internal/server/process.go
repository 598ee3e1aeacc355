// Package server runs the real kiroku-server binary for the whole-pipe checks: as one standalone process, or each service as a
// process of its own.
package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopTime is how long a process gets to end by itself before it is killed; the server promises 10 s.
const stopTime = 15 * time.Second

// Process is a running child. Its log is kept in memory, to tell why it ended.
type Process struct {
	// Name is for messages.
	Name string

	cmd   *exec.Cmd
	log   *tail
	ended chan struct{}
	err   error // set before ended is closed
}

// Start runs a program under a whole environment (nothing is inherited), in a process group of its own, so that Ctrl-C reaches
// it through its owner only.
func Start(name, program string, args, env []string) (*Process, error) {
	p := &Process{Name: name, log: &tail{}, ended: make(chan struct{})}
	p.cmd = exec.Command(program, args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// A grandchild that keeps the log open must not keep Wait from returning.
	p.cmd.WaitDelay = time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Log is the end of what the process wrote.
func (p *Process) Log() string { return p.log.String() }

// Failure says that the process ended and why. Call it after Ended.
func (p *Process) Failure() error {
	return fmt.Errorf("%s ended: %w; its last words:\n%s", p.Name, errOr(p.err, errors.New("exit status 0")), p.Log())
}

func errOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// Stop asks the process to end and waits for it; it is killed when it does not. A process that has ended already is no error,
// one that ends with a status other than 0 is.
func (p *Process) Stop() error {
	select {
	case <-p.ended:
		return nil
	default:
	}
	// It fails only when the process has just ended.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		if p.err != nil {
			return p.Failure()
		}
		return nil
	case <-time.After(stopTime):
		p.Kill()
		return fmt.Errorf("%s did not end within %v of SIGTERM and was killed", p.Name, stopTime)
	}
}

// Kill ends the process without a chance to tidy up, as a power cut would, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it fails only when the process has ended
	<-p.ended
}

// Await polls until ready holds, the process ends, or the context does.
func (p *Process) Await(ctx context.Context, ready func() bool) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !ready() {
		select {
		case <-p.ended:
			return p.Failure()
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; its last words:\n%s", p.Name, ctx.Err(), p.Log())
		case <-ticker.C:
		}
	}
	return nil
}

// Environ is the part of our environment that a server needs, and the given variables.
func Environ(vars map[string]string) []string {
	env := make([]string, 0, len(vars)+4)
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LANG"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	return env
}

const maxTail = 16 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - maxTail; n > 0 {
		t.buf = bytes.Clone(t.buf[n:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
