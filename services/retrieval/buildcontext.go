package retrieval

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/kiroku-dev/kiroku/proto/event"
	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/retrieval/block"
	"github.com/kiroku-dev/kiroku/services/retrieval/corpus"
	"github.com/kiroku-dev/kiroku/services/retrieval/recordstore"
)

const (
	// contextHits is how many of the best records are weighed for a context.
	contextHits = 60
	// contextFiles is how many files a context names at most.
	contextFiles = 32
	// contextReads is how many of the best candidates are read: more than a block holds, since some were given before.
	contextReads = 30
	// sessionFileShare is how sure a file of the session is to matter to its next prompt, beside one that the prompt names.
	sessionFileShare = 0.3
	// claimReserve is the least time worth beginning to claim and log in.
	claimReserve = 2 * time.Millisecond
)

// BuildContext implements RetrievalService.
func (s *server) BuildContext(ctx context.Context, req *retrievalv1.BuildContextRequest) (*retrievalv1.BuildContextResponse, error) {
	start := time.Now()
	if err := checkContext(req); err != nil {
		return nil, err
	}
	store, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	build, purpose := s.promptContext, "prompt"
	if req.GetPurpose() == retrievalv1.Purpose_PURPOSE_SESSION_START {
		build, purpose = s.brief, "session_start"
	}
	resp := &retrievalv1.BuildContextResponse{}
	states, err := build(ctx, store, req, resp)
	if err != nil {
		if !isLane(err) {
			return nil, err
		}
		// A memory that cannot answer now must not fail the prompt it was asked for; it says so.
		s.logger.WarnContext(ctx, "context unavailable", "err", err)
		resp = &retrievalv1.BuildContextResponse{}
		states.set(failed(err))
	}
	resp.Lanes = states.report(s.metrics)
	resp.Tokens = int32(block.Tokens(resp.GetText())) //nolint:gosec // within the budget
	resp.Latency = durationpb.New(time.Since(start))
	s.metrics.context(purpose, int(resp.GetTokens()))
	return resp, nil
}

// draft is a context on its way.
type draft struct {
	req        *retrievalv1.BuildContextRequest
	now        time.Time
	filter     corpus.Filter
	query      query
	candidates []candidate
	dropped    map[string]string
	below      []corpus.Hit
	files      []corpus.FileHit
	records    map[string]*recordv1.Record
	given      map[string]bool
}

// promptContext finds what belongs before a prompt.
func (s *server) promptContext(ctx context.Context, store *recordstore.Store, req *retrievalv1.BuildContextRequest,
	resp *retrievalv1.BuildContextResponse,
) (lanes, error) {
	var states lanes
	states.set(stateOK)
	d := &draft{req: req, now: s.now(), query: newQuery(head(req.GetQuery())), dropped: make(map[string]string)}
	if !d.query.content {
		return states, nil
	}
	if err := d.look(ctx, store); err != nil {
		return states, err
	}
	out, state, err := s.fresh(ctx, store, req.GetProjectId(), suppression(req), func(c *corpus.Corpus) []string {
		return d.search(c, &states)
	})
	if err != nil {
		return states, err
	}
	states.set(state)
	d.records, d.given = out.Records, out.Given
	err = s.give(ctx, store, req, resp, d.compose(s.budget(req)))
	if req.GetExplain() {
		resp.Candidates = d.explain(resp.GetRecordIds())
	}
	return states, err
}

// suppression is what the session's claims go by.
func suppression(req *retrievalv1.BuildContextRequest) recordstore.SuppressionKey {
	return recordstore.SuppressionKey{SessionID: req.GetSessionId(), Compactions: max(req.GetCompactions(), 0)}
}

// budget is the most tokens of the text.
func (s *server) budget(req *retrievalv1.BuildContextRequest) int {
	if req.GetMaxTokens() <= 0 {
		return int(s.contextTokens)
	}
	return int(min(req.GetMaxTokens(), maxContextTokens))
}

// hidesOwn tells whether the session's own records are left out: they are in front of the agent already, unless a compaction took
// them away. Looking back, the session had not begun.
func hidesOwn(req *retrievalv1.BuildContextRequest) bool {
	return req.GetCompactions() <= 0 || req.GetAsOf() != nil
}

