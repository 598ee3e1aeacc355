package redact

import (
	"slices"
	"strings"
)

// replaced is a stretch of a text and what stands there instead.
type replaced struct {
	start, end int // byte offsets, end exclusive
	with       string
}

// cut applies replacements, which are sorted and do not overlap.
func cut(s string, cuts []replaced) string {
	if len(cuts) == 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	kept := 0
	for _, c := range cuts {
		b.WriteString(s[kept:c.start])
		b.WriteString(c.with)
		kept = c.end
	}
	b.WriteString(s[kept:])
	return b.String()
}

func privateCuts(s string) []replaced {
	cuts, _ := enclosedCuts(s, private, Redacted, 0)
	return cuts
}

// fenceCuts removes injected blocks together with the quotation marks of a line that was quoted in a reply.
func fenceCuts(s string) []replaced {
	cuts, _ := enclosedCuts(s, fence, "", 0)
	kept := 0
	for i := range cuts {
		cuts[i].start = max(kept, quoteStart(s, cuts[i].start))
		cuts[i] = wholeLine(s, cuts[i])
		kept = cuts[i].end
	}
	return cuts
}

// enclosedCuts replaces each outermost element of a role. One that is never closed reaches to the end: a closing tag may
// have been cut off, and what it enclosed must not be kept for that. Closing tags without an opening one are dropped. An
// opening tag written as empty, <private/>, opens a private passage all the same. depth is how many elements are open
// where s begins; the number that are open at its end is returned.
func enclosedCuts(s string, r role, with string, depth int) ([]replaced, int) {
	var cuts []replaced
	start := 0
	for t, ok := nextTag(s, 0, r); ok; t, ok = nextTag(s, t.end, r) {
		switch {
		case t.closing && depth == 0:
			cuts = append(cuts, replaced{t.start, t.end, ""})
		case t.closing && t.terminated:
			depth--
			if depth == 0 {
				cuts = append(cuts, replaced{start, t.end, with})
			}
		case t.closing:
		case t.empty && r != private:
			if depth == 0 {
				cuts = append(cuts, replaced{t.start, t.end, with})
			}
		default:
			if depth == 0 {
				start = t.start
			}
			depth++
		}
	}
	if depth > 0 {
		cuts = append(cuts, replaced{start, len(s), with})
	}
	return cuts, depth
}

// noiseCuts removes closed noise elements and the tags of wrappers. An unclosed noise element stays: it is harmless, and
// the developer's own words may follow it.
func noiseCuts(s string) []replaced {
	var cuts []replaced
	var open [len(elements)][]int
	for t, ok := nextTag(s, 0, noise, wrapper); ok; t, ok = nextTag(s, t.end, noise, wrapper) {
		starts := open[t.element]
		switch {
		case !t.terminated:
		case elements[t.element].role == wrapper, t.empty:
			cuts = append(cuts, replaced{t.start, t.end, ""})
		case !t.closing:
			open[t.element] = append(starts, t.start)
		case len(starts) > 0:
			cuts = append(cuts, wholeLine(s, replaced{starts[len(starts)-1], t.end, ""}))
			open[t.element] = starts[:len(starts)-1]
		}
	}
	return union(cuts)
}

// union sorts removals and joins those that overlap.
func union(cuts []replaced) []replaced {
	slices.SortFunc(cuts, func(a, b replaced) int { return a.start - b.start })
	joined := cuts[:0]
	for _, c := range cuts {
		if last := len(joined) - 1; last >= 0 && c.start < joined[last].end {
			joined[last].end = max(joined[last].end, c.end)
			continue
		}
		joined = append(joined, c)
	}
	return joined
}

// quoteStart moves i back over the marks of a quoted line ("> > ") when nothing else stands before it on the line.
func quoteStart(s string, i int) int {
	start := i
	for start > 0 && (s[start-1] == '>' || s[start-1] == ' ' || s[start-1] == '\t') {
		start--
	}
	if start > 0 && s[start-1] != '\n' || !strings.Contains(s[start:i], ">") {
		return i
	}
	return start
}

// wholeLine lets a removal that fills whole lines take the line break with it.
func wholeLine(s string, c replaced) replaced {
	startsLine := c.start == 0 || s[c.start-1] == '\n'
	if startsLine && c.end < len(s) && s[c.end] == '\n' {
		c.end++
	}
	return c
}
