package agent

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxInjected is the most characters that an answer carries: below the limit of every agent
// that documents one.
const MaxInjected = 9000

// Injectable makes recalled text fit to be shown to a model: without control characters, and
// cut between two lines when it is longer than MaxInjected characters, with its last line (the
// closing fence) kept.
func Injectable(text string) string {
	text = strings.TrimSpace(strings.Map(printable, strings.ToValidUTF8(text, "\ufffd")))
	if utf8.RuneCountInString(text) <= MaxInjected {
		return text
	}
	body, fence := text, ""
	if i := strings.LastIndexByte(text, '\n'); i >= 0 && utf8.RuneCountInString(text[i:]) < MaxInjected/10 {
		body, fence = text[:i], text[i:]
	}
	room := MaxInjected - utf8.RuneCountInString(fence)
	for i := range body {
		if room == 0 {
			body = body[:i]
			break
		}
		room--
	}
	if i := strings.LastIndexByte(body, '\n'); i > 0 {
		body = body[:i]
	}
	return body + fence
}

// printable drops control and format characters that could steer a terminal or hide text, but
// keeps what lays text out and joins letters.
func printable(r rune) rune {
	switch {
	case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d':
		return r
	case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
		return -1
	}
	return r
}

// Plain renders text for agents that take stdout as it is. Some of them read a leading brace
// or bracket as a document of their own, so text never starts with one.
func Plain(text string) []byte {
	text = Injectable(text)
	if text == "" {
		return nil
	}
	if text[0] == '{' || text[0] == '[' {
		text = "Recalled notes:\n" + text
	}
	return []byte(text + "\n")
}
