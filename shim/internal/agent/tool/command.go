package tool

import (
	"path"
	"slices"
	"strings"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// testRunners lists the beginnings of command lines that run tests.
var testRunners = words(
	"go test", "gotestsum", "cargo test", "cargo nextest", "npm test", "npm t", "npm run test", "pnpm test", "pnpm run test",
	"yarn test", "yarn run test", "bun test", "bun run test", "deno test", "deno task test", "jest", "vitest", "mocha", "ava",
	"playwright test", "cypress run", "ng test", "nx test", "turbo test", "turbo run test", "pytest", "py.test",
	"python -m pytest", "python -m unittest", "python3 -m pytest", "python3 -m unittest", "tox", "nox", "hatch test",
	"rspec", "rake test", "rails test", "phpunit", "pest", "dotnet test", "mvn test", "mvn verify", "mvnw test", "mvnw verify",
	"gradle test", "gradle check", "gradlew test", "gradlew check", "sbt test", "ctest", "bazel test", "buck2 test", "swift test",
	"xcodebuild test", "flutter test", "dart test", "mix test", "zig test", "zig build test", "lein test", "stack test",
	"cabal test", "make test", "make check", "just test", "task test", "mise run test", "mage test", "bats", "busted", "prove",
)

// versionControls lists the programs of version control and of the hosts around it.
var versionControls = words("git", "gh", "glab", "hub", "hg", "jj", "svn", "sl", "fossil", "bzr", "p4")

// wrappers run the command that follows them.
var wrappers = words(
	"sudo", "time", "env", "command", "exec", "nice", "nohup", "xvfb-run", "npx", "bunx", "pnpx", "pnpm exec", "pnpm dlx", "yarn dlx",
	"uv run", "poetry run", "pipenv run", "bundle exec", "rtk", "mise exec", "direnv exec", "cross-env", "dotenv", "chronic",
)

func words(lines ...string) [][]string {
	split := make([][]string, len(lines))
	for i, line := range lines {
		split[i] = strings.Fields(line)
	}
	return split
}

// refine turns the class of a shell into TEST or VCS when the command line says so.
func refine(command string) eventv1.ToolClass {
	class := eventv1.ToolClass_TOOL_CLASS_SHELL
	for _, part := range splitCommand(command) {
		fields := program(strings.Fields(part))
		switch {
		case startsWithAny(fields, testRunners):
			return eventv1.ToolClass_TOOL_CLASS_TEST
		case startsWithAny(fields, versionControls):
			class = eventv1.ToolClass_TOOL_CLASS_VCS
		}
	}
	return class
}

// splitCommand splits a command line at the operators between commands, outside of quotes.
func splitCommand(line string) []string {
	var parts []string
	var quote rune
	start := 0
	for i, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case strings.ContainsRune(";&|\n(){}`", r):
			parts = append(parts, line[start:i])
			start = i + 1
		}
	}
	return append(parts, line[start:])
}

// program strips assignments, wrappers and their flags, and the directory of the program.
func program(fields []string) []string {
	for len(fields) > 0 {
		if name, _, assigned := strings.Cut(fields[0], "="); assigned && name != "" && !strings.ContainsAny(name, "/-.") {
			fields = fields[1:]
			continue
		}
		n := matchLength(fields, wrappers)
		if n == 0 {
			break
		}
		fields = fields[n:]
		for len(fields) > 0 && strings.HasPrefix(fields[0], "-") {
			fields = fields[1:]
		}
	}
	if len(fields) == 0 {
		return nil
	}
	fields = slices.Clone(fields)
	fields[0] = strings.TrimSuffix(path.Base(strings.ReplaceAll(fields[0], `\`, "/")), ".exe")
	return withoutLeadingFlags(fields)
}

// withoutLeadingFlags drops flags between a program and its subcommand ("go -C dir test",
// "make -j4 test"), but keeps "python -m".
func withoutLeadingFlags(fields []string) []string {
	kept := fields[:1]
	for i := 1; i < len(fields); i++ {
		switch flag := fields[i]; {
		case flag == "-m" || !strings.HasPrefix(flag, "-"):
			return append(kept, fields[i:]...)
		case flag == "-C" || flag == "--prefix" || flag == "--cwd" || flag == "--filter":
			i++
		}
	}
	return kept
}

func startsWithAny(fields []string, lists [][]string) bool { return matchLength(fields, lists) > 0 }

// matchLength returns how many words the longest matching list has. A script such as "test:unit"
// counts as "test".
func matchLength(fields []string, lists [][]string) int {
	longest := 0
	for _, list := range lists {
		if len(list) <= longest || len(list) > len(fields) {
			continue
		}
		matched := true
		for i, word := range list {
			got := fields[i]
			if i > 0 && i == len(list)-1 {
				got, _, _ = strings.Cut(got, ":")
			}
			matched = matched && got == word
		}
		if matched {
			longest = len(list)
		}
	}
	return longest
}
