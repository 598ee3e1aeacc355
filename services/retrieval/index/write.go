package index

import (
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Upsert adds a document, or replaces the one with its id. It is visible to
// every search that begins after Upsert returns; a search that runs meanwhile
// sees either the old version or the new one.
func (ix *Index) Upsert(doc Document) {
	ix.writing.Lock()
	defer ix.writing.Unlock()

	occurrences, lengths := hashFields(&doc)
	ix.publish(&doc, occurrences, lengths)
	ix.rewriteIfWorn()
}

// Delete removes a document. An unknown id is no error.
func (ix *Index) Delete(id string) {
	ix.writing.Lock()
	defer ix.writing.Unlock()

	ix.publishing.Lock()
	ix.version++
	ix.bury(id)
	ix.publishing.Unlock()
	ix.rewriteIfWorn()
}

// fieldBits are the low bits of an occurrence, which hold its field.
const fieldBits = 3

// hashFields turns the document's terms into sorted occurrences: the term's hash
// with its lowest bits replaced by the field, so that sorting brings the
// occurrences of a term together.
func hashFields(doc *Document) (occurrences []uint64, lengths fieldLengths) {
	total := 0
	for _, terms := range doc.Fields {
		total += len(terms)
	}
	occurrences = make([]uint64, 0, total)
	for field, terms := range doc.Fields {
		for _, term := range terms {
			if term != "" {
				occurrences = append(occurrences, hashTerm(term)|uint64(field))
			}
		}
		lengths[field] = codeLength(len(terms))
	}
	slices.Sort(occurrences)
	return occurrences, lengths
}

// hashTerm is the term's hash with the bits of the field left empty.
func hashTerm(term string) uint64 {
	return maphash.String(hashSeed, term) >> fieldBits << fieldBits
}

// publish makes the document visible in place of its former version.
func (ix *Index) publish(doc *Document, occurrences []uint64, lengths fieldLengths) {
	terms := make([]uint32, 0, len(occurrences))
	ix.publishing.Lock()
	defer ix.publishing.Unlock()

	ix.version++
	ix.bury(doc.ID)
	s := ix.state
	ordinal := uint32(len(s.docs)) //nolint:gosec // memory ends long before 2³² documents
	for len(occurrences) > 0 {
		hash := occurrences[0] >> fieldBits << fieldBits
		var freqs fieldFreqs
		for len(occurrences) > 0 && occurrences[0]>>fieldBits<<fieldBits == hash {
			if freq := &freqs[occurrences[0]-hash]; *freq < maxFreq {
				*freq++
			}
			occurrences = occurrences[1:]
		}
		number := s.term(hash)
		s.appendPosting(number, ordinal, &freqs)
		terms = append(terms, number)
	}
	files := make([]uint32, 0, len(doc.Files))
	for _, file := range doc.Files {
		files = append(files, ix.name(file))
	}
	s.appendDoc(docEntry{
		id:      strings.Clone(doc.ID),
		created: unixNano(doc.CreatedAt),
		refs:    encodeRefs(files, terms),
		actor:   ix.name(doc.Actor),
		typ:     ix.name(doc.Type),
		private: doc.Private,
	}, lengths)
}

// bury ends the living version of a document, if there is one.
func (ix *Index) bury(id string) {
	s := ix.state
	ordinal, ok := s.ids[id]
	if !ok {
		return
	}
	delete(s.ids, id)
	atomic.StoreUint64(&s.died[ordinal], ix.version)
	_, terms := decodeRefs(s.docs[ordinal].refs)
	for _, number := range terms {
		s.terms[number].df--
	}
	for field, length := range s.lengths[ordinal][:NumFields] {
		s.totals[field] -= uint64(lengthOf[length])
	}
}

// name numbers an actor, type or file.
func (ix *Index) name(text string) uint32 {
	if number, ok := ix.names[text]; ok {
		return number
	}
	number := uint32(len(ix.names)) //nolint:gosec // memory ends long before 2³² names
	ix.names[strings.Clone(text)] = number
	ix.nameBytes += len(text)
	return number
}

// unixNano is the time as nanoseconds, the ends of their range for times beyond.
func unixNano(t time.Time) int64 {
	switch {
	case t.Before(earliest):
		return math.MinInt64
	case t.After(latest):
		return math.MaxInt64
	default:
		return t.UnixNano()
	}
}

var earliest, latest = time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)
