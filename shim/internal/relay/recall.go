package relay

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/agent"
)

// maxQuery is how much of a prompt is asked with, in bytes.
const maxQuery = 64 << 10

// question is a call for context under way. Its methods work on nil, which is no question.
type question struct {
	want   agent.Want
	cancel func()
	answer chan string
}

// wait returns the context, empty when there is none or time is over.
func (q *question) wait() string {
	if q == nil {
		return ""
	}
	defer q.cancel()
	return <-q.answer
}

// abandon ends the call without an answer.
func (q *question) abandon() {
	if q != nil {
		q.cancel()
	}
}

// ask begins to fetch the context that the hook waits for; nil when nothing is to be fetched.
func (r *Relay) ask(ctx context.Context, c call, p agent.Parsed, b built) *question {
	req := &retrievalv1.BuildContextRequest{
		ProjectId:   b.project.ID,
		SessionId:   b.event.Event().GetSessionId(),
		Files:       b.session.files,
		Compactions: b.session.compactions,
	}
	switch {
	case p.Want == agent.WantPrompt && strings.TrimSpace(p.Query) != "":
		req.Purpose = retrievalv1.Purpose_PURPOSE_PROMPT
		req.Query = strings.ToValidUTF8(p.Query[:min(len(p.Query), maxQuery)], "")
		req.EventId = b.event.Event().GetEventId()
	case p.Want == agent.WantSessionStart && !b.session.briefed:
		req.Purpose = retrievalv1.Purpose_PURPOSE_SESSION_START
	default:
		return nil
	}
	deadline := c.received.Add(contextBudget)
	if c.request.Budget > 0 {
		deadline = c.received.Add(min(contextBudget, c.request.Budget-answerReserve))
	}
	ctx, cancel := context.WithTimeout(ctx, deadline.Sub(r.now()))
	q := &question{want: p.Want, cancel: cancel, answer: make(chan string, 1)}
	go func() { q.answer <- r.recall(ctx, req, b) }()
	return q
}

// recall fetches context. Failing means that there is none: the agent goes on without.
func (r *Relay) recall(ctx context.Context, req *retrievalv1.BuildContextRequest, b built) string {
	started := r.now()
	resp, err := r.upstream.Retrieval.BuildContext(ctx, req)
	if status.Code(err) == codes.Unauthenticated && r.upstream.Reload() {
		resp, err = r.upstream.Retrieval.BuildContext(ctx, req)
	}
	took := r.now().Sub(started)
	r.status.context(err, resp.GetText() != "", took)
	if err != nil {
		r.upstream.Wake()
		r.log.InfoContext(ctx, "no context", "code", status.Code(err).String(), "took", took.Round(time.Millisecond))
		return ""
	}
	r.sender.nudge()
	if req.GetPurpose() == retrievalv1.Purpose_PURPOSE_SESSION_START && resp.GetText() != "" {
		r.sessions.briefed(b.session.key, req.GetCompactions())
	}
	return resp.GetText()
}
