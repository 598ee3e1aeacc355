package rules

import (
	"slices"
	"strings"
)

// command is one command line, read for what it does.
type command struct {
	// display is the telling part, without directory changes, pipes and redirections.
	display string
	class   commandClass
	// parts are the telling sub-commands in order, each comparable by itself.
	parts []commandPart
	// masked tells that the exit status is not that of the telling part: a pipe, "|| true", a later command.
	masked bool
	// subject is the first line of a commit's message or a pull request's title.
	subject string
}

// commandPart is one sub-command: its family ("go test") and its arguments.
type commandPart struct {
	family string
	args   []string
}

// commandLimit bounds how many bytes of a command line are read; here-documents and scripts go on for long.
const commandLimit = 4 << 10

// maxCommandText bounds a command in a record, in characters.
const maxCommandText = 110

// telling reports a command worth remembering when it worked or failed.
func (c command) telling() bool { return c.class > commandVCS }

// readCommand reads a command line of a shell.
func readCommand(line string) command {
	var out command
	line = head(line, commandLimit)
	out.subject = commitSubject(line)
	var shown, acts []string
	segments := splitSegments(line)
	for i, seg := range segments {
		typed := typedWords(seg.text)
		words := programWords(typed)
		if len(words) == 0 {
			continue
		}
		class, part := classify(words)
		out.class = max(out.class, class)
		if class <= commandVCS {
			if class == commandAct {
				acts = append(acts, strings.Join(typed, " "))
			}
			if out.parts != nil && seg.after == ';' {
				out.masked = true
			}
			continue
		}
		out.masked = out.masked || seg.piped || (i+1 < len(segments) && segments[i+1].after == '|')
		out.parts = append(out.parts, part)
		if text := strings.Join(typed, " "); !slices.Contains(shown, text) {
			shown = append(shown, text)
		}
	}
	if len(shown) == 0 {
		shown = acts
	}
	out.display = cut(strings.Join(shown, " && "), maxCommandText)
	return out
}

// segment is one simple command between && || ; and line ends.
type segment struct {
	text  string
	piped bool // its output goes into another command
	after byte // what stands before it: '&', '|' (for ||) or ';'
}

// splitSegments cuts a command line outside of quotes. It stops at a here-document, and drops what stands behind a pipe.
func splitSegments(line string) []segment {
	var out []segment
	start, after, quote, pipe := 0, byte(';'), byte(0), -1
	flush := func(end int) {
		text := line[start:end]
		if pipe >= 0 {
			text = line[start:pipe]
		}
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, segment{text: text, piped: pipe >= 0, after: after})
		}
		pipe = -1
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\\':
			i++
		case c == '\'' || c == '"':
			quote = c
		case c == '<' && strings.HasPrefix(line[i:], "<<"):
			flush(i)
			return out
		case c == ';' || c == '\n':
			flush(i)
			start, after = i+1, ';'
		case (c == '&' || c == '|') && i+1 < len(line) && line[i+1] == c:
			flush(i)
			start, after = i+2, c
			i++
		case c == '|' && pipe < 0:
			pipe = i
		}
	}
	flush(len(line))
	return out
}

// typedWords gives the words of a simple command as they were typed, without shell keywords, assignments, time limits and
// redirections.
func typedWords(text string) []string {
	words := plainWords(text)
	for len(words) > 0 {
		switch {
		case isAssignment(words[0]) || shellKeywords[words[0]]:
			words = words[1:]
		case words[0] == "timeout" && len(words) > 2:
			words = words[2:]
		default:
			return words
		}
	}
	return words
}

// programWords gives the words from the program on that a command comes down to: behind wrappers such as npx.
func programWords(words []string) []string {
	for len(words) > 0 {
		name := programName(words[0])
		switch {
		case isAssignment(words[0]) || wrappers[name]:
			words = words[1:]
		case len(words) > 2 && pairWrappers[name] == words[1]:
			words = words[2:]
			if words[0] == "--" || name == "direnv" {
				words = words[1:]
			}
		case isPython(name) && len(words) > 2 && words[1] == "-m":
			words = words[2:]
		case (isPython(name) || name == "php") && len(words) > 1 && (programName(words[1]) == "manage.py" || words[1] == "artisan"):
			words = words[1:]
		case isShell(name) && len(words) > 2 && strings.HasSuffix(words[1], "c") && words[1][0] == '-':
			words = plainWords(unquote(words[2]))
		default:
			return words
		}
		for len(words) > 0 && strings.HasPrefix(words[0], "-") {
			words = words[1:]
		}
	}
	return words
}

// plainWords splits at white space outside of quotes and drops redirections.
func plainWords(text string) []string {
	var out []string
	for text != "" {
		text = strings.TrimLeft(text, " \t\r\n()")
		end, quote := 0, byte(0)
		for ; end < len(text); end++ {
			c := text[end]
			if quote != 0 {
				if c == quote {
					quote = 0
				}
			} else if c == '"' || c == '\'' {
				quote = c
			} else if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
				break
			}
		}
		word := text[:end]
		text = text[end:]
		if at := strings.IndexByte(word, '>'); at >= 0 && at <= 1 && !strings.HasPrefix(word, "->") {
			if strings.HasSuffix(word, ">") {
				text = afterWord(text)
			}
			continue
		}
		if word != "" && word != "&" && word != "\\" && word != "{" && word != "}" {
			out = append(out, word)
		}
	}
	return out
}

func afterWord(text string) string {
	text = strings.TrimLeft(text, " \t")
	if at := strings.IndexAny(text, " \t\n"); at >= 0 {
		return text[at:]
	}
	return ""
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

func isAssignment(word string) bool {
	at := strings.IndexByte(word, '=')
	if at <= 0 {
		return strings.HasPrefix(word, "$env:")
	}
	return strings.Trim(word[:at], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}

func isPython(name string) bool { return name == "py" || strings.HasPrefix(name, "python") }

func isShell(name string) bool {
	return name == "sh" || name == "bash" || name == "zsh" || name == "pwsh" || name == "powershell" || name == "cmd"
}

// programName is the base name in lower case, without the endings that Windows adds.
func programName(word string) string {
	word = strings.ToLower(unquote(word))
	word = word[strings.LastIndexAny(word, `/\`)+1:]
	for _, ending := range []string{".exe", ".bat", ".cmd", ".ps1"} {
		word = strings.TrimSuffix(word, ending)
	}
	return word
}

// commitSubject finds the message of "git commit -m" or the title of "gh pr create --title".
func commitSubject(line string) string {
	at, flags := strings.Index(line, "git commit"), []string{" -m ", " -am ", " --message ", " --message="}
	if at < 0 {
		at, flags = strings.Index(line, "gh pr create"), []string{" --title ", " -t "}
	}
	if at < 0 {
		return ""
	}
	line = line[at:]
	for _, flag := range flags {
		_, rest, ok := strings.Cut(line, flag)
		if !ok {
			continue
		}
		if doc := strings.Index(rest, "<<"); doc >= 0 && doc < 12 {
			_, rest, _ = strings.Cut(rest, "\n")
		} else if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
			rest, _, _ = strings.Cut(rest[1:], rest[:1])
		}
		rest, _, _ = strings.Cut(strings.TrimSpace(rest), "\n")
		return cut(oneLine(rest), 100)
	}
	return ""
}
