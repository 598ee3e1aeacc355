package redact

import (
	"slices"
	"strconv"
)

// maxDepth is how deep objects and arrays may be nested before the rest is replaced.
const maxDepth = 200

// tooDeep replaces what is nested deeper than maxDepth.
const tooDeep = "[REDACTED:nesting]"

// Value scrubs decoded JSON: every string and every object key, as [String] does. A string under a key that names a
// credential is replaced when it looks like one. The strings of an array are pieces of one text, as in [Passage]. Objects and arrays nested deeper than 200 become a placeholder. Keys
// that become equal are told apart by a suffix, so no value is lost. The input is not changed; values of other types
// than encoding/json makes are returned as they are.
func Value(v any) any {
	return value("", v, 0)
}

// value scrubs what stands under key, or anywhere in an array under it, depth levels below the root.
func value(key string, v any, depth int) any {
	switch v := v.(type) {
	case string:
		return underName(key, String(v))
	case []any:
		if depth >= maxDepth {
			return tooDeep
		}
		return array(key, v, depth)
	case map[string]any:
		if depth >= maxDepth {
			return tooDeep
		}
		return object(v, depth)
	}
	return v
}

// array scrubs what stands in an array under key.
func array(key string, v []any, depth int) []any {
	scrubbed := make([]any, len(v))
	var passage Passage
	for i, child := range v {
		switch text, ok := child.(string); {
		case ok:
			scrubbed[i] = underName(key, passage.String(text))
		case passage.Open():
			scrubbed[i] = Redacted
		default:
			scrubbed[i] = value(key, child, depth+1)
		}
	}
	return scrubbed
}

func object(v map[string]any, depth int) map[string]any {
	scrubbed := make(map[string]any, len(v))
	names := scrubbedKeys(v)
	for key, member := range v {
		name := names[key]
		scrubbed[name] = value(memberName(v, name), member, depth+1)
	}
	return scrubbed
}

// memberName is what names the value under key: the key, or for an entry written as an object, such as
// {"name": "DB_PASSWORD", "value": …}, the entry's name.
func memberName(v map[string]any, key string) string {
	if key != "value" {
		return key
	}
	for _, member := range [...]string{"name", "key"} {
		if name, ok := v[member].(string); ok {
			return String(name)
		}
	}
	return ""
}

// scrubbedKeys gives each key of v its scrubbed form, all different. Keys that scrubbing leaves alone keep their names;
// the others follow in the order of the originals, so the result does not depend on the order of the map.
func scrubbedKeys(v map[string]any) map[string]string {
	names := make(map[string]string, len(v))
	taken := make(map[string]bool, len(v))
	var changed []string
	for key := range v {
		if String(key) != key {
			changed = append(changed, key)
			continue
		}
		names[key], taken[key] = key, true
	}
	slices.Sort(changed)
	for _, key := range changed {
		base := String(key)
		name := base
		for n := 2; taken[name]; n++ {
			name = base + "#" + strconv.Itoa(n)
		}
		names[key], taken[name] = name, true
	}
	return names
}

// underName gives a scrubbed string that stands under key, or a placeholder when the key makes a credential of it.
func underName(key, text string) string {
	if key == "" {
		return text
	}
	if kind, ok := credentialUnder(key, text); ok {
		return placeholder(kind)
	}
	return text
}
