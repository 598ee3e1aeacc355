package redact

import (
	"strings"
	"unicode/utf8"
)

// replacement stands for what cannot be stored as text: databases refuse NUL and invalid UTF-8.
const replacement = string(utf8.RuneError)

// repair makes s valid UTF-8 without NUL.
func repair(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, replacement)
	}
	if strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(s, "\x00", replacement)
}
