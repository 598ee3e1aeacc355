// Package doctor finds out what keeps hooks from becoming memory, and says in plain words how
// to mend it.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/config"
	"github.com/kiroku-dev/kiroku/shim/internal/project"
	"github.com/kiroku-dev/kiroku/shim/internal/relay"
	"github.com/kiroku-dev/kiroku/shim/internal/relay/upstream"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

// State is how a check came out.
type State string

// The states. Only Fail makes a report not well.
const (
	OK   State = "ok"
	Warn State = "warn"
	Fail State = "FAIL"
)

const (
	// callTime bounds each question to the server.
	callTime = 3 * time.Second
	// maxSkew is how far clocks may be apart before times mislead people.
	maxSkew = 2 * time.Minute
	// expiresSoon is how near a token's end is worth a word.
	expiresSoon = 7 * 24 * time.Hour
)

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Detail string `json:"detail"`
	// Fix says what to do; empty when nothing is to be done.
	Fix string `json:"fix,omitempty"`
}

// Report is everything that was looked at.
type Report struct {
	Well   bool    `json:"well"`
	Checks []Check `json:"checks"`
}

// Subject is what is examined.
type Subject struct {
	Config    config.Config
	ConfigErr error
	Paths     rundir.Paths
	Version   string
	// Hook is the path of kiroku-hook.
	Hook    string
	HookErr error
	// Dir is the directory whose project is shown.
	Dir        string
	Project    project.Project
	ProjectErr error
	ProjectWhy string
	// Home is the person's home directory.
	Home string
}

type examination struct {
	Subject
	report Report
}

// Examine looks at everything; one failing check does not keep it from the next.
func Examine(ctx context.Context, s Subject) Report {
	e := &examination{Subject: s, report: Report{Well: true}}
	e.hook(ctx)
	e.project()
	e.config()
	if s.ConfigErr == nil {
		e.server(ctx)
	}
	e.relay(ctx)
	e.spool()
	e.agents(ctx)
	return e.report
}

func (e *examination) add(name string, state State, fix, format string, args ...any) {
	e.report.Checks = append(e.report.Checks, Check{Name: name, State: state, Detail: fmt.Sprintf(format, args...), Fix: fix})
	e.report.Well = e.report.Well && state != Fail
}

func (e *examination) project() {
	if e.ProjectErr != nil {
		e.add("project", Fail, "run it in a directory that exists", "%v", e.ProjectErr)
		return
	}
	if e.Project.Problem != "" {
		e.add("project", Warn, "mend .kiroku.toml", "%s", e.Project.Problem)
	}
	e.add("project", OK, "", "%s is %s, because of its %s", e.Dir, e.Project.Name, e.ProjectWhy)
}

func (e *examination) config() {
	if e.ConfigErr != nil {
		e.add("configuration", Fail, "mend the file or the variable", "%v", e.ConfigErr)
		return
	}
	_, source, err := e.Config.Token()
	if err != nil {
		e.add("token", Fail, "ask an administrator for a token, or start a standalone server", "%v", err)
		return
	}
	e.add("token", OK, "", "from %s", source)
}

func (e *examination) server(ctx context.Context) {
	up, err := upstream.Dial(e.Config, e.Version)
	if err != nil {
		e.add("server", Fail, "mend the address or the certificates", "%v", err)
		return
	}
	defer func() { _ = up.Close() }()
	who, sent, err := whoAmI(ctx, up)
	if err != nil {
		e.refused("server", e.Config.IngestAddr, err)
		return
	}
	e.add("server", OK, "", "%s reached as %s of %s, version %s", e.Config.IngestAddr, who.GetActorId(), who.GetOrgName(), who.GetServerVersion())
	e.scopes(who)
	e.clock(who, sent)
	e.retrieval(ctx, up)
}

func whoAmI(ctx context.Context, up *upstream.Upstream) (*ingestv1.WhoAmIResponse, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	sent := time.Now()
	who, err := up.Ingest.WhoAmI(ctx, &ingestv1.WhoAmIRequest{})
	return who, sent.Add(time.Since(sent) / 2), err
}

