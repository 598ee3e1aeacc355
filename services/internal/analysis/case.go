package analysis

import "unicode"

// splitCase cuts an identifier where its capitals say so: parseHTTPRequest into
// parse, HTTP and Request. Digits stay with what precedes them (utf8String is
// utf8 and String); a plural s stays with its abbreviation (userIDs is user and
// IDs); codes without small letters (E0502, 42P01) stay whole.
func splitCase(s string) []string {
	if !mayBeCased(s) {
		return []string{s}
	}
	runes := []rune(s)
	var segments []string
	start := 0
	for i := 1; i < len(runes); i++ {
		if boundary(runes, i) {
			segments = append(segments, string(runes[start:i]))
			start = i
		}
	}
	return append(segments, string(runes[start:]))
}

// mayBeCased is the quick test: a capital behind the first rune, and a small
// letter somewhere.
func mayBeCased(s string) bool {
	capital, small := false, false
	for i, r := range s {
		capital = capital || (i > 0 && unicode.IsUpper(r))
		small = small || unicode.IsLower(r)
	}
	return capital && small
}

// boundary reports that a segment begins at runes[i].
func boundary(runes []rune, i int) bool {
	if !unicode.IsUpper(runes[i]) {
		return false
	}
	if unicode.IsLower(runes[i-1]) {
		return true
	}
	// The last capital of a run belongs to the word that follows it.
	return i+1 < len(runes) && unicode.IsLower(runes[i+1]) && !pluralAt(runes, i+1)
}

// pluralAt reports that runes[i] is the s of a plural abbreviation: at the end,
// or before the next capital.
func pluralAt(runes []rune, i int) bool {
	if runes[i] != 's' || i < 2 || !unicode.IsUpper(runes[i-2]) {
		return false
	}
	return i+1 == len(runes) || unicode.IsUpper(runes[i+1])
}
