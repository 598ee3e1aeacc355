package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/kiroku-dev/kiroku/proto/event"
	"github.com/kiroku-dev/kiroku/shim/internal/agent"
	"github.com/kiroku-dev/kiroku/shim/internal/agent/dialects"
	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/journal"
	"github.com/kiroku-dev/kiroku/shim/internal/project"
)

const (
	// contextBudget is how long a hook waits for context at most: the hook's own second less
	// its start, its reading and its printing.
	contextBudget = 800 * time.Millisecond
	// answerReserve is kept of the hook's own budget to bring the answer back.
	answerReserve = 20 * time.Millisecond
)

// Handle answers one hook call. It implements relayserver.Handler.
func (r *Relay) Handle(ctx context.Context, request frame.Request) frame.Answer {
	if request.Peer != 0 && len(request.Argv) > 0 && request.Argv[0] == ControlName {
		return r.control(request.Argv[1:])
	}
	stdout, err := r.take(ctx, &request)
	r.giveWay(request.Version)
	switch {
	case errors.Is(err, journal.ErrTooLarge):
		r.log.ErrorContext(ctx, "event refused", "err", err)
		return frame.Answer{Status: frame.Rejected}
	case err != nil:
		r.log.ErrorContext(ctx, "event not kept", "err", err)
		return frame.Answer{Status: frame.Unavailable}
	}
	return frame.Answer{Status: frame.Accepted, Stdout: stdout}
}

// take makes events of a call, journals them and returns what the hook prints. A call that says
// nothing, or was delivered before, is taken as well.
func (r *Relay) take(ctx context.Context, request *frame.Request) ([]byte, error) {
	received := r.now()
	hook := hookOf(request)
	dialect, known := dialects.Identify(hook)
	if !known {
		r.status.ignored()
		return nil, nil
	}
	if !r.deliveries.begin(dialect.Surface(), request, received) {
		r.status.duplicate()
		return nil, nil
	}
	kept := false
	// Also after a panic: the copy that the hook spools then must not pass for a repeat of something that was kept.
	defer func() { r.deliveries.end(dialect.Surface(), request, r.now(), kept) }()
	stdout, err := r.process(ctx, call{request: request, hook: hook, dialect: dialect, received: received})
	kept = err == nil
	return stdout, err
}

// call is one hook call on its way through the relay.
type call struct {
	request  *frame.Request
	hook     agent.Hook
	dialect  agent.Dialect
	received time.Time
}

func (r *Relay) process(ctx context.Context, c call) ([]byte, error) {
	parsed := c.dialect.Parse(c.hook)
	if len(parsed) == 0 {
		r.status.ignored()
		return nil, nil
	}
	asked, err := r.keep(ctx, c, parsed)
	if err != nil {
		return nil, err
	}
	if asked == nil {
		return nil, nil
	}
	return c.dialect.Render(asked.want, asked.wait()), nil
}

// keep journals the events of a call. Context is asked for first, so that the question travels
// while the journal is written; the answer is collected by the caller.
func (r *Relay) keep(ctx context.Context, c call, parsed []agent.Parsed) (*question, error) {
	r.order.Lock()
	defer r.order.Unlock()
	var asked *question
	entries := make([][]byte, 0, len(parsed))
	for i, p := range parsed {
		b, err := r.build(c, i, p)
		if err != nil {
			return nil, err
		}
		entry, err := proto.Marshal(b.event.Event())
		if err != nil {
			return nil, fmt.Errorf("encode event: %w", err)
		}
		entries = append(entries, entry)
		if asked == nil && c.request.Has(frame.Waiting) {
			asked = r.ask(ctx, c, p, b)
		}
		r.status.event(c.dialect.Surface(), b.event.Event(), c.hook.Time)
	}
	if err := r.journal.Append(entries...); err != nil {
		asked.abandon()
		return nil, err
	}
	r.log.LogAttrs(ctx, slog.LevelDebug, "event kept", slog.String("agent", c.dialect.Surface()), slog.Int("events", len(entries)))
	return asked, nil
}

// built is an event that may rest on disk, with what the relay needs to know beside it.
type built struct {
	event   event.Scrubbed
	project project.Project
	session sessionView
}
