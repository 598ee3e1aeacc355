// Package developer is a developer's machine for the whole-pipe checks: a checkout, and the real kiroku-hook and kiroku relay
// with directories of their own, so that several developers fit on one machine.
package developer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is one developer's machine.
type Machine struct {
	// Name is the developer, and so the actor of the events.
	Name string
	// Root is the developer's checkout.
	Root string
	// Dir is where everything else of the machine lies.
	Dir string

	hook, kiroku string
	env          []string
}

// Options describe a machine.
type Options struct {
	// Name is the developer.
	Name string
	// Dir is made; its path must be short, since a socket lies in it.
	Dir string
	// Remote is the git remote of the checkout.
	Remote string
	// Bin holds kiroku-hook and kiroku.
	Bin string
	// Ingest and Retrieval are the server's addresses.
	Ingest, Retrieval string
	// TokenFile holds a token with the scope act_as.
	TokenFile string
}

// New makes a machine with a checkout.
func New(o Options) (*Machine, error) {
	bin, err := filepath.Abs(o.Bin)
	if err != nil {
		return nil, err
	}
	tokenFile, err := filepath.Abs(o.TokenFile)
	if err != nil {
		return nil, err
	}
	m := &Machine{
		Name: o.Name, Dir: o.Dir, Root: filepath.Join(o.Dir, "harbor"),
		hook: filepath.Join(bin, "kiroku-hook"), kiroku: filepath.Join(bin, "kiroku"),
	}
	for _, program := range []string{m.hook, m.kiroku} {
		if _, err := os.Stat(program); err != nil {
			return nil, fmt.Errorf("%w: run `make build`", err)
		}
	}
	// Not our own environment: we may ourselves have been started by a coding agent.
	m.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + o.Dir,
		"KIROKU_RUNTIME_DIR=" + filepath.Join(o.Dir, "run"), "KIROKU_STATE_DIR=" + filepath.Join(o.Dir, "state"),
		"KIROKU_RELAY_BIN=" + m.kiroku, "KIROKU_TOKEN_FILE=" + tokenFile, "KIROKU_ACT_AS=" + o.Name,
		"KIROKU_INGEST_ADDR=" + o.Ingest, "KIROKU_RETRIEVAL_ADDR=" + o.Retrieval,
	}
	return m, checkout(m.Root, o.Remote)
}

// checkout makes the part of a git working tree that tells which repository it is a clone of.
func checkout(root, remote string) error {
	git := filepath.Join(root, ".git")
	for _, dir := range []string{filepath.Join(git, "objects"), filepath.Join(git, "refs", "heads")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	config := fmt.Sprintf("[core]\n\trepositoryformatversion = 0\n[remote \"origin\"]\n\turl = %s\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n", remote)
	return errors.Join(
		os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600),
		os.WriteFile(filepath.Join(git, "config"), []byte(config), 0o600),
	)
}

// Fire runs the hook once, as an agent does, and returns what it printed. A recorded hook happened at the given time; zero is
// now. A hook that exits with another status than 0 or writes to standard error is an error: it must never do either.
func (m *Machine) Fire(ctx context.Context, agent string, payload []byte, at time.Time) ([]byte, error) {
	cmd := exec.CommandContext(ctx, m.hook, agent)
	cmd.Dir, cmd.Env = m.Root, m.env
	if !at.IsZero() {
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "KIROKU_AT="+at.Format(time.RFC3339))
	}
	var out, complaint bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(payload), &out, &complaint
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("kiroku-hook %s as %s: %w", agent, m.Name, err)
	}
	if complaint.Len() > 0 {
		return nil, fmt.Errorf("kiroku-hook %s as %s wrote to standard error: %s", agent, m.Name, complaint.Bytes())
	}
	return out.Bytes(), nil
}

// Status is what the relay tells about itself.
type Status struct {
	Running bool `json:"running"`
	PID     int  `json:"pid"`
	Queue   struct {
		Pending     int64 `json:"pending"`
		Dropped     int64 `json:"dropped"`
		Refused     int64 `json:"refused"`
		Quarantined int64 `json:"quarantined"`
	} `json:"queue"`
	Server struct {
		State string `json:"state"`
	} `json:"server"`
	Agents map[string]struct {
		Events int64 `json:"events"`
	} `json:"agents"`
}

// Events is how many events the relay has taken.
func (s Status) Events() (n int64) {
	for _, agent := range s.Agents {
		n += agent.Events
	}
	return n
}

// Status asks the relay.
func (m *Machine) Status(ctx context.Context) (Status, error) {
	var s Status
	err := m.ask(ctx, &s, "status", "--json")
	return s, err
}

// Project is the id of the project that the checkout belongs to.
func (m *Machine) Project(ctx context.Context) (string, error) {
	var p struct {
		ID string `json:"project_id"`
	}
	err := m.ask(ctx, &p, "project", "--json", m.Root)
	return p.ID, err
}

func (m *Machine) ask(ctx context.Context, into any, args ...string) error {
	cmd := exec.CommandContext(ctx, m.kiroku, args...)
	cmd.Dir, cmd.Env = m.Root, m.env
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		return fmt.Errorf("kiroku %s as %s: %w %s", args[0], m.Name, err, complaint.Bytes())
	}
	return nil
}

// AwaitSent waits until the relay has taken so many events, and the server has all of them.
func (m *Machine) AwaitSent(ctx context.Context, events int64) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		s, err := m.Status(ctx)
		switch {
		case err != nil:
			return err
		case s.Queue.Dropped+s.Queue.Refused+s.Queue.Quarantined > 0:
			return fmt.Errorf("%s's relay lost events: %+v", m.Name, s.Queue)
		case s.Running && s.Events() >= events && s.Queue.Pending == 0:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s's relay has %d of %d events, %d of them not sent (server: %s): %w",
				m.Name, s.Events(), events, s.Queue.Pending, s.Server.State, ctx.Err())
		case <-ticker.C:
		}
	}
}

// Close ends the relay and waits until it has let go of its lock.
func (m *Machine) Close(ctx context.Context) error {
	s, err := m.Status(ctx)
	if err != nil || !s.Running {
		return err
	}
	if err := syscall.Kill(s.PID, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop %s's relay: %w", m.Name, err)
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		// Its number may belong to a process that has ended and that nobody has waited for; the lock cannot.
		free, err := m.lockIsFree()
		if err != nil || free {
			return err
		}
		select {
		case <-ctx.Done():
			_ = syscall.Kill(s.PID, syscall.SIGKILL) // it had its time
			return fmt.Errorf("%s's relay does not end: %w", m.Name, ctx.Err())
		case <-ticker.C:
		}
	}
}

func (m *Machine) lockIsFree() (bool, error) {
	file, err := os.Open(filepath.Join(m.Dir, "run", "relay.lock"))
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }() // gives the lock free as well
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// Log is the relay's log, empty when there is none.
func (m *Machine) Log() string {
	content, err := os.ReadFile(filepath.Join(m.Dir, "state", "relay.log"))
	if err != nil {
		return ""
	}
	return string(content)
}
