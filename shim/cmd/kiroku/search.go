package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/grpc/status"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/config"
	"github.com/kiroku-dev/kiroku/shim/internal/relay/upstream"
)

// askTime bounds a call that a person waits for.
const askTime = 10 * time.Second

// connect makes the clients for one command.
func connect() (*upstream.Upstream, error) {
	cfg, err := config.FromEnvironment()
	if err != nil {
		return nil, err
	}
	return upstream.Dial(cfg, buildVersion())
}

func runSearch(ctx context.Context, s streams, args []string) (err error) {
	flags := newFlags(s, "search")
	limit := flags.Int("limit", 10, "most records")
	name := projectFlag(flags)
	if err := parse(s, flags, args, 1, 1000); err != nil {
		return err
	}
	home, err := resolveProject("", *name)
	if err != nil {
		return err
	}
	up, err := connect()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, up.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	resp, err := up.Retrieval.Search(ctx, &retrievalv1.SearchRequest{
		ProjectId: home.ID, Query: strings.Join(flags.Args(), " "), PageSize: int32(min(max(*limit, 1), 100)),
	})
	if err != nil {
		return plain(err)
	}
	_, _ = fmt.Fprintf(s.err, "project %s (%s)%s\n", home.Name, why(home), degraded(resp.GetLanes()))
	return printHits(s.out, resp.GetHits())
}

func printHits(w io.Writer, hits []*retrievalv1.Hit) error {
	if len(hits) == 0 {
		_, err := fmt.Fprintln(w, "nothing found")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "SCORE\tTYPE\tWHO\tWHEN\tTITLE")
	for _, hit := range hits {
		r := hit.GetRecord()
		_, _ = fmt.Fprintf(table, "%.2f\t%s\t%s\t%s\t%s\n", hit.GetScore(), typeName(r.GetObservationType()), r.GetActorId(), day(r), oneLine(r.GetTitle()))
	}
	return table.Flush()
}

func typeName(t recordv1.ObservationType) string {
	return strings.ToLower(strings.TrimPrefix(t.String(), "OBSERVATION_TYPE_"))
}

func day(r *recordv1.Record) string {
	at := r.GetValidFrom()
	if at == nil {
		at = r.GetUpdatedTime()
	}
	if at == nil {
		return ""
	}
	return at.AsTime().Local().Format(time.DateOnly)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// degraded names the lanes that did not do what they should.
func degraded(lanes []*retrievalv1.LaneState) string {
	var bad []string
	for _, lane := range lanes {
		if state := lane.GetState(); state != "ok" && state != "not configured" {
			bad = append(bad, lane.GetLane()+": "+state)
		}
	}
	if len(bad) == 0 {
		return ""
	}
	return "; degraded: " + strings.Join(bad, ", ")
}

// plain makes an error of the server readable for people.
func plain(err error) error {
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	if noAnswer(st.Code().String()) {
		return fmt.Errorf("the server does not answer (%s); kiroku doctor says more", st.Code())
	}
	return fmt.Errorf("server: %s (%s)", st.Message(), st.Code())
}

func runContext(ctx context.Context, s streams, args []string) (err error) {
	flags := newFlags(s, "context")
	name := projectFlag(flags)
	start := flags.Bool("start", false, "show the brief of a session's start instead")
	if err := parse(s, flags, args, 0, 1000); err != nil {
		return err
	}
	home, err := resolveProject("", *name)
	if err != nil {
		return err
	}
	up, err := connect()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, up.Close()) }()
	req := &retrievalv1.BuildContextRequest{ProjectId: home.ID, Purpose: retrievalv1.Purpose_PURPOSE_PROMPT, Query: strings.Join(flags.Args(), " ")}
	if *start {
		req.Purpose = retrievalv1.Purpose_PURPOSE_SESSION_START
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	resp, err := up.Retrieval.BuildContext(ctx, req)
	if err != nil {
		return plain(err)
	}
	_, _ = fmt.Fprintf(s.err, "project %s (%s), %d records, %d tokens%s\n", home.Name, why(home), len(resp.GetRecordIds()), resp.GetTokens(), degraded(resp.GetLanes()))
	if resp.GetText() == "" {
		return nil
	}
	_, err = fmt.Fprintln(s.out, strings.TrimRight(resp.GetText(), "\n"))
	return err
}
