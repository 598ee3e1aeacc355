package redact

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// prefilter holds the literals of all elements and detectors, and what each one may start.
type prefilter struct {
	*literalIndex
	starts [][]int // indexes in detectors, by literal; none for the name of an element
}

// literals is the prefilter, built on first use.
var literals = sync.OnceValue(func() *prefilter {
	var all []string
	var starts [][]int
	ids := map[string]int{}
	add := func(literal string, detectors ...int) {
		id, known := ids[literal]
		if !known {
			id = len(all)
			ids[literal] = id
			all, starts = append(all, literal), append(starts, nil)
		}
		starts[id] = append(starts[id], detectors...)
	}
	for i := range elements {
		add(elements[i].name)
	}
	for i := range detectors {
		for _, literal := range detectors[i].literals {
			add(literal, i)
		}
	}
	return &prefilter{newLiteralIndex(all), starts}
})

// namesElement tells whether o is the name of an element.
func (p *prefilter) namesElement(o occurrence) bool { return len(p.starts[o.literal]) == 0 }

// literalIndex finds many literals in one pass over a text, in any letter case (an Aho–Corasick automaton). Most texts
// hold none of them, and then nothing else runs.
type literalIndex struct {
	class    [256]uint8 // of each byte; 0 stands for all bytes that no literal holds
	classes  uint32
	next     []uint32   // row + class -> row of the next state, with ends set when literals end there; a row is state*classes
	found    [][]uint16 // literals that end in a state
	literals []string   // lower case
}

// ends marks a state in which literals end.
const ends = 1 << 31

// occurrence is a literal found in a text.
type occurrence struct {
	start   int // byte offset
	literal int // index in literalIndex.literals
}

// newLiteralIndex builds the automaton for literals, which are in lower case.
func newLiteralIndex(literals []string) *literalIndex {
	x := &literalIndex{literals: literals, classes: 1}
	for _, literal := range literals {
		for _, c := range []byte(literal) {
			if x.class[c] == 0 {
				x.class[c] = uint8(x.classes) //nolint:gosec // fewer than 256: literals hold no upper-case letters
				x.classes++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		x.class[c] = x.class[lower(c)]
	}
	x.addRow()
	for id, literal := range literals {
		x.insert(id, literal)
	}
	x.link()
	for i, row := range x.next {
		if len(x.found[row/x.classes]) > 0 {
			x.next[i] |= ends
		}
	}
	return x
}

func (x *literalIndex) addRow() uint32 {
	row := uint32(len(x.next)) //nolint:gosec // the table of literals is small
	x.next = append(x.next, make([]uint32, x.classes)...)
	x.found = append(x.found, nil)
	return row
}

func (x *literalIndex) insert(id int, literal string) {
	row := uint32(0)
	for _, c := range []byte(literal) {
		slot := row + uint32(x.class[c])
		if x.next[slot] == 0 {
			added := x.addRow()
			x.next[slot] = added
		}
		row = x.next[slot]
	}
	x.found[row/x.classes] = append(x.found[row/x.classes], uint16(id)) //nolint:gosec // the table of literals is small
}

// link turns the trie into an automaton, breadth first: where a state has no child, it continues as its longest proper
// suffix would.
func (x *literalIndex) link() {
	suffix := make([]uint32, len(x.found)) // row of each state's longest proper suffix
	var queue []uint32
	for _, row := range x.next[:x.classes] {
		if row != 0 {
			queue = append(queue, row)
		}
	}
	for len(queue) > 0 {
		row := queue[0]
		queue = queue[1:]
		for class := range x.classes {
			fallback := x.next[suffix[row/x.classes]+class]
			child := x.next[row+class]
			if child == 0 {
				x.next[row+class] = fallback
				continue
			}
			state := child / x.classes
			suffix[state] = fallback
			x.found[state] = append(x.found[state], x.found[fallback/x.classes]...)
			queue = append(queue, child)
		}
	}
}

// occurrences lists the literals in s by where they start, longer ones first.
func (x *literalIndex) occurrences(s string) []occurrence {
	var list []occurrence
	row := uint32(0)
	for i := range len(s) {
		entry := x.next[row+uint32(x.class[s[i]])]
		row = entry &^ ends
		if entry == row {
			continue
		}
		for _, id := range x.found[row/x.classes] {
			list = append(list, occurrence{i + 1 - len(x.literals[id]), int(id)})
		}
	}
	slices.SortFunc(list, func(a, b occurrence) int {
		return cmp.Or(a.start-b.start, len(x.literals[b.literal])-len(x.literals[a.literal]))
	})
	return list
}

// containsFold tells whether s holds one of literals, in any letter case.
func containsFold(s string, literals ...string) bool {
	folded := strings.ToLower(s)
	return slices.ContainsFunc(literals, func(literal string) bool { return strings.Contains(folded, literal) })
}