// refused explains a failed call.
func (e *examination) refused(name, addr string, err error) {
	switch code := status.Code(err); code {
	case codes.Unauthenticated:
		e.add(name, Fail, "get a new token; this one is unknown, expired or revoked", "%s does not accept the token", addr)
	case codes.Unavailable, codes.DeadlineExceeded:
		e.add(name, Fail, "start the server, or set "+config.EnvIngestAddr+" and "+config.EnvRetrievalAddr, "%s does not answer (%s)", addr, code)
	default:
		e.add(name, Fail, "see the server's log", "%s: %s (%s)", addr, status.Convert(err).Message(), code)
	}
}

func (e *examination) scopes(who *ingestv1.WhoAmIResponse) {
	has := map[string]bool{}
	for _, scope := range who.GetScopes() {
		has[scope] = true
	}
	for scope, use := range map[string]string{"ingest": "send events", "read": "get context"} {
		if !has[scope] {
			e.add("token", Fail, "get a token with the scope "+scope, "it may not %s", use)
		}
	}
	if end := who.GetExpireTime(); end != nil && time.Until(end.AsTime()) < expiresSoon {
		e.add("token", Warn, "get a new one", "it ends %s", end.AsTime().Local().Format(time.DateTime))
	}
}

func (e *examination) clock(who *ingestv1.WhoAmIResponse, at time.Time) {
	if who.GetServerTime() == nil {
		return
	}
	skew := at.Sub(who.GetServerTime().AsTime())
	if skew.Abs() > maxSkew {
		e.add("clock", Warn, "set this machine's clock", "it is %s off the server's", skew.Round(time.Second))
		return
	}
	e.add("clock", OK, "", "within %s of the server's", max(skew.Abs().Round(time.Second), time.Second))
}

func (e *examination) retrieval(ctx context.Context, up *upstream.Upstream) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	resp, err := up.Retrieval.Search(ctx, &retrievalv1.SearchRequest{ProjectId: e.Project.ID, PageSize: 1})
	if err != nil {
		e.refused("retrieval", e.Config.RetrievalAddr, err)
		return
	}
	found := "no record of this project yet"
	if len(resp.GetHits()) > 0 {
		found = "the project has records"
	}
	e.add("retrieval", OK, "", "%s answers; %s", e.Config.RetrievalAddr, found)
}

func (e *examination) relay(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	st, live, err := relay.CurrentStatus(ctx, e.Paths)
	switch {
	case err != nil && !errors.Is(err, relay.ErrNotRunning):
		e.add("relay", Fail, "end the process and let the next hook start another", "%v", err)
		return
	case live && st.Version != e.Version:
		e.add("relay", Warn, "it gives way to a newer hook by itself; or end process "+fmt.Sprint(st.PID), "it is version %s, this is %s", st.Version, e.Version)
	case live:
		e.add("relay", OK, "", "running, process %d, version %s", st.PID, st.Version)
	default:
		e.add("relay", OK, "", "not running; the next hook starts it")
	}
	e.queue(st)
}

func (e *examination) queue(st relay.Status) {
	switch {
	case st.Queue.Pending > 0:
		e.add("queue", Warn, "it is sent when the server answers", "%d events wait, the oldest since %s", st.Queue.Pending, st.Queue.Oldest.Local().Format(time.DateTime))
	default:
		e.add("queue", OK, "", "empty, %d events sent", st.Queue.Sent)
	}
	if st.Queue.Dropped > 0 {
		e.add("queue", Warn, "", "%d events were lost to the queue's bounds, the last %s", st.Queue.Dropped, st.Queue.LastDrop.Local().Format(time.DateTime))
	}
	if st.Queue.Quarantined > 0 {
		e.add("quarantine", Warn, "see the reasons in "+e.Paths.State+"/quarantine", "the server refused %d events", st.Queue.Quarantined)
	}
}
