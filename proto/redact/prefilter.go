package redact

import (
	"cmp"
	"slices"
	"strings"
)

// literalIndex finds many literals in one pass over a text, in any letter case (an Aho–Corasick automaton). Most texts
// hold none of them, and then no pattern runs at all.
type literalIndex struct {
	class    [256]uint8 // of each byte; 0 stands for all bytes that no literal holds
	classes  int
	next     []uint16   // state*classes + class -> state
	found    [][]uint16 // literals that end in a state
	literals []string   // lower case
}

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
				x.class[c] = uint8(x.classes) //nolint:gosec // at most 256 distinct bytes, and upper-case ones are not used
				x.classes++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		x.class[c] = x.class[lower(c)]
	}
	x.addState()
	for id, literal := range literals {
		x.insert(id, literal)
	}
	x.link()
	return x
}

func (x *literalIndex) addState() uint16 {
	x.next = append(x.next, make([]uint16, x.classes)...)
	x.found = append(x.found, nil)
	return uint16(len(x.found) - 1) //nolint:gosec // the table of literals is small
}

func (x *literalIndex) insert(id int, literal string) {
	state := uint16(0)
	for _, c := range []byte(literal) {
		slot := int(state)*x.classes + int(x.class[c])
		if x.next[slot] == 0 {
			added := x.addState()
			x.next[slot] = added
		}
		state = x.next[slot]
	}
	x.found[state] = append(x.found[state], uint16(id)) //nolint:gosec // the table of literals is small
}

// link turns the trie into an automaton, breadth first: where a state has no child, it continues as its longest proper
// suffix would.
func (x *literalIndex) link() {
	suffix := make([]uint16, len(x.found))
	var queue []uint16
	for _, state := range x.next[:x.classes] {
		if state != 0 {
			queue = append(queue, state)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		for class := range x.classes {
			slot := int(state)*x.classes + class
			fallback := x.next[int(suffix[state])*x.classes+class]
			child := x.next[slot]
			if child == 0 {
				x.next[slot] = fallback
				continue
			}
			suffix[child] = fallback
			x.found[child] = append(x.found[child], x.found[fallback]...)
			queue = append(queue, child)
		}
	}
}

// occurrences lists the literals in s by where they start, longer ones first.
func (x *literalIndex) occurrences(s string) []occurrence {
	var list []occurrence
	state := 0
	for i := range len(s) {
		state = int(x.next[state*x.classes+int(x.class[s[i]])])
		for _, id := range x.found[state] {
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
