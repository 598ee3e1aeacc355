// Package jsonedit changes single members and elements of a JSON file that belongs to somebody
// else, and leaves every other byte as it is: comments, order, indentation, trailing commas,
// line ends and marks.
//
// What an insertion adds, the removal of the same element takes away again.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// ErrShape means that the file is readable but not built as it should be.
var ErrShape = errors.New("unexpected structure")

// Document is a JSON file, with comments and trailing commas allowed.
type Document struct {
	mark []byte
	text []byte
	root hujson.Value
}

// Parse reads a file. An empty one is an empty object. Errors tell line and column.
func Parse(data []byte) (*Document, error) {
	d := &Document{}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		d.mark, data = data[:3], data[3:]
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}\n")
	}
	if err := d.set(data); err != nil {
		return nil, err
	}
	if _, ok := d.root.Value.(*hujson.Object); !ok {
		return nil, fmt.Errorf("%w: want an object at the top", ErrShape)
	}
	return d, nil
}

func (d *Document) set(text []byte) error {
	root, err := hujson.Parse(text)
	if err != nil {
		return err
	}
	d.text, d.root = text, root
	return nil
}

// Bytes returns the file as it is now.
func (d *Document) Bytes() []byte { return append(bytes.Clone(d.mark), d.text...) }

// Empty reports whether nothing is in the file but an empty object.
func (d *Document) Empty() bool {
	return bytes.Equal(bytes.Join(bytes.Fields(d.text), nil), []byte("{}"))
}

// span is where an element, or a member with its name, stands in the text.
type span struct{ start, end int }

// container is an object or a list: its brackets and what is between.
type container struct {
	open, close int
	items       []span
	depth       int
}

// find follows names from the top. It returns the value there, how many names were found, and
// an error when one leads through something that is no object, or is there twice.
func (d *Document) find(path []string) (*hujson.Value, int, error) {
	v := &d.root
	for i, name := range path {
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil, i, d.shape(v, "%q is not an object", strings.Join(path[:i], "."))
		}
		var next *hujson.Value
		for m := range obj.Members {
			if literal, ok := obj.Members[m].Name.Value.(hujson.Literal); ok && literal.String() == name {
				if next != nil {
					return nil, i, d.shape(&obj.Members[m].Value, "%q is there twice", name)
				}
				next = &obj.Members[m].Value
			}
		}
		if next == nil {
			return v, i, nil
		}
		v = next
	}
	return v, len(path), nil
}

func (d *Document) shape(v *hujson.Value, format string, args ...any) error {
	before := d.text[:v.StartOffset]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := v.StartOffset - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("%w: line %d, column %d: %s", ErrShape, line, column, fmt.Sprintf(format, args...))
}

func layout(v *hujson.Value, depth int) container {
	c := container{open: v.StartOffset, close: v.EndOffset - 1, depth: depth}
	switch composite := v.Value.(type) {
	case *hujson.Object:
		for _, m := range composite.Members {
			c.items = append(c.items, span{m.Name.StartOffset, m.Value.EndOffset})
		}
	case *hujson.Array:
		for _, e := range composite.Elements {
			c.items = append(c.items, span{e.StartOffset, e.EndOffset})
		}
	}
	return c
}

// Elements returns the elements of the list at path, nil when there is no such list.
func (d *Document) Elements(path []string) ([]json.RawMessage, error) {
	v, found, err := d.find(path)
	if err != nil || found < len(path) {
		return nil, err
	}
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, d.shape(v, "%q is not a list", strings.Join(path, "."))
	}
	elements := make([]json.RawMessage, len(list.Elements))
	for i, e := range list.Elements {
		standard, err := hujson.Standardize(d.text[e.StartOffset:e.EndOffset])
		if err != nil {
			return nil, err
		}
		elements[i] = standard
	}
	return elements, nil
}

// Append adds an element at the end of the list at path. The list, and the objects that lead
// to it, are made where they are missing.
func (d *Document) Append(path []string, element any) error {
	v, found, err := d.find(path)
	if err != nil {
		return err
	}
	if found == len(path) {
		if _, ok := v.Value.(*hujson.Array); !ok {
			return d.shape(v, "%q is not a list", strings.Join(path, "."))
		}
		return d.insert(layout(v, found), "", element)
	}
	if _, ok := v.Value.(*hujson.Object); !ok {
		return d.shape(v, "%q is not an object", strings.Join(path[:found], "."))
	}
	value := any([]any{element})
	for i := len(path) - 1; i > found; i-- {
		value = map[string]any{path[i]: value}
	}
	return d.insert(layout(v, found), path[found], value)
}

// Replace puts another element in the place of one.
func (d *Document) Replace(path []string, index int, element any) error {
	v, found, err := d.find(path)
	if err != nil {
		return err
	}
	c := layout(v, found)
	if found < len(path) || index >= len(c.items) {
		return fmt.Errorf("%w: no element %d in %q", ErrShape, index, strings.Join(path, "."))
	}
	text, err := d.render(element, c.depth+1, !d.multiline(c))
	if err != nil {
		return err
	}
	return d.set(splice(d.text, c.items[index], text))
}

// Remove takes an element out of the list at path. What becomes empty by that on the way to
// the list is taken out too.
func (d *Document) Remove(path []string, index int) error {
	v, found, err := d.find(path)
	if err != nil {
		return err
	}
	c := layout(v, found)
	if found < len(path) || index >= len(c.items) {
		return fmt.Errorf("%w: no element %d in %q", ErrShape, index, strings.Join(path, "."))
	}
	if err := d.remove(c, index); err != nil {
		return err
	}
	for n := len(path); n > 0; n-- {
		v, _, err := d.find(path[:n])
		if err != nil {
			return err
		}
		if inner := d.text[v.StartOffset+1 : v.EndOffset-1]; len(bytes.TrimSpace(inner)) > 0 {
			return nil
		}
		if err := d.removeMember(path[:n]); err != nil {
			return err
		}
	}
	return nil
}

func (d *Document) removeMember(path []string) error {
	last := len(path) - 1
	parent, _, err := d.find(path[:last])
	if err != nil {
		return err
	}
	obj, ok := parent.Value.(*hujson.Object)
	if !ok {
		return d.shape(parent, "%q is not an object", strings.Join(path[:last], "."))
	}
	for i, m := range obj.Members {
		if literal, ok := m.Name.Value.(hujson.Literal); ok && literal.String() == path[last] {
			return d.remove(layout(parent, last), i)
		}
	}
	return nil
}
