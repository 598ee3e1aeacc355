package redact

import (
	"math"
	"strings"
)

// The bounds of what counts as a secret where only a name says so. Names of at least two words in code have less
// entropy than minEntropy bits a byte or few digits; keys made at random have more of both.
const (
	minSecret  = 8   // bytes
	longSecret = 20  // bytes; from here one digit suffices
	minEntropy = 2.5 // bits a byte
	minHex     = 16  // hexadecimal digits; shorter ones are abbreviated commits
)

// isSecret tells whether s looks as if made at random, rather than a name, a number, an identifier or a path.
func isSecret(s string) bool {
	if len(s) < minSecret || isHex(s) && len(s) < minHex || isPublic(s) || isPath(s) {
		return false
	}
	if isScrambled(s) {
		return true
	}
	c := count(s)
	if c.letters == 0 || c.digits == 0 || c.digits == 1 && len(s) < longSecret {
		return false
	}
	return !isName(s, 2) && entropy(s) >= minEntropy
}

// isPublic tells whether s is something public that looks random: a UUID, a ULID, a digest, an embedded image, a date.
func isPublic(s string) bool {
	if isUUID(s) || isULID(s) || isDate(s) {
		return true
	}
	folded := strings.ToLower(s[:min(len(s), 8)])
	for _, prefix := range [...]string{"sha1-", "sha1:", "sha256-", "sha256:", "sha384-", "sha384:", "sha512-", "sha512:", "md5:", "data:"} {
		if strings.HasPrefix(folded, prefix) {
			return true
		}
	}
	return false
}

// isUUID accepts the form 8-4-4-4-12, in braces too.
func isUUID(s string) bool {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "{"), "}")
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	return isHex(strings.ReplaceAll(s, "-", ""))
}

// isULID accepts 26 characters of Crockford's base 32 in one letter case, of which the first is at most 7.
func isULID(s string) bool {
	if len(s) != 26 || s[0] < '0' || s[0] > '7' {
		return false
	}
	const upper = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	return strings.Trim(s, upper) == "" || strings.Trim(s, strings.ToLower(upper)) == ""
}

// isDate accepts what starts like 2006-01-02.
func isDate(s string) bool {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return false
	}
	c := count(s[:10])
	return c.digits == 8
}

// isPath accepts paths and addresses; passwords in addresses have a detector of their own.
func isPath(s string) bool {
	return strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "~/") ||
		strings.HasPrefix(s, "/") && isName(s, 4) || strings.Contains(s, "://") || strings.Contains(s, `:\`)
}

// isName accepts words joined by punctuation, as in names, paths and versions. A word may end in at most digits digits.
func isName(s string, digits int) bool {
	for part := range strings.FieldsFuncSeq(s, isJoint) {
		c := count(part)
		if c.symbols > 0 || isScrambled(part) {
			return false
		}
		ending := len(part) - len(strings.TrimRight(part, "0123456789"))
		if c.letters > 0 && (c.digits > ending || ending > digits) {
			return false
		}
	}
	return true
}

func isJoint(r rune) bool { return strings.ContainsRune("-_./:@", r) }

// isScrambled tells whether letters of both cases are mixed more than words in a name are.
func isScrambled(s string) bool {
	changes := 0
	for i := 1; i < len(s); i++ {
		if kindOf(s[i]) != kindOf(s[i-1]) {
			changes++
		}
	}
	c := count(s)
	return len(s) >= 16 && c.lower > 0 && c.upper > 0 && c.symbols == 0 && 5*changes >= 2*len(s)
}

// counts says how many bytes of each kind a string has.
type counts struct{ lower, upper, letters, digits, symbols int }

func count(s string) counts {
	var c counts
	for i := range len(s) {
		switch kindOf(s[i]) {
		case 'a':
			c.lower++
		case 'A':
			c.upper++
		case '0':
			c.digits++
		default:
			c.symbols++
		}
	}
	c.letters = c.lower + c.upper
	return c
}

// kindOf maps a byte to the first of its kind: a, A, 0, or '!' for all others.
func kindOf(c byte) byte {
	switch {
	case 'a' <= c && c <= 'z':
		return 'a'
	case 'A' <= c && c <= 'Z':
		return 'A'
	case isDigit(c):
		return '0'
	}
	return '!'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// entropy is Shannon's, in bits a byte.
func entropy(s string) float64 {
	var seen [256]int
	for i := range len(s) {
		seen[s[i]]++
	}
	bits := 0.0
	for _, n := range seen {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
