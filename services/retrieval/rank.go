package retrieval

import (
	"cmp"
	"math"
	"slices"
	"time"

	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/retrieval/corpus"
)

const (
	// filesWeight is what touching a file that the question names is worth beside the best lexical match, which is 1.
	filesWeight = 0.35
	// recencyShare is the part of a score that fades with age.
	recencyShare = 0.3
	// recencyHalfLife is how soon half of that part is gone.
	recencyHalfLife = 60 * 24 * time.Hour
)

// candidate is a record with its score and how that came about.
type candidate struct {
	hit    corpus.Hit
	score  float64
	scores map[string]float64
}

// fuse adds the lanes' scores: the lexical one as a share of the best, the files' as how sure the named files are that a
// record touched. Order is by score, then newest, then id: the same memory always gives the same order.
func fuse(hits, touching []corpus.Hit, named map[string]float64, now time.Time) []candidate {
	best := 0.0
	if len(hits) > 0 {
		best = hits[0].Score
	}
	candidates := make([]candidate, 0, len(hits)+len(touching))
	seen := make(map[string]bool, len(hits))
	for _, hit := range slices.Concat(hits, touching) {
		if seen[hit.ID] {
			continue
		}
		seen[hit.ID] = true
		candidates = append(candidates, weigh(hit, best, named, now))
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.hit.ValidFrom.Compare(a.hit.ValidFrom), cmp.Compare(a.hit.ID, b.hit.ID))
	})
	return candidates
}

func weigh(hit corpus.Hit, best float64, named map[string]float64, now time.Time) candidate {
	lexical, files := 0.0, 0.0
	if best > 0 {
		lexical = hit.Score / best
	}
	for _, path := range hit.Files {
		files = max(files, named[path])
	}
	age := max(now.Sub(hit.ValidFrom), 0)
	recency := 1 - recencyShare*(1-math.Exp2(-float64(age)/float64(recencyHalfLife)))
	scores := map[string]float64{laneLexical: lexical, laneFiles: files, "recency": recency}
	for field, score := range hit.Fields {
		scores[laneLexical+"."+field] = score / best
	}
	return candidate{hit: hit, score: (lexical + filesWeight*files) * recency, scores: scores}
}

// proto is a candidate as an explanation shows it.
func (c *candidate) proto(dropped string) *retrievalv1.Candidate {
	return &retrievalv1.Candidate{RecordId: c.hit.ID, Score: c.score, Scores: c.scores, Dropped: dropped}
}
