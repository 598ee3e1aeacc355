package redact

// Passage scrubs strings that are pieces of one text, such as the lines of a patch in a list. A private passage that one
// piece leaves open reaches into the next ones, to its closing tag or to the last piece. The zero value is ready for the
// first piece; a Passage is not safe for concurrent use.
type Passage struct {
	depth int // how many private elements are open after the pieces so far
}

// String scrubs the next piece as the function [String] does.
func (p *Passage) String(s string) string {
	if p.depth == 0 {
		if scrubbed := String(s); scrubbed == s {
			return s
		}
	}
	s = repair(s)
	cuts, depth := enclosedCuts(s, private, Redacted, p.depth)
	p.depth = depth
	return String(cut(s, cuts))
}

// Open reports whether what follows is private because an earlier piece opened a passage that is not closed yet.
func (p *Passage) Open() bool {
	return p.depth > 0
}
