package index

import "unsafe"

// Stats tells the size of an index.
type Stats struct {
	// Documents are those that can be found.
	Documents int
	// Tombstones are replaced and deleted documents that still take memory.
	Tombstones int
	// Terms are the different terms, those of tombstones included.
	Terms int
	// Bytes is about what the index holds in memory. It counts capacities, and
	// map entries by their average.
	Bytes int
}

// mapEntryBytes is what a map entry takes beside its key's text: key, value and
// its share of control bytes and free slots.
const (
	hashEntryBytes = 28
	nameEntryBytes = 36
)

// Stats returns the index's size. It is cheap enough to ask after every change.
func (ix *Index) Stats() Stats {
	ix.publishing.RLock()
	defer ix.publishing.RUnlock()
	s := ix.state
	return Stats{
		Documents:  len(s.ids),
		Tombstones: len(s.docs) - len(s.ids),
		Terms:      len(s.dict),
		Bytes: s.heapBytes +
			cap(s.terms)*int(unsafe.Sizeof(termEntry{})) +
			cap(s.docs)*int(unsafe.Sizeof(docEntry{})) +
			cap(s.lengths)*int(unsafe.Sizeof(fieldLengths{})) +
			cap(s.died)*int(unsafe.Sizeof(uint64(0))) +
			len(s.dict)*hashEntryBytes +
			len(s.ids)*nameEntryBytes +
			ix.nameBytes + len(ix.names)*nameEntryBytes,
	}
}
