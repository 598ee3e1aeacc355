package index

// minDead keeps small indexes from being rewritten at every other change.
const minDead = 1024

// rewriteIfWorn leaves the dead documents behind once they outnumber the living.
// Each rewrite is paid for by as many changes as it moves documents. Only
// writers wait for it.
func (ix *Index) rewriteIfWorn() {
	old := ix.state
	if dead := len(old.docs) - len(old.ids); dead < minDead || dead <= len(old.ids) {
		return
	}
	fresh := old.rewrite()
	ix.publishing.Lock()
	ix.state = fresh
	ix.publishing.Unlock()
}

// rewrite copies the living documents and the terms they hold. Order is kept,
// so each list of postings can be copied by itself.
func (s *state) rewrite() *state {
	fresh := newState()
	fresh.docs = make([]docEntry, 0, len(s.ids))
	fresh.lengths = make([]fieldLengths, 0, len(s.ids))
	fresh.died = make([]uint64, 0, len(s.ids))

	ordinals := make([]uint32, len(s.docs))
	next := uint32(0)
	for old := range s.docs {
		if s.died[old] == 0 {
			ordinals[old] = next
			next++
		}
	}
	numbers := s.copyTerms(fresh, ordinals)
	for old, doc := range s.docs {
		if s.died[old] != 0 {
			continue
		}
		files, terms := decodeRefs(doc.refs)
		for i, number := range terms {
			terms[i] = numbers[number]
		}
		doc.refs = encodeRefs(files, terms)
		fresh.appendDoc(doc, s.lengths[old])
	}
	return fresh
}

// copyTerms copies the postings of living documents under their new ordinals and
// returns the new numbers of the terms.
func (s *state) copyTerms(fresh *state, ordinals []uint32) []uint32 {
	hashes := make([]uint64, len(s.terms))
	for hash, number := range s.dict {
		hashes[number] = hash
	}
	numbers := make([]uint32, len(s.terms))
	for old, entry := range s.terms {
		if entry.df == 0 {
			continue
		}
		number := fresh.term(hashes[old])
		numbers[old] = number
		eachPosting(entry.postings, func(p posting) {
			if s.died[p.ordinal] == 0 {
				freqs := p.unpack()
				fresh.appendPosting(number, ordinals[p.ordinal], &freqs)
			}
		})
	}
	return numbers
}
