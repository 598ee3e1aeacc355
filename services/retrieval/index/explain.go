package index

// explain splits the candidates' scores by field. It decodes the postings of the
// terms a second time, so that plain searches carry nothing for it.
func (sc *scorer) explain(best []candidate, terms []queryTerm) {
	places := make(map[uint32]int, len(best))
	for i := range best {
		best[i].fields = make(map[string]float64)
		places[best[i].ordinal] = i
	}
	for _, term := range terms {
		eachPosting(term.postings, func(p posting) {
			if i, ok := places[p.ordinal]; ok {
				sc.explainPosting(best[i].fields, p, float32(term.impact))
			}
		})
	}
}

// explainPosting shares one term's contribution out by the fields' weights.
func (sc *scorer) explainPosting(fields map[string]float64, p posting, impact float32) {
	var weights [NumFields]float32
	sum := float32(0)
	for field, freq := range p.unpack() {
		weights[field] = float32(freq) * sc.norms[field][sc.lengths[p.ordinal][field]]
		sum += weights[field]
	}
	if sum <= 0 {
		return // all its fields weigh nothing
	}
	score := float64(impact * saturate(sum, sc.k1))
	for field, weight := range weights {
		if weight > 0 {
			fields[Field(field).String()] += score * float64(weight/sum)
		}
	}
}
