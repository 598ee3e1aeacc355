package redact

import "slices"

// role says what happens to an element.
type role uint8

const (
	private role = iota // content is replaced by a placeholder
	fence               // removed with its content, closed or not
	noise               // removed with its content when closed
	wrapper             // the tags go, the content stays
)

// element is an element that is not kept as it is.
type element struct {
	name string // lower case
	role role
}

var elements = [...]element{
	{"private", private},
	{FenceTag, fence},
	{"system-reminder", noise},
	{"local-command-stdout", noise},
	{"local-command-stderr", noise},
	{"local-command-caveat", noise},
	{"command-name", noise},
	{"command-message", noise},
	{"command-args", noise},
	{"environment_context", noise},
	{"user_query", wrapper},
}

// tag is an opening or closing tag found in a text.
type tag struct {
	start, end int // byte offsets, end exclusive
	element    int // index in elements
	closing    bool
	empty      bool // written as <name/>
	terminated bool // ends with its own '>'
}

// nextTag finds the first tag at or after from whose element has one of the roles.
func nextTag(s string, from int, roles ...role) (tag, bool) {
	for i := from; i < len(s); i++ {
		switch s[i] {
		case '<', '\\', '&':
		default:
			continue
		}
		if t, ok := tagAt(s, i); ok && slices.Contains(roles, elements[t.element].role) {
			return t, true
		}
		if s[i] == '\\' {
			i += backslashes(s, i) - 1
		}
	}
	return tag{}, false
}

// tagAt reads a tag whose '<' starts at i, in any encoding. Without blanks after the '<' a name suffices, so that a tag
// cut short is still seen; with blanks the rest must be a whole tag, since "a < private" also occurs in code.
func tagAt(s string, i int) (tag, bool) {
	width := encoded(s, i, '<')
	if width == 0 {
		return tag{}, false
	}
	t := tag{start: i}
	at := skipBlanks(s, i+width)
	if slash := encoded(s, at, '/'); slash > 0 {
		t.closing = true
		at = skipBlanks(s, at+slash)
	}
	blanks := at > i+width && isBlank(s[i+width])
	index, ok := elementAt(s, at)
	if !ok {
		return tag{}, false
	}
	t.element = index
	at += len(elements[index].name)
	if at < len(s) && isNameByte(s[at]) {
		return tag{}, false
	}
	t.end, t.empty, t.terminated = tagEnd(s, at)
	if blanks && (!t.terminated || !continuesTag(s, at)) {
		return tag{}, false
	}
	return t, true
}

// continuesTag tells whether what follows a name at i belongs in a tag: an attribute or the tag's end.
func continuesTag(s string, i int) bool {
	at := skipBlanks(s, i)
	attribute := at > i && at < len(s) && isAlphanumeric(s[at])
	return attribute || encoded(s, at, '>') > 0 || encoded(s, at, '/') > 0
}

// elementAt tells which known element's name stands at i.
func elementAt(s string, i int) (int, bool) {
	for index := range elements {
		if hasPrefixFold(s[i:], elements[index].name) {
			return index, true
		}
	}
	return 0, false
}

// tagEnd finds the end of the tag whose name ends at i. A '>' inside a quoted attribute value does not end it. A tag that
// meets another '<' or the end of the text first is not terminated: it ends there, or after its name at the end of the text.
func tagEnd(s string, i int) (end int, empty, terminated bool) {
	for at := i; at < len(s); at++ {
		switch s[at] {
		case '=':
			at = skipQuoted(s, at)
		case '<', '>', '\\', '&':
			if width := encoded(s, at, '>'); width > 0 {
				return at + width, at > i && s[at-1] == '/', true
			}
			if encoded(s, at, '<') > 0 {
				return at, false, false
			}
		}
	}
	return i, false, false
}

// skipQuoted returns the offset of the last byte of the quoted value after the '=' at i, or i when there is none.
func skipQuoted(s string, i int) int {
	at := skipBlanks(s, i+1)
	at += backslashes(s, at)
	if at >= len(s) || s[at] != '"' && s[at] != '\'' {
		return i
	}
	for end := at + 1; end < len(s); end++ {
		if s[end] == s[at] {
			return end
		}
	}
	return i
}

func skipBlanks(s string, i int) int {
	for i < len(s) && isBlank(s[i]) {
		i++
	}
	return i
}

func isBlank(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}

// isNameByte tells whether c continues an element's name: <private-key> is another element than <private>.
func isNameByte(c byte) bool {
	return c == '-' || c == '_' || c == '.' || isAlphanumeric(c)
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// hasPrefixFold tells whether s starts with prefix, a lower-case ASCII string, in any letter case.
func hasPrefixFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if lower(s[i]) != prefix[i] {
			return false
		}
	}
	return true
}
