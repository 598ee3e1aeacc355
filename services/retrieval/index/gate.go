package index

import (
	"encoding/binary"
	"math"
	"slices"
	"sync/atomic"
)

// gate decides which documents a search may return: those that live in its
// snapshot, that the actor may see and that pass the filter.
type gate struct {
	snap          snapshot
	actor         uint32
	types, actors []uint32
	files         []uint32
	after, before int64
	// closed passes nothing: the filter names only what no document has.
	closed bool
}

// nobody is no name's number.
const nobody = math.MaxUint32

// gate resolves a query's names. The caller holds the publishing lock.
func (ix *Index) gate(q *Query, snap snapshot) gate {
	g := gate{snap: snap, actor: nobody, after: math.MinInt64, before: math.MaxInt64}
	if number, ok := ix.names[q.Actor]; ok && q.Actor != "" {
		g.actor = number
	}
	resolve := func(names []string) []uint32 {
		var numbers []uint32
		for _, name := range names {
			if number, ok := ix.names[name]; ok {
				numbers = append(numbers, number)
			}
		}
		g.closed = g.closed || (len(names) > 0 && len(numbers) == 0)
		return numbers
	}
	g.types, g.actors, g.files = resolve(q.Filter.Types), resolve(q.Filter.Actors), resolve(q.Filter.Files)
	if !q.Filter.CreatedAfter.IsZero() {
		g.after = unixNano(q.Filter.CreatedAfter)
	}
	if !q.Filter.CreatedBefore.IsZero() {
		g.before = unixNano(q.Filter.CreatedBefore)
	}
	return g
}

func (g *gate) passes(ordinal uint32) bool {
	if g.closed {
		return false
	}
	if died := atomic.LoadUint64(&g.snap.died[ordinal]); died != 0 && died <= g.snap.version {
		return false
	}
	doc := &g.snap.docs[ordinal]
	switch {
	case doc.private && doc.actor != g.actor:
		return false
	case len(g.types) > 0 && !slices.Contains(g.types, doc.typ):
		return false
	case len(g.actors) > 0 && !slices.Contains(g.actors, doc.actor):
		return false
	case doc.created < g.after || doc.created >= g.before:
		return false
	}
	return len(g.files) == 0 || g.touches(doc.refs)
}

// touches reports that the references begin with one of the wanted files.
func (g *gate) touches(refs []byte) bool {
	count, n := binary.Uvarint(refs)
	for range count {
		refs = refs[n:]
		var file uint64
		file, n = binary.Uvarint(refs)
		if slices.Contains(g.files, uint32(file)) { //nolint:gosec // encodeRefs wrote a uint32
			return true
		}
	}
	return false
}
