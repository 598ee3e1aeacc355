package retrieval

import (
	"context"
	"slices"
	"time"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/retrieval/corpus"
	"github.com/kiroku-dev/kiroku/services/retrieval/recordstore"
)

const (
	// briefTokens bounds a start brief: nobody has asked for anything yet.
	briefTokens = 700
	// briefGuidance is how many decisions and preferences it holds, briefSessions how many sessions.
	briefGuidance, briefSessions = 8, 5
)

// brief gives a session that starts the project's decisions and preferences, and what was worked on lately. It reads Postgres
// alone, so it is there at once; that the prompt may come soon is a reason to begin building the index.
func (s *server) brief(ctx context.Context, store *recordstore.Store, req *retrievalv1.BuildContextRequest,
	resp *retrievalv1.BuildContextResponse,
) (lanes, error) {
	var states lanes
	states.set(stateOK)
	s.cache.Warm(corpus.Key{Org: store.OrgID(), Project: req.GetProjectId()}) //nolint:contextcheck // the building outlives the call
	start := time.Now()
	now, asOf := s.now(), time.Time{}
	if req.GetAsOf() != nil {
		now, asOf = req.GetAsOf().AsTime(), req.GetAsOf().AsTime()
	}
	from, err := store.Brief(ctx, req.GetProjectId(), guidingNumbers(), asOf, suppression(req))
	if err != nil || from.Given {
		return states, err
	}
	own := corpus.Session{Actor: store.Actor(), ID: req.GetSessionId()}
	hidden := func(r *recordv1.Record) bool {
		session := corpus.Session{Actor: r.GetActorId(), ID: r.GetSessionId()}
		return slices.Contains(from.Open, session) || (session == own && hidesOwn(req))
	}
	from.Guidance, from.Recent = slices.DeleteFunc(from.Guidance, hidden), slices.DeleteFunc(from.Recent, hidden)
	states.lexical.candidates, states.lexical.took = len(from.Guidance)+len(from.Recent), time.Since(start)
	return states, s.give(ctx, store, req, resp, briefPlan(from, now, min(s.budget(req), briefTokens)))
}

// briefPlan chooses what a brief holds: of every session its newest record of work.
func briefPlan(from recordstore.Brief, now time.Time, tokens int) plan {
	p := plan{
		tokens: tokens, claims: []string{recordstore.BriefItem},
		guidanceHeading: "Decisions and conventions of this project", relatedHeading: "Latest work",
	}
	for _, r := range from.Guidance[:min(len(from.Guidance), briefGuidance)] {
		p.guidance = append(p.guidance, bare(r, now))
		p.project = r.GetProjectName()
	}
	told := make(map[corpus.Session]bool)
	for _, r := range from.Recent {
		session := corpus.Session{Actor: r.GetActorId(), ID: r.GetSessionId()}
		if len(p.related) == briefSessions || told[session] || !isMain(r) || r.GetPinned() {
			continue
		}
		told[session] = true
		p.related = append(p.related, bare(r, now))
		p.project = r.GetProjectName()
	}
	return p
}

// bare is a note without facts.
func bare(r *recordv1.Record, now time.Time) note {
	n := noteOf(r, 0, now, nil)
	n.facts = nil
	return n
}