// look sets what the context may see. Looking back, only sessions that were over count: what an open one had taught by then cannot
// be told from what it taught later.
func (d *draft) look(ctx context.Context, store *recordstore.Store) error {
	d.filter = corpus.Filter{Actor: store.Actor()}
	if d.req.GetSessionId() != "" && hidesOwn(d.req) {
		d.filter.WithoutSessions = append(d.filter.WithoutSessions, corpus.Session{Actor: store.Actor(), ID: d.req.GetSessionId()})
	}
	if d.req.GetAsOf() == nil {
		return nil
	}
	d.now = d.req.GetAsOf().AsTime()
	d.filter.AsOf, d.filter.Before = d.now, d.now.Add(1) // Before excludes its moment
	open, err := store.OpenSessions(ctx, d.req.GetProjectId(), d.now)
	d.filter.WithoutSessions = append(d.filter.WithoutSessions, open...)
	return err
}

// search fills the draft from memory and returns the records to read: the candidates, and one for every file that vouches
// for the caller's right to see it.
func (d *draft) search(c *corpus.Corpus, states *lanes) []string {
	start := time.Now()
	hits, below := aboveFloor(c.Search(d.query.terms, d.query.weights, d.filter, contextHits, d.req.GetExplain()), c.Records(), len(d.query.terms))
	d.below = below
	states.lexical.candidates, states.lexical.took = len(hits), time.Since(start)

	start = time.Now()
	named := c.Named(d.query.text)
	touching := c.Touching(keys(named), d.filter, touchingEach)
	working := d.req.GetFiles()[:min(len(d.req.GetFiles()), maxFiles)]
	d.candidates = fuse(hits, touching, withWorking(named, working), d.now)
	d.candidates = d.candidates[:min(len(d.candidates), contextReads)]
	d.files = nil
	if len(d.candidates) > 0 {
		d.files = c.Files(corpus.FileQuery{
			Terms: d.query.terms, TermWeights: d.query.weights, Hits: hits, Named: named, Working: working, Filter: d.filter, Now: d.now,
			Limit: contextFiles, Weights: corpus.DefaultFileWeights,
		})
	}
	states.files.candidates, states.files.took = len(d.files), time.Since(start)

	wanted := ids(d.candidates)
	for _, f := range d.files {
		wanted = append(wanted, f.Evidence)
	}
	if d.req.GetExplain() {
		for _, hit := range below {
			wanted = append(wanted, hit.ID)
		}
	}
	return wanted
}

// withWorking adds the files that the session works on to those that the prompt names.
func withWorking(named map[string]float64, working []string) map[string]float64 {
	all := maps.Clone(named)
	for _, path := range working {
		all[path] = max(all[path], sessionFileShare)
	}
	return all
}

// give claims what the session was not given before, renders the rest and logs it.
func (s *server) give(ctx context.Context, store *recordstore.Store, req *retrievalv1.BuildContextRequest,
	resp *retrievalv1.BuildContextResponse, plan plan,
) error {
	text, given, items := plan.write(nil)
	if text == "" {
		return nil
	}
	if until, ok := ctx.Deadline(); ok && time.Until(until) < claimReserve {
		return context.DeadlineExceeded
	}
	now := s.now()
	in := recordstore.Injection{
		InjectionID: event.NewID(now), ProjectID: req.GetProjectId(), EventID: req.GetEventId(), Key: suppression(req), At: now,
		Purpose: int16(req.GetPurpose()), //nolint:gosec // a small enum
	}
	fill(&in, text, given)
	ok, err := store.Give(ctx, in, items, func(won map[string]bool) (recordstore.Injection, bool) {
		text, given, _ = plan.write(won)
		fill(&in, text, given)
		return in, text != ""
	})
	if ok {
		resp.Text, resp.RecordIds, resp.InjectionId = text, in.Records, in.InjectionID
	}
	return err
}

// fill enters what is given in its log.
func fill(in *recordstore.Injection, text string, given []note) {
	in.Tokens, in.Records, in.Scores = block.Tokens(text), nil, nil
	for _, n := range given {
		in.Records, in.Scores = append(in.Records, n.id), append(in.Scores, float32(n.score))
	}
}

// explain tells of every candidate why it was dropped. Of what the caller may not read now nothing is told.
func (d *draft) explain(taken []string) []*retrievalv1.Candidate {
	given := make(map[string]bool, len(taken))
	for _, id := range taken {
		given[id] = true
	}
	considered := slices.Clone(d.candidates)
	for _, hit := range d.below {
		d.dropped[hit.ID] = cmp.Or(d.dropped[hit.ID], "below the floor")
		considered = append(considered, weigh(hit, hit.Score, nil, d.now))
	}
	out := make([]*retrievalv1.Candidate, 0, len(considered))
	for i := range considered {
		c := &considered[i]
		reason := cmp.Or(d.dropped[c.hit.ID], "did not fit into the budget")
		if given[c.hit.ID] {
			reason = ""
		}
		if d.records[c.hit.ID] != nil {
			out = append(out, c.proto(reason))
		}
	}
	return out
}
