package redact

// Bytes scrubs raw bytes that may be cut short or not be JSON at all. Valid JSON is treated as [JSON] does. Anything else
// is treated as text: from the first private tag, in any escaped form, everything to the end is removed.
func Bytes(raw []byte) []byte {
	if scrubbed, err := JSON(raw); err == nil {
		return scrubbed
	}
	text := repair(string(raw))
	if t, ok := nextTag(text, 0, private); ok {
		text = text[:t.start] + Redacted
	}
	return []byte(String(text))
}
