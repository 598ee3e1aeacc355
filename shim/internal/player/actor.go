package player

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/config"
	"github.com/kiroku-dev/kiroku/shim/internal/relay"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

const (
	// startTime bounds the wait for a relay to answer.
	startTime = 15 * time.Second
	// settleTime bounds the wait for a relay to send what it has.
	settleTime = 2 * time.Minute
	// pollEvery is how often a relay is asked how far it is.
	pollEvery = 20 * time.Millisecond
	// endTime bounds the wait for a relay to end.
	endTime = 10 * time.Second
)

// actor is one recorded developer: a relay of their own.
type actor struct {
	name  string
	state string
	paths rundir.Paths
	cmd   *exec.Cmd
	ended chan error
}

// actor returns the actor, whose relay it starts the first time.
func (p *player) actor(ctx context.Context, name string) (*actor, error) {
	if a := p.actors[name]; a != nil {
		return a, nil
	}
	state := filepath.Join(p.StateDir, hex.EncodeToString([]byte(name)))
	a := &actor{name: name, state: state, paths: rundir.Paths{
		Runtime: filepath.Join(p.sockets, strconv.Itoa(len(p.actors))), State: state,
	}}
	if len(a.paths.Socket()) > rundir.MaxSocketPath {
		return nil, fmt.Errorf("the temporary directory's path is too long for a socket: %s", p.sockets)
	}
	for _, dir := range []string{a.paths.Runtime, a.paths.State} {
		if err := rundir.Ensure(dir); err != nil {
			return nil, err
		}
	}
	// The relay outlives this call's context: it is asked to end, so that it loses nothing.
	a.cmd = exec.CommandContext(context.WithoutCancel(ctx), p.Kiroku, "relay") //nolint:gosec // the program is the caller's choice
	a.cmd.Env = a.environ(p)
	if err := a.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start relay: %w", err)
	}
	a.ended = make(chan error, 1)
	go func() { a.ended <- a.cmd.Wait() }()
	p.actors[name] = a
	p.summary.Actors++
	return a, a.await(ctx, startTime, func(relay.Status) bool { return true })
}

func (a *actor) environ(p *player) []string {
	return append(without(p.Environ),
		rundir.EnvRuntime+"="+a.paths.Runtime,
		rundir.EnvState+"="+a.paths.State,
		rundir.EnvRelayBin+"="+p.Kiroku,
		config.EnvActAs+"="+a.name,
	)
}

// await asks the relay until its status is as wanted.
func (a *actor) await(ctx context.Context, within time.Duration, good func(relay.Status) bool) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		status, live, err := relay.CurrentStatus(ctx, a.paths)
		if err == nil && live && good(status) {
			return nil
		}
		select {
		case err := <-a.ended:
			a.ended <- err
			return fmt.Errorf("relay of %s ended: %w; see %s", a.name, errors.Join(err, errors.New("unexpectedly")), filepath.Join(a.state, relay.LogName))
		case <-ctx.Done():
			return fmt.Errorf("relay of %s: %w (server %s, %d events pending)", a.name, ctx.Err(), status.Server.State, status.Queue.Pending)
		case <-time.After(pollEvery):
		}
	}
}

// settle waits until the server has every event.
func (p *player) settle(ctx context.Context) error {
	var errs []error
	for _, a := range p.actors {
		errs = append(errs, a.await(ctx, settleTime, func(s relay.Status) bool { return s.Queue.Pending == 0 }))
		status, _, err := relay.CurrentStatus(ctx, a.paths)
		if err == nil && status.Queue.Refused > 0 {
			errs = append(errs, fmt.Errorf("the server refused %d events of %s; see %s", status.Queue.Refused, a.name, filepath.Join(a.state, "quarantine")))
		}
	}
	return errors.Join(errs...)
}

// stop ends all relays.
func (p *player) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	var errs []error
	for _, a := range p.actors {
		if _, err := relay.Ask(ctx, a.paths, relay.ControlStop); err != nil {
			errs = append(errs, a.cmd.Process.Signal(os.Interrupt))
		}
		select {
		case err := <-a.ended:
			errs = append(errs, err)
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("relay of %s does not end: %w", a.name, a.cmd.Process.Kill()))
		}
	}
	return errors.Join(errs...)
}
