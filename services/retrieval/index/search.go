package index

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// DefaultLimit is how many hits a search returns that names no limit.
const DefaultLimit = 50

// Query asks for documents that hold any of its terms.
type Query struct {
	// Terms are analysed like the documents' fields. Repeats count once.
	Terms []string
	// Weights scale the terms, position by position. A missing one is 1; a term
	// with a weight that is not above 0 is left out.
	Weights []float64
	// Actor asks. Private documents of others are not found; with no actor, none
	// are.
	Actor string
	// Limit is the most hits to return; 0 means DefaultLimit.
	Limit int
	// Filter narrows what may be found. It does not change scores.
	Filter Filter
	// Explain fills Hit.Fields, at about twice the cost.
	Explain bool
}

// Filter leaves out documents. Empty parts let everything pass.
type Filter struct {
	// Types, Actors and Files each pass documents that have one of theirs. Files
	// are whole repository-relative paths.
	Types, Actors, Files []string
	// CreatedAfter passes documents made at this moment or later, CreatedBefore
	// those made earlier.
	CreatedAfter, CreatedBefore time.Time
}

// Hit is one document that was found.
type Hit struct {
	ID string
	// Score is comparable within one search only.
	Score float64
	// Fields are the shares of Score by field name, if Explain was set.
	Fields map[string]float64
	// Matched is how many of the query's terms the document holds.
	Matched int
	// MatchedIDF is their share of the weight of the query's terms, 0 to 1. Terms
	// that no document holds count too, as far as the cap on terms leaves room:
	// a question about things unknown here matches little.
	MatchedIDF float64
	CreatedAt  time.Time
}

// Search returns the best documents: by score, then newest first, then by id.
// Frequencies count every living document, also those that the caller may not
// see.
func (ix *Index) Search(q Query) []Hit {
	terms := distinctTerms(q)
	if len(terms) == 0 {
		return nil
	}
	if q.Limit <= 0 {
		q.Limit = DefaultLimit
	}
	snap, gate := ix.snapshot(&q, terms)
	known := ix.selectTerms(snap, terms)
	if len(known.terms) == 0 {
		return nil
	}
	scratch := borrowScratch(len(snap.docs))
	defer scratch.release()
	sc := scorer{snapshot: snap, scratch: scratch, k1: float32(ix.k1)}
	sc.prepare(ix.weights, ix.b)
	hits := sc.run(&gate, known.terms, q.Limit)
	if q.Explain {
		sc.explain(hits, known.terms)
	}
	return sc.hits(hits, &known)
}

// queryTerm is one distinct term of a query and what a snapshot knows of it.
type queryTerm struct {
	text     string
	weight   float64
	postings []byte
	skips    []skip
	df       uint32
	// impact is the term's weight times its inverse document frequency.
	impact float64
}

func distinctTerms(q Query) []queryTerm {
	seen := make(map[string]struct{}, len(q.Terms))
	terms := make([]queryTerm, 0, len(q.Terms))
	for i, text := range q.Terms {
		weight := 1.0
		if i < len(q.Weights) {
			weight = q.Weights[i]
		}
		if _, dup := seen[text]; dup || text == "" || !(weight > 0) {
			continue
		}
		seen[text] = struct{}{}
		terms = append(terms, queryTerm{text: text, weight: weight})
	}
	return terms
}

// snapshot is the index at one moment. It stays as it is while writers go on.
type snapshot struct {
	docs    []docEntry
	lengths []fieldLengths
	died    []uint64
	live    int
	totals  [NumFields]uint64
	version uint64
}

// snapshot copies what the search needs, the terms' postings among it.
func (ix *Index) snapshot(q *Query, terms []queryTerm) (snapshot, gate) {
	hashes := make([]uint64, len(terms))
	for i := range terms {
		hashes[i] = hashTerm(terms[i].text)
	}
	ix.publishing.RLock()
	defer ix.publishing.RUnlock()
	s := ix.state
	for i, hash := range hashes {
		if number, ok := s.dict[hash]; ok {
			terms[i].postings = s.terms[number].postings
			terms[i].df = s.terms[number].df
			terms[i].skips = s.skips[number]
		}
	}
	snap := snapshot{
		docs: s.docs, lengths: s.lengths, died: s.died,
		live: len(s.ids), totals: s.totals, version: ix.version,
	}
	return snap, ix.gate(q, snap)
}

// selection is the terms that are scored.
type selection struct {
	terms []queryTerm
	// mass is the summed impact of the scored terms and of the unknown ones that
	// the cap leaves room for.
	mass float64
}

// selectTerms keeps the rarest terms up to the cap, rarest first. The order is
// fixed by the terms alone, so that sums of floating-point numbers are too.
func (ix *Index) selectTerms(snap snapshot, terms []queryTerm) selection {
	var sel selection
	unknown := 0.0 // summed weight of unknown terms
	room := ix.maxTerms
	for i := range terms {
		terms[i].impact = terms[i].weight * idf(snap.live, terms[i].df)
	}
	slices.SortFunc(terms, func(a, b queryTerm) int {
		switch {
		case a.df != b.df:
			return int(a.df) - int(b.df)
		case a.text < b.text:
			return -1
		default:
			return 1
		}
	})
	firstKnown, _ := slices.BinarySearchFunc(terms, 1, func(t queryTerm, df int) int { return int(t.df) - df })
	sel.terms = terms[firstKnown:]
	if len(sel.terms) > room {
		sel.terms = sel.terms[:room]
	}
	room -= len(sel.terms)
	for _, term := range terms[:min(room, firstKnown)] {
		unknown += term.impact
	}
	for _, term := range sel.terms {
		sel.mass += term.impact
	}
	sel.mass += unknown
	return sel
}

// idf is BM25's inverse document frequency in the form that is never negative.
func idf(live int, df uint32) float64 {
	const half = 0.5
	n, d := float64(live), float64(df)
	return math.Log(1 + (n-d+half)/(d+half))
}

// hits turns candidates into the answer.
func (sc *scorer) hits(best []candidate, sel *selection) []Hit {
	hits := make([]Hit, len(best))
	for i, c := range best {
		matched := 0.0
		for mask := c.mask; mask != 0; mask &= mask - 1 {
			matched += sel.terms[bits.TrailingZeros32(mask)].impact
		}
		doc := &sc.docs[c.ordinal]
		hits[i] = Hit{
			ID:         doc.id,
			Score:      float64(c.score),
			Fields:     c.fields,
			Matched:    bits.OnesCount32(c.mask),
			MatchedIDF: min(matched/sel.mass, 1),
			CreatedAt:  time.Unix(0, doc.created).UTC(),
		}
	}
	return hits
}
