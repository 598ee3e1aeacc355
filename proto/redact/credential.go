package redact

import (
	"strings"
)

// A pattern sees so many bytes from a literal on. A value that reaches the end of them is followed further by hand, so the
// time a text takes does not grow with the square of its length.
const (
	window           = 512 // holds the header of a JWT and the start of its payload
	contextualWindow = 256
)

// match is a possible credential.
type match struct {
	start, end int    // byte offsets of the value in the text
	value      string // as far as the pattern saw it
	cut        bool   // the value reaches the end of what the pattern saw
	bare       bool   // it is not quoted
	next       byte   // what follows it, or 0
	prefix     string // the keyword before it, as written
	suffix     string // the rest of the name after the keyword
}

// openPlaceholder starts every placeholder.
const openPlaceholder = "[REDACTED"

// placeholder replaces a credential of a kind.
func placeholder(kind string) string {
	return openPlaceholder + ":" + kind + "]"
}

// replaceCredentials replaces the credentials in s, whose literals are found, by placeholders.
func (p *prefilter) replaceCredentials(s string, found []occurrence) string {
	if cuts := p.cuts(s, found, false); len(cuts) > 0 {
		s = cut(s, cuts)
		found = p.occurrences(s)
	}
	return cut(s, p.cuts(s, found, true))
}

// cuts tries the detectors, contextual or not, that the occurrences start.
func (p *prefilter) cuts(s string, found []occurrence, contextual bool) []replaced {
	var cuts []replaced
	kept := 0
	for _, o := range found {
		if o.start < kept || insidePlaceholder(s, o.start) {
			continue
		}
		for _, index := range p.starts[o.literal] {
			d := &detectors[index]
			if d.contextual != contextual {
				continue
			}
			m, ok := d.matchAt(s, o.start)
			if !ok {
				continue
			}
			if c, ok := d.credential(s, m); ok {
				cuts = append(cuts, c)
				kept = c.end
				break
			}
			if !contextual {
				kept = m.end // a token that was refused holds no other of its kind
			}
		}
	}
	return cuts
}

// matchAt applies the pattern at i.
func (d *detector) matchAt(s string, i int) (match, bool) {
	size := contextualWindow
	if !d.contextual {
		size = window
		if !startsWord(s, i) {
			return match{}, false
		}
	}
	re := d.regexp()
	seen := s[i:min(len(s), i+size)]
	groups := re.FindStringSubmatchIndex(seen)
	if groups == nil {
		return match{}, false
	}
	start, end, bare := valueGroup(re.SubexpIndex("value"), re.SubexpIndex("bare"), groups)
	m := match{start: i + start, end: i + end, value: seen[start:end], bare: bare, cut: end == size}
	if suffix := re.SubexpIndex("suffix"); suffix > 0 {
		m.prefix, m.suffix = seen[:groups[2*suffix]], seen[groups[2*suffix]:groups[2*suffix+1]]
	}
	if end < len(seen) {
		m.next = seen[end]
	}
	return m, true
}

// credential tells what to replace when m is a credential.
func (d *detector) credential(s string, m match) (replaced, bool) {
	if strings.Contains(m.value, openPlaceholder) || d.check != nil && !d.check(m) || isSample(m.value) {
		return replaced{}, false
	}
	c := replaced{m.start, m.end, placeholder(d.kind)}
	switch {
	case d.extent != nil:
		length := d.extent(s[m.end:])
		c.end += length
		return c, length > 0
	case m.cut:
		c.end = endOfWord(s, m.end)
	}
	return c, true
}

// valueGroup picks the group to replace out of a match's indexes: "value", else "bare", else the whole match. The groups'
// numbers are negative when the pattern has no such group.
func valueGroup(value, bare int, groups []int) (start, end int, isBare bool) {
	if value > 0 && groups[2*value] >= 0 {
		return groups[2*value], groups[2*value+1], false
	}
	if bare > 0 && groups[2*bare] >= 0 {
		return groups[2*bare], groups[2*bare+1], true
	}
	return groups[0], groups[1], false
}

// endOfWord follows a value that is longer than the window to where it must end.
func endOfWord(s string, i int) int {
	if end := strings.IndexAny(s[i:], " \t\r\n\"'`\\<>,;&(){}|@"); end >= 0 {
		return i + end
	}
	return len(s)
}

// insidePlaceholder tells whether i is inside the name of a kind that a placeholder gives.
func insidePlaceholder(s string, i int) bool {
	start := i
	for start > 0 && i-start < 40 && (s[start-1] == '-' || 'a' <= s[start-1] && s[start-1] <= 'z') {
		start--
	}
	return strings.HasSuffix(s[:start], openPlaceholder+":")
}

// startsWord tells whether a token can start at i. Escapes such as \n, %3D and terminal colours end in letters or digits
// and yet are no part of a token that follows them.
func startsWord(s string, i int) bool {
	if i == 0 || !isAlphanumeric(s[i-1]) {
		return true
	}
	if i >= 2 && s[i-2] == '\\' && strings.IndexByte("nrtbf", s[i-1]) >= 0 {
		return true
	}
	if i >= 3 && s[i-3] == '%' && isHex(s[i-2:i]) {
		return true
	}
	return s[i-1] == 'm' && endsColour(s[:i-1])
}

// endsColour tells whether s ends in the parameters of a terminal colour, such as "[1;32".
func endsColour(s string) bool {
	trimmed := strings.TrimRight(s[max(0, len(s)-12):], "0123456789;")
	return strings.HasSuffix(trimmed, "[")
}
