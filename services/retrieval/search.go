package retrieval

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/internal/page"
	"github.com/kiroku-dev/kiroku/services/retrieval/corpus"
	"github.com/kiroku-dev/kiroku/services/retrieval/recordstore"
)

const (
	defaultPageSize = 10
	maxPageSize     = 100
	// searchDepth is how many records a query finds over all pages.
	searchDepth = 1000
	// touchingEach is how many records of every named file are looked at, matching or not.
	touchingEach = 20
)

// Search implements RetrievalService.
func (s *server) Search(ctx context.Context, req *retrievalv1.SearchRequest) (*retrievalv1.SearchResponse, error) {
	size, err := page.Size(req.GetPageSize(), defaultPageSize, maxPageSize)
	if err != nil {
		return nil, err
	}
	if err := checkSearch(req); err != nil {
		return nil, err
	}
	store, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	boundTo, err := fingerprint(req)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(req.GetQuery()) == "" {
		return s.list(ctx, store, req, size, boundTo)
	}
	return s.search(ctx, store, req, size, boundTo)
}

// fingerprint is what a page token is bound to.
func fingerprint(req *retrievalv1.SearchRequest) ([]string, error) {
	filter, err := proto.MarshalOptions{Deterministic: true}.Marshal(req.GetFilter())
	return []string{"search", req.GetProjectId(), req.GetQuery(), string(filter)}, err
}

// searchCursor says what earlier pages gave. A page is the best of what they did not, so that records that come or change
// between two pages are neither given twice nor pushed out of sight.
type searchCursor struct {
	// Seen are 8 bytes of hash for each record.
	Seen []byte `json:"s"`
}

const hashBytes = 8

func (c *searchCursor) set() map[uint64]bool {
	seen := make(map[uint64]bool, len(c.Seen)/hashBytes)
	for rest := c.Seen; len(rest) >= hashBytes; rest = rest[hashBytes:] {
		seen[binary.BigEndian.Uint64(rest)] = true
	}
	return seen
}

func hashID(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // a hash takes everything
	return h.Sum64()
}

func (s *server) search(ctx context.Context, store *recordstore.Store, req *retrievalv1.SearchRequest, size int,
	boundTo []string,
) (*retrievalv1.SearchResponse, error) {
	var cursor searchCursor
	if _, err := page.Cursor(req.GetPageToken(), &cursor, boundTo...); err != nil {
		return nil, err
	}
	seen, q := cursor.set(), newQuery(head(req.GetQuery()))
	filter := searchFilter(req.GetFilter(), store.Actor())
	var states lanes
	var rest []candidate
	out, state, err := s.fresh(ctx, store, req.GetProjectId(), recordstore.SuppressionKey{}, func(c *corpus.Corpus) []string {
		rest = unseen(s.candidates(c, q, filter, req.GetExplain(), &states), seen)
		return ids(rest[:min(size, len(rest))])
	})
	if err != nil {
		return nil, err
	}
	states.set(state)
	resp := &retrievalv1.SearchResponse{Lanes: states.report(s.metrics)}
	given := rest[:min(size, len(rest))]
	for _, c := range given {
		cursor.Seen = binary.BigEndian.AppendUint64(cursor.Seen, hashID(c.hit.ID))
		if r, ok := out.Records[c.hit.ID]; ok {
			resp.Hits = append(resp.Hits, &retrievalv1.Hit{Record: r, Score: c.score, Scores: c.scores})
		}
	}
	if len(rest) > len(given) && len(cursor.Seen) < searchDepth*hashBytes {
		resp.NextPageToken, err = page.Token(cursor, boundTo...)
	}
	return resp, err
}

// candidates are all that a query finds, ranked.
func (s *server) candidates(c *corpus.Corpus, q query, filter corpus.Filter, explain bool, states *lanes) []candidate {
	start := time.Now()
	hits := c.Search(q.terms, q.weights, filter, searchDepth, explain)
	states.lexical.candidates, states.lexical.took = len(hits), time.Since(start)
	start = time.Now()
	named := c.Named(q.text)
	touching := c.Touching(keys(named), filter, touchingEach)
	states.files.candidates, states.files.took = len(touching), time.Since(start)
	return fuse(hits, touching, named, s.now())
}

func unseen(candidates []candidate, seen map[uint64]bool) []candidate {
	if len(seen) == 0 {
		return candidates
	}
	rest := candidates[:0]
	for _, c := range candidates {
		if !seen[hashID(c.hit.ID)] {
			rest = append(rest, c)
		}
	}
	return rest
}

func ids(candidates []candidate) []string {
	out := make([]string, len(candidates))
	for i, c := range candidates {
		out[i] = c.hit.ID
	}
	return out
}

// list answers a query without words: the newest records.
func (s *server) list(ctx context.Context, store *recordstore.Store, req *retrievalv1.SearchRequest, size int,
	boundTo []string,
) (*retrievalv1.SearchResponse, error) {
	var cursor recordstore.ListCursor
	after := &cursor
	if ok, err := page.Cursor(req.GetPageToken(), after, boundTo...); err != nil {
		return nil, err
	} else if !ok {
		after = nil
	}
	start := time.Now()
	records, err := store.List(ctx, req.GetProjectId(), listFilter(req.GetFilter()), after, size+1)
	if err != nil {
		return nil, err
	}
	resp := &retrievalv1.SearchResponse{}
	if len(records) > size {
		records = records[:size]
		last := records[size-1]
		resp.NextPageToken, err = page.Token(recordstore.ListCursor{ValidFrom: last.GetValidFrom().AsTime(), RecordID: last.GetRecordId()}, boundTo...)
		if err != nil {
			return nil, err
		}
	}
	for _, r := range records {
		resp.Hits = append(resp.Hits, &retrievalv1.Hit{Record: r})
	}
	states := lanes{lexical: lane{candidates: len(records), took: time.Since(start)}}
	states.set(stateOK)
	resp.Lanes = states.report(s.metrics)
	return resp, nil
}
