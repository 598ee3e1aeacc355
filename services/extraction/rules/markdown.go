package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lineKind is what a line of Markdown is.
type lineKind int

const (
	prose lineKind = iota
	bullet
	heading
)

// unit is one sentence of a text, without its Markdown.
type unit struct {
	text string
	kind lineKind
	// label is the heading or "name:" line it stands below, when that names something of the code.
	label string
	// reason is how much it tells of causes and choices; only answers are judged.
	reason int
}

// maxUnits bounds how much of a text is looked at.
const maxUnits = 80

// units reads Markdown into sentences: code blocks and rules go, emphasis and links become plain, table rows become
// "first: second". Backquotes stay, as they set off code.
func units(text string) []unit {
	var out []unit
	label, fence := "", ""
	lines := joinWrapped(strings.Split(text, "\n"))
	for i, raw := range lines {
		line := strings.TrimSpace(raw)
		if mark := fenceMark(line); mark != "" {
			switch fence {
			case "":
				fence = mark
			case mark:
				fence = ""
			}
			continue
		}
		if fence != "" || line == "" || len(out) >= maxUnits || strings.HasPrefix(line, ">") || isTableHead(lines, i) {
			continue
		}
		plain, kind := plainLine(line)
		if plain == "" {
			continue
		}
		if kind == heading {
			label = codeLabel(plain)
			out = append(out, unit{text: plain, kind: heading})
			continue
		}
		for _, s := range sentences(plain) {
			if endsInColon(s) && weight(s) < 6 {
				label = codeLabel(s)
				continue
			}
			out = append(out, unit{text: s, kind: kind, label: label})
			label = ""
		}
	}
	return out
}

// isTableHead reports the row above a table's rule: names of columns, no content.
func isTableHead(lines []string, i int) bool {
	if i+1 >= len(lines) || !strings.HasPrefix(strings.TrimSpace(lines[i]), "|") {
		return false
	}
	rule := strings.TrimSpace(lines[i+1])
	return strings.HasPrefix(rule, "|") && strings.Trim(rule, "|-: ") == ""
}

func endsInColon(s string) bool {
	return strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：")
}

// codeLabel keeps a label that names a file or identifier; "Summary" or "Changes" tell nothing about what follows.
func codeLabel(s string) string {
	s = strings.TrimRight(strings.TrimSpace(s), ":：")
	if utf8.RuneCountInString(s) > 60 || strings.ContainsAny(s, "?!") {
		return ""
	}
	if strings.Contains(s, "`") || looksLikeFile(s) {
		return s
	}
	return ""
}

func fenceMark(line string) string {
	switch {
	case strings.HasPrefix(line, "```"):
		return "```"
	case strings.HasPrefix(line, "~~~"):
		return "~~~"
	}
	return ""
}

// joinWrapped joins lines that were broken for width: no sentence end, and the next begins in lower case.
func joinWrapped(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, line := range lines {
		n := len(out)
		if n > 0 && continues(out[n-1], line) {
			out[n-1] += " " + strings.TrimSpace(line)
			continue
		}
		out = append(out, line)
	}
	return out
}

func continues(before, line string) bool {
	before = strings.TrimSpace(before)
	if before == "" || fenceMark(before) != "" || len(before) < 40 || strings.HasPrefix(before, "#") {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(strings.TrimSpace(line))
	return unicode.IsLower(first) && (unicode.IsLetter(last) || last == ',')
}

// plainLine takes the Markdown off one line.
func plainLine(line string) (string, lineKind) {
	kind := prose
	if h := strings.TrimLeft(line, "#"); h != line && strings.HasPrefix(h, " ") {
		line, kind = h, heading
	} else if rest, ok := trimBullet(line); ok {
		line, kind = rest, bullet
	} else if strings.HasPrefix(line, "|") {
		line, kind = tableRow(line), bullet
	}
	if strings.Trim(line, "-=*_ |:") == "" {
		return "", kind
	}
	line = strings.TrimSpace(oneLine(plainInline(dropSymbols(line))))
	if rest, ok := trimBullet(line); ok {
		line = rest
	}
	return line, kind
}

func trimBullet(line string) (string, bool) {
	for _, mark := range []string{"- ", "* ", "+ ", "• ", "– "} {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			rest = strings.TrimPrefix(strings.TrimPrefix(rest, "[ ] "), "[x] ")
			return rest, true
		}
	}
	digits := 0
	for digits < len(line) && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	if digits > 0 && digits < 3 && digits+1 < len(line) && (line[digits] == '.' || line[digits] == ')') && line[digits+1] == ' ' {
		return line[digits+2:], true
	}
	return line, false
}

// tableRow makes "| a | b | c |" read "a: b, c".
func tableRow(line string) string {
	cells := strings.Split(strings.Trim(line, "| "), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if len(cells) < 2 || strings.Trim(cells[0], "-: ") == "" {
		return ""
	}
	return cells[0] + ": " + strings.Join(cells[1:], ", ")
}

// plainInline takes emphasis and links off, outside of backquotes.
func plainInline(s string) string {
	if !strings.ContainsAny(s, "*[_") {
		return s
	}
	s = strings.ReplaceAll(s, "**", "")
	s = strings.ReplaceAll(s, "__", "\x00")
	if strings.HasPrefix(s, "\x00") && strings.Count(s, "\x00") == 2 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return plainLinks(strings.ReplaceAll(s, "\x00", "__"))
}

// plainLinks keeps the words of [words](address).
func plainLinks(s string) string {
	for {
		middle := strings.Index(s, "](")
		if middle < 0 {
			return s
		}
		open := strings.LastIndexByte(s[:middle], '[')
		end := strings.IndexByte(s[middle:], ')')
		if open < 0 || end < 0 {
			return s
		}
		s = s[:open] + s[open+1:middle] + s[middle+end+1:]
	}
}

// dropSymbols removes pictures such as ✅ that carry no words.
func dropSymbols(s string) string {
	if !strings.ContainsFunc(s, isPicture) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isPicture(r) {
			return -1
		}
		return r
	}, s)
}

func isPicture(r rune) bool {
	return r >= 0x2190 && (unicode.Is(unicode.So, r) || r == 0xfe0f || r == 0x200d)
}
