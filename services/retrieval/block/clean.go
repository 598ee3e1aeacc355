package block

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/kiroku-dev/kiroku/proto/redact"
)

// escapes are terminal control sequences: CSI, OSC and the other strings with their end, and two-byte ones.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])|\u009b[0-?]*[ -/]*[@-~]")

// fenceName is the fence's name in any letter case. Without its name no stored text can close the block or open another, in
// whatever encoding the rest of the tag is written.
var fenceName = regexp.MustCompile("(?i)" + regexp.QuoteMeta(redact.FenceTag))

const harmlessName = "kiroku context"

// Clean makes stored text fit to stand in the block: on one line, without control characters or terminal sequences, without anything that
// opens a tag.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsAny(s, "\x1b\u009b") {
		s = escapes.ReplaceAllString(s, "")
	}
	s = strings.Join(strings.FieldsFunc(strings.Map(visible, s), unicode.IsSpace), " ")
	if strings.Contains(strings.ToLower(s), redact.FenceTag) {
		s = fenceName.ReplaceAllString(s, harmlessName)
	}
	return strings.ReplaceAll(s, "<", "&lt;")
}

// visible drops what cannot be seen: control characters, and marks that change the direction of text or hide in it.
func visible(r rune) rune {
	switch {
	case unicode.IsSpace(r), r == '\u2028', r == '\u2029':
		return ' '
	case unicode.IsControl(r):
		return -1
	case r == '\u200d', r == '\u200c': // joiners belong to words and emoji
		return r
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
		return -1
	}
	return r
}

// Sentences is the longest run of whole sentences from the start of s that takes at most limit bytes; empty when the first is longer.
func Sentences(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := 0
	for i, r := range s {
		after := i + len(string(r))
		if after > limit {
			break
		}
		if endsSentence(r) && (after == len(s) || s[after] == ' ' || r > unicode.MaxLatin1) {
			end = after
		}
	}
	return s[:end]
}

func endsSentence(r rune) bool { return strings.ContainsRune(".!?…。！？", r) }
