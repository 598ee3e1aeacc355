package rules

import (
	"slices"
	"strings"
)

// classify tells what a simple command is for, and its family: the words that make two runs comparable.
func classify(words []string) (commandClass, commandPart) {
	name, args := programName(words[0]), words[1:]
	if name == "docker" && len(args) > 0 && args[0] == "compose" {
		name, args = "docker compose", args[1:]
	}
	known, ok := programs[name]
	if !ok {
		return classifyScript(words, name)
	}
	family, rest := name, args
	if known.skip != "" && len(rest) > 0 && (rest[0] == known.skip || rest[0] == "r") {
		family += " " + known.skip
		rest = rest[1:]
	}
	word := ""
	for i, arg := range rest {
		if !strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") {
			word, rest = arg, slices.Concat(rest[:i], rest[i+1:])
			break
		}
	}
	if class, ok := known.words[word]; ok {
		return class, commandPart{family: strings.TrimSpace(family + " " + word), args: rest}
	}
	if known.targets && word != "" {
		return targetClass(word, known.class), commandPart{family: family + " " + word, args: rest}
	}
	if len(known.words) == 0 {
		return known.class, commandPart{family: family, args: args}
	}
	return known.class, commandPart{family: strings.TrimSpace(family + " " + word), args: rest}
}

func targetClass(target string, otherwise commandClass) commandClass {
	target = strings.ToLower(target)
	for _, t := range targetWords {
		if strings.Contains(target, t.part) {
			return t.class
		}
	}
	return otherwise
}

// classifyScript judges a program that no table knows: a script of the repository is worth knowing, anything else is not.
func classifyScript(words []string, name string) (commandClass, commandPart) {
	script := words[0]
	if (isPython(name) || isShell(name) || name == "node" || name == "ruby" || name == "perl" || name == "php") && len(words) > 1 {
		script = words[1]
		words = words[1:]
	} else if !strings.HasPrefix(script, "./") && !strings.HasPrefix(script, `.\`) {
		return commandNoise, commandPart{}
	}
	if strings.HasPrefix(script, "-") || !strings.ContainsAny(script, "./\\") || strings.HasPrefix(script, "/") {
		return commandNoise, commandPart{}
	}
	return targetClass(programName(script), commandRun), commandPart{family: script, args: words[1:]}
}

// covers reports whether success of c shows that what failed in other works again: the same command, or a run of the same
// family without narrower arguments.
func (c commandPart) covers(other commandPart) bool {
	if c.family != other.family {
		return false
	}
	narrow := false
	for _, arg := range c.args {
		if arg == "./..." || arg == "." {
			return true
		}
		if !strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "-run") || arg == "-k" || arg == "-t" {
			narrow = narrow || !slices.Contains(other.args, arg)
		}
	}
	return !narrow
}
