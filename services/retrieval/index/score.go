package index

import (
	"math/bits"
	"sync"
)

// cell gathers one document's score during a search. mask has one bit for each
// query term that the document holds; 0 means untouched.
type cell struct {
	score float32
	mask  uint32
}

// scratch is the memory of one search. Its cells are all zero between searches.
type scratch struct {
	cells   []cell
	touched []uint32
	kept    []uint32 // see finish
	// norms are the weight of one occurrence by field and coded length.
	norms [NumFields][256]float32
}

// scratches are shared by all indexes of the process: memory follows the
// searches that run at once, not the number of projects.
var scratches = sync.Pool{New: func() any { return new(scratch) }}

func borrowScratch(docs int) *scratch {
	s, ok := scratches.Get().(*scratch)
	if !ok || cap(s.cells) < docs {
		const slack = 8 // one part in eight: the next search has a few documents more
		s = &scratch{cells: make([]cell, docs, docs+docs/slack)}
	}
	s.cells = s.cells[:docs]
	return s
}

func (s *scratch) release() {
	for _, ordinal := range s.touched {
		s.cells[ordinal] = cell{}
	}
	s.touched = s.touched[:0]
	scratches.Put(s)
}

// scorer scores one query over one snapshot.
type scorer struct {
	snapshot
	*scratch
	k1 float32
}

// prepare fills the norms: the longer a field against the average, the less an
// occurrence in it counts.
func (sc *scorer) prepare(weights Weights, b float64) {
	for field := range sc.norms {
		average := 1.0
		if sc.live > 0 && sc.totals[field] > 0 {
			average = float64(sc.totals[field]) / float64(sc.live)
		}
		for code := range sc.norms[field] {
			length := float64(lengthOf[code]) / average
			sc.norms[field][code] = float32(weights[field] / (1 - b + b*length))
		}
	}
}

// add scores one term's postings. This loop is where a search spends its time:
// it decodes in place and divides once a posting.
func (sc *scorer) add(data []byte, impact float32, bit uint32) {
	cells, lengths, touched, k1 := sc.cells, sc.lengths, sc.touched, sc.k1
	ordinal := uint32(0)
	for i := 0; i < len(data); {
		gap, shift := uint32(0), 0
		for ; data[i] >= 0x80; i++ {
			gap |= uint32(data[i]&0x7f) << shift
			shift += 7
		}
		ordinal += gap | uint32(data[i])<<shift
		head := data[i+1]
		i += 2
		length := &lengths[ordinal]
		weight := float32(0)
		for rest := head &^ repeated; rest != 0; rest &= rest - 1 {
			field := bits.TrailingZeros8(rest)
			norm := sc.norms[field][length[field]]
			if head&repeated != 0 {
				norm *= float32(data[i])
				i++
			}
			weight += norm
		}
		c := &cells[ordinal]
		if c.mask == 0 {
			touched = append(touched, ordinal)
		}
		c.mask |= bit
		c.score += impact * saturate(weight, k1)
	}
	sc.touched = touched
}

// saturate maps the weighted frequency to 0 … k1+1.
func saturate(weight, k1 float32) float32 { return weight * (k1 + 1) / (weight + k1) }
