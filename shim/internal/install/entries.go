package install

import (
	"bytes"
	"encoding/json"

	"github.com/kiroku-dev/kiroku/shim/internal/install/jsonedit"
)

// wanted is an element that a list in a file shall hold.
type wanted struct {
	path    []string
	element any
	// ours tells whether an element is one of ours, of this agent.
	ours func(json.RawMessage) bool
}

// put makes each list hold its element once: added at the end, or brought up to date where an
// older one of ours stands.
func put(before []byte, all []wanted) ([]byte, error) {
	d, err := jsonedit.Parse(before)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		if err := w.put(d); err != nil {
			return nil, err
		}
	}
	return d.Bytes(), nil
}

func (w wanted) put(d *jsonedit.Document) error {
	elements, err := d.Elements(w.path)
	if err != nil {
		return err
	}
	for i, element := range elements {
		if !w.ours(element) {
			continue
		}
		if same(element, w.element) {
			return nil
		}
		return d.Replace(w.path, i, w.element)
	}
	return d.Append(w.path, w.element)
}

// take removes our elements. Nothing is left of a file that held nothing else.
func take(before []byte, all []wanted) ([]byte, error) {
	if before == nil {
		return nil, nil
	}
	d, err := jsonedit.Parse(before)
	if err != nil {
		return nil, err
	}
	removed := false
	for _, w := range all {
		elements, err := d.Elements(w.path)
		if err != nil {
			return nil, err
		}
		for i := len(elements) - 1; i >= 0; i-- {
			if w.ours(elements[i]) {
				removed = true
				if err := d.Remove(w.path, i); err != nil {
					return nil, err
				}
			}
		}
	}
	switch {
	case !removed:
		return before, nil
	case d.Empty():
		return nil, nil
	}
	return d.Bytes(), nil
}

func same(element json.RawMessage, want any) bool {
	text, err := json.Marshal(want)
	if err != nil {
		return false
	}
	return bytes.Equal(canonical(element), canonical(text))
}

func canonical(data []byte) []byte {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return data
	}
	text, err := json.Marshal(v)
	if err != nil {
		return data
	}
	return text
}

// whole writes a file that is ours alone. One that somebody else made is refused.
func whole(r Request, document any, commands func([]byte) []string) target {
	return target{
		install: func(before []byte) ([]byte, error) {
			if len(bytes.TrimSpace(before)) > 0 && !oneIsOurs(commands(before), "") {
				return nil, errForeign
			}
			return encode(document)
		},
		uninstall: func(before []byte) ([]byte, error) {
			if oneIsOurs(commands(before), r.Agent) {
				return nil, nil
			}
			return before, nil
		},
	}
}

// oneIsOurs reports whether a command line is ours, of an agent unless that is "".
func oneIsOurs(lines []string, agent string) bool {
	for _, line := range lines {
		if named := agentOf(line); named != "" && (agent == "" || named == agent) {
			return true
		}
	}
	return false
}

func encode(document any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(document)
	return buf.Bytes(), err
}
