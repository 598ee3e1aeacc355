package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/kiroku-dev/kiroku/shim/internal/relay"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

// statusTime bounds the question to the relay.
const statusTime = 2 * time.Second

func runStatus(ctx context.Context, s streams, args []string) error {
	flags := newFlags(s, "status")
	asJSON := flags.Bool("json", false, "print JSON")
	if err := parse(s, flags, args, 0, 0); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	status, live, err := relay.CurrentStatus(ctx, rundir.FromEnvironment())
	if err != nil {
		return err
	}
	if *asJSON {
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(struct {
			Running bool `json:"running"`
			relay.Status
		}{live, status})
	}
	return printStatus(s.out, status, live, time.Now())
}

func printStatus(w io.Writer, st relay.Status, live bool, now time.Time) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { _, _ = fmt.Fprintf(table, name+"\t"+format+"\n", args...) }
	switch {
	case live:
		row("relay", "running, process %d, version %s, since %s", st.PID, st.Version, ago(st.Started, now))
	case st.Saved.IsZero():
		row("relay", "not running, and has never run; the first hook starts it")
	default:
		row("relay", "not running; the next hook starts it. As of %s:", ago(st.Saved, now))
	}
	if st.Server.Ingest != "" {
		row("server", "%s, %s", st.Server.Ingest, serverWords(st.Server, now))
	}
	row("queue", "%d waiting, %d sent, %d refused (%d in quarantine), %d dropped", st.Queue.Pending, st.Queue.Sent, st.Queue.Refused, st.Queue.Quarantined, st.Queue.Dropped)
	row("context", "%d asked, %d given, %d failed, last took %d ms", st.Context.Asked, st.Context.Given, st.Context.Failed, st.Context.LastMillis)
	for _, name := range slices.Sorted(maps.Keys(st.Agents)) {
		a := st.Agents[name]
		row(name, "%d events, last %s (%s in %s)", a.Events, ago(a.LastEvent, now), a.LastHook, a.Project)
	}
	if len(st.Agents) == 0 {
		row("agents", "none has been heard of")
	}
	return table.Flush()
}

func serverWords(s relay.ServerStatus, now time.Time) string {
	switch s.State {
	case "":
		return "not asked yet"
	case "ok":
		return fmt.Sprintf("reached as %s of %s, version %s", s.Actor, s.Organisation, s.Version)
	}
	words := s.State
	switch {
	case noAnswer(s.State):
		words = "does not answer (" + s.State + ")"
	case s.State == codes.Unauthenticated.String():
		words = "does not accept the token (" + s.State + ")"
	}
	return fmt.Sprintf("%s since %s", words, ago(s.Since, now))
}

// noAnswer tells whether a state, the name of a gRPC code, says that the server cannot be reached.
func noAnswer(state string) bool {
	return state == codes.Unavailable.String() || state == codes.DeadlineExceeded.String()
}

// ago writes a time as its distance from now.
func ago(at, now time.Time) string {
	if at.IsZero() {
		return "never"
	}
	switch d := now.Sub(at).Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return at.Local().Format(time.DateOnly)
}
