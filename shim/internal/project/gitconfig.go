package project

import "strings"

// maxConfig bounds what is read of a git configuration.
const maxConfig = 1 << 20

// mainRemote returns the URL that names a repository: that of origin, else that of the only
// remote there is. Includes are not followed and nothing but remotes is looked at.
func mainRemote(config []byte) (string, bool) {
	urls := remoteURLs(string(config))
	if url, ok := urls["origin"]; ok {
		return url, true
	}
	if len(urls) == 1 {
		for _, url := range urls {
			return url, true
		}
	}
	return "", false
}

// remoteURLs reads the first url of every remote. What is no line of a configuration is
// skipped: git may know syntax that we do not.
func remoteURLs(config string) map[string]string {
	urls := make(map[string]string)
	remote, inRemote := "", false
	for _, line := range logicalLines(config) {
		if strings.HasPrefix(line, "[") {
			header, rest, ok := cutHeader(line)
			if !ok {
				inRemote = false
				continue
			}
			remote, inRemote = remoteSection(header)
			line = strings.TrimSpace(rest)
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || !inRemote || !strings.EqualFold(strings.TrimSpace(key), "url") {
			continue
		}
		if _, seen := urls[remote]; !seen {
			if url := configValue(value); url != "" {
				urls[remote] = url
			}
		}
	}
	return urls
}

// logicalLines splits into lines, joining those that end in a backslash.
func logicalLines(config string) []string {
	config = strings.TrimPrefix(config, "\ufeff")
	config = strings.ReplaceAll(config, "\r\n", "\n")
	config = strings.ReplaceAll(config, "\\\n", "")
	lines := strings.Split(config, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return lines
}

// cutHeader splits a section header, in whose quoted part a bracket may stand.
func cutHeader(line string) (header, rest string, ok bool) {
	quoted := false
	for i := 1; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			return line[1:i], line[i+1:], true
		}
	}
	return "", "", false
}

// remoteSection recognises [remote "name"] and the older [remote.name].
func remoteSection(header string) (string, bool) {
	section, name, quoted := strings.Cut(header, "\"")
	if quoted {
		name = strings.TrimSuffix(strings.TrimSpace(name), "\"")
		name = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(name)
		return name, strings.EqualFold(strings.TrimSpace(section), "remote")
	}
	section, name, dotted := strings.Cut(strings.TrimSpace(header), ".")
	return strings.ToLower(name), dotted && strings.EqualFold(section, "remote")
}

// configValue removes quotes, escapes and a comment.
func configValue(raw string) string {
	var value strings.Builder
	quoted := false
	raw = strings.TrimSpace(raw)
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\\' && i+1 < len(raw):
			i++
			value.WriteByte(unescape(raw[i]))
		case c == '"':
			quoted = !quoted
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimSpace(value.String())
		default:
			value.WriteByte(c)
		}
	}
	return strings.TrimSpace(value.String())
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	}
	return c
}
