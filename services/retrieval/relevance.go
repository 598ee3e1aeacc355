package retrieval

import (
	"fmt"
	"math"
	"slices"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	"github.com/kiroku-dev/kiroku/services/retrieval/block"
	"github.com/kiroku-dev/kiroku/services/retrieval/corpus"
	"github.com/kiroku-dev/kiroku/services/retrieval/index"
)

const (
	// floorShare is the least part of a question's weight in words that a record must have, floorMany the least for one that has
	// at least floorWords of them: of a long prompt no record has much.
	floorShare, floorMany = 0.2, 0.08
	floorWords            = 3
	// floorRare is the least score, in shares of what one word is worth that a single record has: common words alone say nothing,
	// unless they are floorFull of the question.
	floorRare, floorFull = 0.3, 0.6
	// fewRecords is how many records it takes for the rarity of words to count as much as their number.
	fewRecords = 20
	// besideBest is the least share of the best candidate's score.
	besideBest = 0.4
	// guideBesideBest is the same for what guides: a rule is one sentence beside records of several, and worth as much.
	guideBesideBest = 0.15
	// reasonedFiles is how many files are named with a reason, each on a line; of the others filesALine go on one.
	reasonedFiles, filesALine = 8, 4
	// contextNotes is how many records a context holds at most.
	contextNotes = 10
)

// aboveFloor keeps the hits that are good enough to be put before a prompt nobody asked to have answered from memory. How rare a
// word is says little among few records: there every word counts the same.
func aboveFloor(hits []corpus.Hit, records, terms int) (above, below []corpus.Hit) {
	terms = min(terms, index.DefaultMaxQueryTerms)
	rarest := math.Log1p((float64(records) - 0.5) / 1.5) // what the index gives a word of one record
	young := 1 / (1 + float64(records)/fewRecords)
	for _, hit := range hits {
		share := young*float64(hit.Matched)/float64(terms) + (1-young)*hit.MatchedIDF
		matches := share >= floorShare || (hit.Matched >= floorWords && share >= floorMany)
		telling := hit.Score >= (1-young)*floorRare*rarest || (hit.Matched >= floorWords && share >= floorFull)
		if matches && telling {
			above = append(above, hit)
		} else {
			below = append(below, hit)
		}
	}
	return above, below
}

// compose plans the block: what is likely to be touched, what must be heeded, what was done before.
func (d *draft) compose(tokens int) plan {
	p := plan{tokens: tokens, guidanceHeading: "Decisions and conventions", relatedHeading: "Related work"}
	p.files = d.fileLines()
	taken := 0
	for i := range d.candidates {
		c := &d.candidates[i]
		r := d.records[c.hit.ID]
		if r == nil {
			continue // gone since memory was searched
		}
		p.project = r.GetProjectName()
		switch {
		case d.given[c.hit.ID]:
			d.dropped[c.hit.ID] = "the session was given it before"
			continue
		case c.score < leastShare(r)*d.candidates[0].score && !r.GetPinned():
			d.dropped[c.hit.ID] = "far below the best"
			continue
		case taken == contextNotes:
			d.dropped[c.hit.ID] = "enough others are better"
			continue
		}
		taken++
		n := noteOf(r, c.score, d.now, d.query.terms)
		switch {
		case r.GetPinned():
			p.guidance = slices.Insert(p.guidance, 0, n)
		case guides(r.GetObservationType()):
			p.guidance = append(p.guidance, n)
		default:
			p.related = append(p.related, n)
		}
	}
	return p
}

func leastShare(r *recordv1.Record) float64 {
	if guides(r.GetObservationType()) {
		return guideBesideBest
	}
	return besideBest
}

// fileLines name the likely files: the first with the reason why they are there, the others briefly. A file without a record
// that the caller may read now is not named.
func (d *draft) fileLines() []fileLine {
	var lines []fileLine
	var brief fileLine
	named := 0
	for _, f := range d.files {
		r := d.records[f.Evidence]
		if r == nil || !slices.Contains(r.GetFilesTouched(), f.Path) {
			continue
		}
		path, item := block.Clean(f.Path), fileItem(f.Path)
		if named++; named <= reasonedFiles && f.Matched {
			at := r.GetValidFrom().AsTime()
			line := fmt.Sprintf("%s (%s %s by %s)", path, reason(f), age(d.now.Sub(at), at), block.Clean(r.GetActorId()))
			lines = append(lines, fileLine{items: []string{item}, text: line})
			continue
		}
		if brief.text == "" {
			brief.text = "perhaps " + path
		} else {
			brief.text += ", " + path
		}
		if brief.items = append(brief.items, item); len(brief.items) == filesALine {
			lines, brief = append(lines, brief), fileLine{}
		}
	}
	if brief.text != "" {
		lines = append(lines, brief)
	}
	return lines
}

func reason(f corpus.FileHit) string {
	switch {
	case f.Named:
		return "named in the prompt; touched"
	case f.Related == 1:
		return "in 1 related note,"
	case f.Related > 1:
		return fmt.Sprintf("in %d related notes, the best", f.Related)
	}
	return "its path matches; touched"
}

// guidingNumbers are the guiding types as they are stored.
func guidingNumbers() []int16 {
	numbers := make([]int16, len(guidingTypes))
	for i, t := range guidingTypes {
		numbers[i] = int16(t) //nolint:gosec // a small enum
	}
	return numbers
}

// isMain tells whether a record tells of a turn's work, and so of its session.
func isMain(r *recordv1.Record) bool {
	switch r.GetObservationType() {
	case recordv1.ObservationType_OBSERVATION_TYPE_PREFERENCE, recordv1.ObservationType_OBSERVATION_TYPE_DECISION,
		recordv1.ObservationType_OBSERVATION_TYPE_PATTERN, recordv1.ObservationType_OBSERVATION_TYPE_TOOL_USE:
		return false
	}
	return true
}
