package index

import (
	"math/bits"
	"slices"
)

// run scores the terms, rarest first, and returns the best documents in order.
//
// A common term costs the most and says the least. Once the terms that are left
// cannot lift a document that holds none of the earlier ones into the answer,
// they are only looked up for the documents that still can win. The answer is
// the same to the last bit: what is skipped could not have been in it, and what
// is kept is summed in the same order.
func (sc *scorer) run(g *gate, terms []queryTerm, limit int) []candidate {
	left := 0 // postings of the terms not yet scored
	for _, term := range terms {
		left += int(term.df)
	}
	for i, term := range terms {
		if len(sc.touched) >= limit && left > pruneFactor*len(sc.touched) {
			if threshold := sc.nth(g, sc.touched, limit); sc.bound(terms[i:]) < threshold {
				sc.finish(g, terms[i:], i, limit, threshold)
				break
			}
		}
		sc.add(term.postings, float32(term.impact), 1<<i)
		left -= int(term.df)
	}
	return sc.best(g, limit)
}

// pruneFactor is how many times more postings must be left than documents have
// been touched before it pays to look for the threshold.
const pruneFactor = 1

// rounding is more than the share of a sum of some dozens of float32 that can get
// lost. Bounds give way by it, so that no tie is broken by rounding.
const rounding = 1e-5

// bound is more than what the terms can add to any document.
func (sc *scorer) bound(terms []queryTerm) float32 {
	sum := float32(0)
	for _, term := range terms {
		sum += float32(term.impact) * (sc.k1 + 1)
	}
	return sum * (1 + rounding)
}

// finish scores the last terms for the documents that can still reach the
// threshold, and gives up the others. first is the position of terms[0].
func (sc *scorer) finish(g *gate, terms []queryTerm, first, limit int, threshold float32) {
	kept := sc.contenders(threshold*(1-rounding) - sc.bound(terms))
	for i, term := range terms {
		places := cursor{data: term.postings, skips: term.skips}
		for _, ordinal := range kept {
			if places.seek(ordinal) {
				c := &sc.cells[ordinal]
				c.mask |= 1 << (first + i)
				c.score += float32(term.impact) * saturate(sc.weigh(places.posting()), sc.k1)
			}
		}
		threshold = max(threshold, sc.nth(g, kept, limit))
		minimum := threshold*(1-rounding) - sc.bound(terms[i+1:])
		kept = slices.DeleteFunc(kept, func(ordinal uint32) bool { return sc.cells[ordinal].score < minimum })
	}
}

// contenders returns the touched documents whose scores reach the minimum, in
// ascending order.
func (sc *scorer) contenders(minimum float32) []uint32 {
	const dense = 8 // from one touched document in so many, scanning beats sorting
	kept := sc.kept[:0]
	if dense*len(sc.touched) > len(sc.cells) {
		for ordinal, c := range sc.cells {
			if c.mask != 0 && c.score >= minimum {
				kept = append(kept, uint32(ordinal))
			}
		}
	} else {
		for _, ordinal := range sc.touched {
			if sc.cells[ordinal].score >= minimum {
				kept = append(kept, ordinal)
			}
		}
		slices.Sort(kept)
	}
	sc.kept = kept
	return kept
}

// nth is the n-th best score among the documents that pass the gate, or 0 if
// they are fewer.
func (sc *scorer) nth(g *gate, ordinals []uint32, n int) float32 {
	worse := func(a, b float32) bool { return a < b }
	top := make([]float32, 0, n)
	for _, ordinal := range ordinals {
		score := sc.cells[ordinal].score
		switch {
		case len(top) == n && score <= top[0], !g.passes(ordinal):
		case len(top) < n:
			top = append(top, score)
			siftUp(top, worse)
		default:
			top[0] = score
			siftDown(top, worse)
		}
	}
	if len(top) < n {
		return 0
	}
	return top[0]
}

// weigh is the weighted frequency of one posting, summed as add sums it.
func (sc *scorer) weigh(p posting) float32 {
	length := &sc.lengths[p.ordinal]
	weight := float32(0)
	for i, rest := 0, p.fields; rest != 0; i, rest = i+1, rest&(rest-1) {
		field := bits.TrailingZeros8(rest)
		norm := sc.norms[field][length[field]]
		if len(p.freqs) > 0 {
			norm *= float32(p.freqs[i])
		}
		weight += norm
	}
	return weight
}
