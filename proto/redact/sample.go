package redact

import (
	"strings"
)

// nameBytes are the bytes of names in code.
const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// sampleParts are in values that documentation shows instead of real ones.
var sampleParts = [...]string{
	"example", "changeme", "change-me", "change_me", "placeholder", "your-", "your_", "yourtoken", "yourkey", "yourpassword",
	"-here", "_here", "xxxx", "***", "...", "…", "${", "$(", "{{", "}}",
}

// isSample tells whether a value stands for a credential without being one: a documented sample, a variable, a mask.
func isSample(s string) bool {
	if strings.HasPrefix(s, "<") && strings.HasSuffix(s, ">") || strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") {
		return true
	}
	if strings.HasPrefix(s, "%") && (len(s) == 2 || strings.HasSuffix(s, "%")) {
		return true
	}
	if rest, ok := strings.CutPrefix(s, "$"); ok && rest != "" && !isDigit(rest[0]) && strings.Trim(rest, nameBytes) == "" {
		return true
	}
	return isMask(s) || containsFold(s, sampleParts[:]...)
}

// isMask tells whether s repeats one character, as "xxxxxx" and "••••" do.
func isMask(s string) bool {
	first := ""
	for _, r := range s {
		if first == "" {
			first = string(r)
		}
		if string(r) != first {
			return false
		}
	}
	return true
}
