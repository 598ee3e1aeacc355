package redact

import (
	"encoding/base64"
	"strings"
)

// credentialUnder tells the kind of credential that text is when it stands under key in decoded JSON.
func credentialUnder(key, text string) (kind string, ok bool) {
	if strings.Contains(text, openPlaceholder) || isSample(text) {
		return "", false
	}
	known := literals()
	quoted := `"` + key + `"` // some literals are names with their quotes
	for _, o := range known.occurrences(quoted) {
		if insidePlaceholder(quoted, o.start) {
			continue
		}
		end := o.start + len(known.literals[o.literal])
		m := match{value: text, prefix: strings.TrimSuffix(quoted[:end], `"`), suffix: strings.TrimSuffix(quoted[end:], `"`)}
		for _, index := range known.starts[o.literal] {
			if d := &detectors[index]; d.assigned && d.accepts(m) {
				return d.kind, true
			}
		}
	}
	return "", false
}

// accepts tells whether a whole JSON string is a credential of d's kind: one word, or two in an authorization header.
func (d *detector) accepts(m match) bool {
	if scheme, value, found := strings.Cut(m.value, " "); found && d.kind == "authorization" && isName(scheme, 0) {
		m.value = value
		return !isSample(value) && isWord(value) && written(m)
	}
	return isWord(m.value) && d.check(m)
}

func isWord(s string) bool {
	return s != "" && !strings.ContainsAny(s, " \t\r\n")
}

// secretPassword tells whether a value assigned to a password is one. People choose short ones, so length says little.
func secretPassword(m match) bool {
	if !namesCredential(m) || isCode(m) || isPublic(m.value) || isPath(m.value) || isDirectory(m) {
		return false
	}
	c := count(m.value)
	if c.letters == 0 && c.symbols == 0 {
		return false
	}
	return (c.digits > 0 || c.symbols > 0) && !isName(m.value, 0) || isScrambled(m.value)
}

// isDirectory tells whether the name is that of the shell's working directory.
func isDirectory(m match) bool {
	return strings.HasSuffix(m.prefix, "PWD") && m.suffix == "" && strings.HasPrefix(m.value, "/")
}

// secretValue tells whether a value assigned to a secret, token or key is one.
func secretValue(m match) bool {
	return namesCredential(m) && !isCode(m) && isSecret(m.value)
}

// secretArgument is secretPassword for a value that follows a command's option.
func secretArgument(m match) bool {
	m.prefix, m.suffix = "", ""
	return secretPassword(m)
}

// unbroken is how long a run of letters and digits must be to be no name, whatever it is made of.
const unbroken = 20

// random accepts a value that no person would write as a name.
func random(m match) bool { return isSecret(m.value) || longestRun(m.value) >= 2*unbroken }

// varied accepts a token that has letters beside digits, or is long: a prefix alone also starts ordinary names.
func varied(m match) bool {
	rest := m.value[min(len(m.value), len("sk-x")):]
	c := count(rest)
	return c.letters > 0 && c.digits > 0 || longestRun(rest) >= unbroken
}

// longestRun is the length of the longest run of letters and digits in s.
func longestRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		run++
		if !isAlphanumeric(s[i]) {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// written accepts what stands in an authorization header, other than a variable's name.
func written(m match) bool {
	return !isName(m.value, 0) && !strings.HasPrefix(m.value, "$") && !strings.HasPrefix(m.value, "{")
}

// namesUser accepts the base64 form of "user:password".
func namesUser(m match) bool {
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(m.value, "="))
	return err == nil && strings.IndexByte(string(decoded), ':') > 0 && isPrintable(decoded)
}

func isPrintable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return true
}

// otherSuffixes end names that hold something about a credential, not the credential.
var otherSuffixes = [...]string{
	"id", "name", "type", "file", "path", "dir", "url", "uri", "endpoint", "count", "limit", "length", "version", "arn", "ref",
	"format", "algorithm", "field", "label", "policy", "rule", "rules", "regex", "pattern",
}

// namesCredential tells whether a name with the keyword in it names a credential: not "tokenizer", "secretName".
func namesCredential(m match) bool {
	suffix := strings.TrimPrefix(strings.TrimPrefix(m.suffix, "s"), "S")
	if suffix == "" {
		return true
	}
	folded := strings.ToLower(suffix)
	for _, other := range otherSuffixes {
		if strings.HasSuffix(folded, other) {
			return false
		}
	}
	last := m.prefix[max(0, len(m.prefix)-1):]
	return !continuesWord(last, suffix) || strings.HasPrefix(folded, "key")
}

// continuesWord tells whether suffix goes on with the word that ends in last, in the same letter case.
func continuesWord(last, suffix string) bool {
	isUpper := last != "" && 'A' <= last[0] && last[0] <= 'Z'
	if isUpper {
		return 'A' <= suffix[0] && suffix[0] <= 'Z'
	}
	return 'a' <= suffix[0] && suffix[0] <= 'z'
}

// isCode tells whether a bare value is an expression: a call, an index, a variable, a member of something.
func isCode(m match) bool {
	if !m.bare {
		return false
	}
	if strings.IndexByte("([{<", m.next) >= 0 && m.next != 0 {
		return true
	}
	if strings.HasPrefix(m.value, "$") && len(m.value) > 1 && !isDigit(m.value[1]) {
		return true
	}
	return isMember(m.value)
}

// isMember tells whether s is a chain of short names such as config.auth2.token.
func isMember(s string) bool {
	parts := strings.Split(strings.ReplaceAll(strings.TrimRight(s, "."), "?", ""), ".")
	if len(parts) < 2 {
		return false
	}
	for _, part := range parts {
		if part == "" || len(part) > 24 || isDigit(part[0]) || strings.Trim(part, nameBytes) != "" {
			return false
		}
	}
	return true
}
