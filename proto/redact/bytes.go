package redact

// maxEscaping is how often a text may have been put into a JSON string within another and still be searched.
const maxEscaping = 4

// Bytes scrubs raw bytes that may be cut short or not be JSON at all. Valid JSON is treated as [JSON] does. Anything else
// is treated as text in which JSON escapes may stand for other characters. Where a passage ends cannot be told then, so
// everything from the first private tag on, in any escaped form, is removed. When a credential or an injected block shows
// only in an unescaped form, the text comes back in that form.
func Bytes(raw []byte) []byte {
	if scrubbed, err := JSON(raw); err == nil {
		return scrubbed
	}
	text := String(cutPrivate(repair(string(raw)), maxEscaping))
	plain := text
	for range maxEscaping {
		unescaped := repair(unescape(plain))
		if unescaped == plain {
			break
		}
		plain = String(unescaped)
		if plain != unescaped {
			text = plain
		}
	}
	return []byte(text)
}

// cutPrivate replaces everything from the first private tag on, which may show only after unescaping s up to levels times.
func cutPrivate(s string, levels int) string {
	if start := privateStart(s, levels); start >= 0 {
		return s[:start] + Redacted
	}
	return s
}

// privateStart gives the offset of the first opening private tag in s or in one of its unescaped forms, or -1.
func privateStart(s string, levels int) int {
	first := -1
	for t, ok := nextTag(s, 0, private); ok; t, ok = nextTag(s, t.end, private) {
		if !t.closing {
			first = t.start
			break
		}
	}
	plain := unescape(s)
	if levels == 0 || plain == s {
		return first
	}
	if start := privateStart(plain, levels-1); start >= 0 {
		if at := escapedOffset(s, start); first < 0 || at < first {
			return at
		}
	}
	return first
}
