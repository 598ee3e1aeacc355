package index

import "slices"

// candidate is a document on its way into the answer.
type candidate struct {
	ordinal uint32
	cell
	fields map[string]float64
}

// best returns the limit best documents that pass the gate, in order.
func (sc *scorer) best(g *gate, limit int) []candidate {
	top := make([]candidate, 0, min(limit, len(sc.touched)))
	worse := func(a, b candidate) bool { return sc.compare(a, b) > 0 }
	for _, ordinal := range sc.touched {
		c := candidate{ordinal: ordinal, cell: sc.cells[ordinal]}
		if c.score <= 0 {
			continue // only in fields of no weight
		}
		if len(top) == limit && (c.score < top[0].score || !worse(top[0], c)) {
			continue
		}
		if !g.passes(ordinal) {
			continue
		}
		if len(top) < limit {
			top = append(top, c)
			siftUp(top, worse)
			continue
		}
		top[0] = c
		siftDown(top, worse)
	}
	slices.SortFunc(top, sc.compare)
	return top
}

// compare orders candidates: higher score, newer, smaller id.
func (sc *scorer) compare(a, b candidate) int {
	docA, docB := &sc.docs[a.ordinal], &sc.docs[b.ordinal]
	switch {
	case a.score != b.score:
		return sign(a.score > b.score)
	case docA.created != docB.created:
		return sign(docA.created > docB.created)
	case docA.id != docB.id:
		return sign(docA.id < docB.id)
	default:
		return 0
	}
}

// sign is -1 if a comes first, else 1.
func sign(first bool) int {
	if first {
		return -1
	}
	return 1
}

// siftUp and siftDown keep the worst element at the head of a binary heap.
func siftUp[T any](heap []T, worse func(a, b T) bool) {
	for i := len(heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !worse(heap[i], heap[parent]) {
			return
		}
		heap[i], heap[parent] = heap[parent], heap[i]
		i = parent
	}
}

func siftDown[T any](heap []T, worse func(a, b T) bool) {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if right := child + 1; right < len(heap) && worse(heap[right], heap[child]) {
			child = right
		}
		if !worse(heap[child], heap[i]) {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}
