package index

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// state is the body of an index. Slices that searches read only grow at their
// ends; the one thing that changes in place is died, by atomic stores.
type state struct {
	// dict numbers the terms by their hash. Two terms of a million share a hash
	// with a probability below 10⁻⁶; they would then share their postings.
	dict  map[uint64]uint32
	terms []termEntry
	// skips are the entry points into the long lists of postings, by term.
	skips map[uint32][]skip

	ids     map[string]uint32 // document id → ordinal of its living version
	docs    []docEntry
	lengths []fieldLengths
	// died holds for each document the version that ended it, 0 while it lives.
	died []uint64
	// totals are the summed lengths of the living documents, by field.
	totals [NumFields]uint64
	// heapBytes is what postings, references and ids take, by capacity.
	heapBytes int
}

// termEntry is one term's postings.
type termEntry struct {
	postings []byte
	last     uint32 // ordinal of the last posting
	df       uint32 // living documents that hold the term
}

// docEntry never changes once it can be read.
type docEntry struct {
	id      string
	created int64 // Unix nanoseconds
	// refs are the numbers of the document's files and terms; see encodeRefs.
	refs    []byte
	actor   uint32
	typ     uint32
	private bool
}

func newState() *state {
	return &state{
		dict:  make(map[uint64]uint32),
		skips: make(map[uint32][]skip),
		ids:   make(map[string]uint32),
	}
}

// term returns the number of the term with this hash, making it if needed.
func (s *state) term(hash uint64) uint32 {
	if number, ok := s.dict[hash]; ok {
		return number
	}
	number := uint32(len(s.terms)) //nolint:gosec // memory ends long before 2³² terms
	s.dict[hash] = number
	s.terms = append(s.terms, termEntry{})
	return number
}

// appendPosting adds a posting for a document younger than all before it.
func (s *state) appendPosting(number, ordinal uint32, freqs *fieldFreqs) {
	entry := &s.terms[number]
	before := cap(entry.postings)
	gap := ordinal - entry.last
	start := len(entry.postings)
	entry.postings = appendPosting(entry.postings, gap, freqs)
	entry.last = ordinal
	entry.df++
	if end := len(entry.postings); end/skipBytes != start/skipBytes {
		s.addSkip(number, skip{last: ordinal, offset: uint32(end)}) //nolint:gosec // 4 GB hold more documents than ordinals
	}
	s.heapBytes += cap(entry.postings) - before
}

// addSkip adds an entry point to a long list.
func (s *state) addSkip(number uint32, entry skip) {
	skips := s.skips[number]
	before := cap(skips)
	skips = append(skips, entry)
	s.skips[number] = skips
	s.heapBytes += (cap(skips) - before) * int(unsafe.Sizeof(skip{}))
}

// appendDoc adds a document whose postings are in place and returns nothing that
// can fail: its ordinal is the number of documents before it.
func (s *state) appendDoc(doc docEntry, lengths fieldLengths) {
	s.ids[doc.id] = uint32(len(s.docs)) //nolint:gosec // memory ends long before 2³² documents
	s.docs = append(s.docs, doc)
	s.lengths = append(s.lengths, lengths)
	s.died = append(s.died, 0)
	s.heapBytes += len(doc.id) + cap(doc.refs)
	for field, length := range lengths[:NumFields] {
		s.totals[field] += uint64(lengthOf[length])
	}
}

// encodeRefs packs the numbers of a document's files and terms: the count of
// files, each file, then the gaps of the sorted terms.
func encodeRefs(files, terms []uint32) []byte {
	const likelyBytes = 2
	slices.Sort(terms)
	buf := make([]byte, 0, 1+likelyBytes*(len(files)+len(terms)))
	buf = binary.AppendUvarint(buf, uint64(len(files)))
	for _, file := range files {
		buf = binary.AppendUvarint(buf, uint64(file))
	}
	before := uint32(0)
	for _, term := range terms {
		buf = binary.AppendUvarint(buf, uint64(term-before))
		before = term
	}
	return slices.Clip(buf)
}

// decodeRefs is the inverse of encodeRefs.
func decodeRefs(refs []byte) (files, terms []uint32) {
	next := func() uint32 {
		value, n := binary.Uvarint(refs)
		refs = refs[n:]
		return uint32(value) //nolint:gosec // encodeRefs wrote a uint32
	}
	files = make([]uint32, next())
	for i := range files {
		files[i] = next()
	}
	for term := uint32(0); len(refs) > 0; {
		term += next()
		terms = append(terms, term)
	}
	return files, terms
}
