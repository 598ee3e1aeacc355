package redact

import "strings"

// keyMaterial is how many base64 characters after a header tell a key from the header being talked about.
const keyMaterial = 8

// privateKeyBlock gives how far a private key block reaches after its header: to the end of its footer, or, cut short, to
// the end of the text. It is 0 when no key follows.
func privateKeyBlock(text string) int {
	const footer, dashes = "-----END ", "-----"
	block := text
	if another := strings.Index(text, "-----BEGIN "); another >= 0 {
		block = text[:another] // bounds the search, so that many headers take no quadratic time
	}
	if at := strings.Index(block, footer); at >= 0 {
		end := at + len(footer)
		if closing := strings.Index(text[end:min(len(text), end+64)], dashes); closing >= 0 {
			return end + closing + len(dashes)
		}
		return len(text)
	}
	if startsWithKey(text) {
		return len(text)
	}
	return 0
}

// startsWithKey tells whether, past line breaks in any notation, a line of base64 or a header line of the block follows.
func startsWithKey(text string) bool {
	rest := strings.TrimLeft(text[:min(len(text), 256)], " \t\r\n\"'+>|,")
	for strings.HasPrefix(rest, `\`) {
		rest = strings.TrimLeft(strings.TrimLeft(rest, `\`), "nrt\"'+ \r\n\t")
	}
	if hasPrefixFold(rest, "proc-type:") || hasPrefixFold(rest, "version:") || hasPrefixFold(rest, "comment:") {
		return true
	}
	run := len(rest) - len(strings.TrimLeft(rest, nameBytes+"+/="))
	return run >= keyMaterial && (run == len(rest) || rest[run] != ' ')
}
