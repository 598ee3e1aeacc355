// Package redact removes private passages, the product's own injected text, harness noise and credentials from what
// developers say and do, before any of it is stored, queued, logged or sent to a model.
//
// It works on decoded strings: a tag written as "\u003cprivate\u003e" in JSON is the same tag. Every function is safe for
// concurrent use, leaves its input alone, and is idempotent: scrubbing twice gives what scrubbing once gave. When a text
// cannot be understood, more of it is removed, never less.
//
// Programs that must start fast link this package, so nothing is built when it is initialised: patterns and the
// literal index are made on first use.
package redact

import "slices"

const (
	// Redacted replaces a private passage. Placeholders of credentials also name the kind: "[REDACTED:github-token]".
	Redacted = "[REDACTED]"
	// FenceTag is the name of the element around text that the product itself injects into a prompt.
	FenceTag = "kiroku-context"
)

// maxPasses bounds how often a text is scrubbed until it no longer changes. A removal can join the halves of another
// tag; real texts settle on the second pass.
const maxPasses = 8

// String scrubs one decoded string. In this order: invalid UTF-8 and NUL become U+FFFD; private passages become
// [Redacted]; injected blocks and harness noise are removed; credentials become placeholders that name their kind.
// An unclosed private passage or injected block reaches to the end of the string. A text that never settles, which
// only deliberate nesting achieves, is replaced as a whole.
func String(s string) string {
	s = repair(s)
	for range maxPasses {
		next := scrub(s)
		if next == s {
			return s
		}
		s = next
	}
	return Redacted
}

// scrub is one pass over a string that is valid UTF-8.
func scrub(s string) string {
	known := literals()
	found := known.occurrences(s)
	if len(found) == 0 {
		return s
	}
	if slices.ContainsFunc(found, known.namesElement) {
		stripped := cut(s, privateCuts(s))
		stripped = cut(stripped, fenceCuts(stripped))
		stripped = cut(stripped, noiseCuts(stripped))
		if stripped != s {
			s, found = stripped, known.occurrences(stripped)
		}
	}
	return known.replaceCredentials(s, found)
}
