package retrieval

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	"github.com/kiroku-dev/kiroku/services/internal/analysis"
	"github.com/kiroku-dev/kiroku/services/retrieval/block"
)

const (
	// summaryBytes is how much of a record's summary is shown, in whole sentences.
	summaryBytes = 300
	// factsOf is of how many of the best records the facts are shown, and factsEach how many of each.
	factsOf, factsEach = 4, 3
)

// The most of the budget that a section may take.
const (
	filesShare    = 0.4
	guidanceShare = 0.4
	relatedShare  = 0.55
)

// note is a record as a block shows it.
type note struct {
	id    string
	score float64
	line  string
	// facts are made when they are asked for: only those of the best notes are.
	facts func() []string
}

// fileLine is one or more likely files as a block shows them, and what they are claimed as.
type fileLine struct {
	items []string
	text  string
}

// plan is what a block would hold if there were room for all of it and nothing had been given before.
type plan struct {
	tokens  int
	project string
	// claims are claimed with the block, beside its records and files.
	claims   []string
	files    []fileLine
	guidance []note
	related  []note
	// headings of the two lists of notes.
	guidanceHeading, relatedHeading string
}

// write writes the block of what was won; won is nil for everything. It also tells the notes in it, and the items to claim for it: its
// notes and files, and the plan's own. The text is empty when nothing in it is new.
func (p *plan) write(won map[string]bool) (text string, given []note, items []string) {
	for _, claim := range p.claims {
		if won != nil && !won[claim] {
			return "", nil, nil
		}
	}
	b := block.New(p.tokens, p.project)
	fresh := false
	items = slices.Clone(p.claims)
	b.Section("Likely files", filesShare)
	for _, f := range p.files {
		if b.Line(f.text) {
			items = append(items, f.items...)
			fresh = fresh || won == nil || slices.ContainsFunc(f.items, func(item string) bool { return won[item] })
		}
	}
	b.Section(p.guidanceHeading, guidanceShare)
	given = append(given, addNotes(b, p.guidance, won)...)
	b.Section(p.relatedHeading, relatedShare)
	given = append(given, addNotes(b, p.related, won)...)
	b.Section("Facts", 1)
	for _, n := range given[:min(len(given), factsOf)] {
		if n.facts == nil {
			continue
		}
		for _, fact := range n.facts() {
			b.Line(fact)
		}
	}
	if !fresh && len(given) == 0 {
		return "", nil, nil
	}
	for _, n := range given {
		items = append(items, n.id)
	}
	return b.String(), given, items
}

func addNotes(b *block.Builder, notes []note, won map[string]bool) []note {
	var added []note
	for _, n := range notes {
		if (won == nil || won[n.id]) && b.Line(n.line) {
			added = append(added, n)
		}
	}
	return added
}

// fileItem names a file among a session's claims.
func fileItem(path string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(path)) // a hash takes everything
	return fmt.Sprintf("f:%016x", h.Sum64())
}

// guides tells whether a type of record says how work is to be done.
func guides(t recordv1.ObservationType) bool {
	return slices.Contains(guidingTypes, t)
}

var guidingTypes = []recordv1.ObservationType{
	recordv1.ObservationType_OBSERVATION_TYPE_DECISION,
	recordv1.ObservationType_OBSERVATION_TYPE_PREFERENCE,
	recordv1.ObservationType_OBSERVATION_TYPE_PATTERN,
}

// noteOf makes a record's line, and those of its facts that share a word with the question.
func noteOf(r *recordv1.Record, score float64, now time.Time, terms []string) note {
	n := note{id: r.GetRecordId(), score: score}
	text := block.Clean(r.GetTitle())
	if summary := block.Sentences(block.Clean(r.GetSummary()), summaryBytes); summary != "" {
		if text != "" && !strings.ContainsAny(text[len(text)-1:], ".!?:") {
			text += "."
		}
		text = strings.TrimSpace(text + " " + summary)
	}
	n.line = fmt.Sprintf("%s (%s by %s, %s, %s)", text, typeWord(r.GetObservationType()), block.Clean(r.GetActorId()),
		age(now.Sub(r.GetValidFrom().AsTime()), r.GetValidFrom().AsTime()), r.GetRecordId())
	n.facts = sync.OnceValue(func() []string { return factLines(r, terms) })
	return n
}

func factLines(r *recordv1.Record, terms []string) []string {
	var lines []string
	for _, fact := range r.GetFacts() {
		if len(lines) < factsEach && shares(fact, terms) {
			lines = append(lines, fmt.Sprintf("%s (%s)", block.Clean(fact), r.GetRecordId()))
		}
	}
	return lines
}

// shares tells whether a text has one of the terms.
func shares(text string, terms []string) bool {
	return slices.ContainsFunc(analysis.Terms(text), func(term string) bool { return slices.Contains(terms, term) })
}

func typeWord(t recordv1.ObservationType) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(t.String(), "OBSERVATION_TYPE_")), "_", " ")
}

// age is how long ago something was, in words; a date when that is long.
func age(ago time.Duration, at time.Time) string {
	const day = 24 * time.Hour
	switch {
	case ago < time.Minute:
		return "just now"
	case ago < time.Hour:
		return count(int(ago/time.Minute), "minute")
	case ago < day:
		return count(int(ago/time.Hour), "hour")
	case ago < 60*day:
		return count(int(ago/day), "day")
	}
	return "on " + at.Format(time.DateOnly)
}

func count(n int, unit string) string {
	if n == 1 {
		return "1 " + unit + " ago"
	}
	return fmt.Sprintf("%d %ss ago", n, unit)
}
