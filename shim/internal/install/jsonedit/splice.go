package jsonedit

import (
	"bytes"
	"encoding/json"
	"strings"
)

const space = " \t\r\n"

// splice replaces a stretch of the text.
func splice(text []byte, s span, with string) []byte {
	out := make([]byte, 0, len(text)+len(with))
	out = append(out, text[:s.start]...)
	out = append(out, with...)
	return append(out, text[s.end:]...)
}

// insert adds an item at the end of a container; name is that of a member, "" in a list. A
// comment behind the item before stays where it is.
func (d *Document) insert(c container, name string, value any) error {
	compact := len(c.items) > 0 && !d.multiline(c)
	text, err := d.render(value, c.depth+1, compact)
	if err != nil {
		return err
	}
	if name != "" {
		text = quote(name) + ": " + text
	}
	if len(c.items) == 0 {
		inner := strings.TrimRight(string(d.text[c.open+1:c.close]), space)
		text = inner + d.newline() + d.indent(c.depth+1) + text + d.newline() + d.indent(c.depth)
		return d.set(splice(d.text, span{c.open + 1, c.close}, text))
	}
	last := c.items[len(c.items)-1].end
	tail := string(d.text[last:c.close])
	head := strings.TrimRight(tail, space)
	ending := tail[len(head):]
	separator := d.newline() + d.indent(c.depth+1)
	if compact {
		separator = " "
	}
	if rest, trailing := strings.CutPrefix(strings.TrimLeft(head, space), ","); trailing {
		return d.set(splice(d.text, span{last, c.close}, ","+rest+separator+text+","+ending))
	}
	return d.set(splice(d.text, span{last, c.close}, ","+head+separator+text+ending))
}

// remove takes one item out, with the comma that belongs to it, and keeps comments.
func (d *Document) remove(c container, i int) error {
	item := c.items[i]
	switch {
	case len(c.items) == 1:
		before := strings.TrimRight(string(d.text[c.open+1:item.start]), space)
		after := strings.TrimPrefix(strings.TrimLeft(string(d.text[item.end:c.close]), space), ",")
		rest := before + after
		if strings.TrimSpace(rest) == "" {
			rest = ""
		}
		return d.set(splice(d.text, span{c.open + 1, c.close}, rest))
	case i < len(c.items)-1:
		next := c.items[i+1].start
		between := strings.TrimLeft(strings.Replace(string(d.text[item.end:next]), ",", "", 1), space)
		return d.set(splice(d.text, span{item.start, next}, between))
	}
	previous := c.items[i-1].end
	between := string(d.text[previous:item.start])
	between = strings.TrimRight(strings.Replace(between, ",", "", 1), space)
	return d.set(splice(d.text, span{previous, item.end}, between))
}

// multiline reports whether a container's items stand on lines of their own.
func (d *Document) multiline(c container) bool {
	if len(c.items) == 0 {
		return true
	}
	return bytes.ContainsRune(d.text[c.open:c.items[0].start], '\n')
}

func (d *Document) newline() string {
	if bytes.Contains(d.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// indent is the white space before a line at some depth, in the file's own unit.
func (d *Document) indent(depth int) string { return strings.Repeat(d.unit(), depth) }

// unit is the white space before the first member, two spaces when it tells nothing.
func (d *Document) unit() string {
	top := layout(&d.root, 0)
	if len(top.items) > 0 {
		before := d.text[:top.items[0].start]
		if i := bytes.LastIndexByte(before, '\n'); i >= top.open {
			if unit := string(before[i+1:]); unit != "" && strings.Trim(unit, " \t") == "" {
				return unit
			}
		}
	}
	return "  "
}

func (d *Document) render(value any, depth int, compact bool) (string, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if !compact {
		encoder.SetIndent(d.indent(depth), d.unit())
	}
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.ReplaceAll(strings.TrimSuffix(buf.String(), "\n"), "\n", d.newline()), nil
}

func quote(name string) string {
	data, err := json.Marshal(name)
	if err != nil {
		return `""`
	}
	return string(data)
}
