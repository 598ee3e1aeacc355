package rules

import (
	"strings"
	"unicode"
)

// failureMark is a piece of output by which a known tool says that it failed.
type failureMark struct {
	text string
	// start: the text must begin the line.
	start bool
	// weight: how much a line with it says about the cause, 1 to 9.
	weight int
	// proof: it proves failure even when the exit status is that of another command.
	proof bool
}

// failureMarks of the common runners, compilers and package managers, matched on lines.
var failureMarks = []failureMark{
	{text: "FAILED ", start: true, weight: 8, proof: true}, // pytest's short summary
	{text: "panic: ", start: true, weight: 8, proof: true},
	{text: "error[E", weight: 8, proof: true},               // rustc
	{text: "error TS", weight: 8, proof: true},              // tsc
	{text: "error CS", weight: 8, proof: true},              // C#
	{text: "e: file:", start: true, weight: 8, proof: true}, // kotlinc
	{text: "thread '", start: true, weight: 6},
	{text: ": undefined: ", weight: 7, proof: true},
	{text: "undefined reference", weight: 7, proof: true},
	{text: "AssertionError", weight: 6},
	{text: "● ", start: true, weight: 7, proof: true}, // jest
	{text: "✕ ", weight: 5, proof: true},
	{text: "FAIL  ", start: true, weight: 4, proof: true}, // vitest
	{text: "rspec ./", start: true, weight: 5, proof: true},
	{text: "[ERROR] ", start: true, weight: 5},
	{text: "fatal: ", start: true, weight: 6},
	{text: "FATAL", weight: 5},
	{text: "Error: ", start: true, weight: 6},
	{text: "ERROR: ", start: true, weight: 6},
	{text: "error: ", start: true, weight: 6},
	{text: "error: ", weight: 5},
	{text: "Error: ", weight: 5},
	{text: "E   ", start: true, weight: 5, proof: true},
	{text: "npm ERR! code", weight: 2, proof: true},
	{text: "npm ERR! ", weight: 4, proof: true},
	{text: "npm error ", weight: 4, proof: true},
	{text: "Caused by: ", weight: 4},
	{text: "Error ", start: true, weight: 4},
	{text: " failed: ", weight: 4},
	{text: "ERROR", weight: 4},
	{text: "failed to ", weight: 4},
	{text: "Failed to ", weight: 4},
	{text: "Exception", weight: 4},
	{text: "command not found", weight: 5},
	{text: "is not recognized as", weight: 5},
	{text: "No such file or directory", weight: 4},
	{text: "ermission denied", weight: 4},
	{text: "onnection refused", weight: 5},
	{text: "timed out", weight: 4},
	{text: "cannot find", weight: 4},
	{text: "Cannot find", weight: 4},
	{text: "could not", weight: 3},
	{text: "not found", weight: 3},
	{text: "unknown flag", weight: 4},
	{text: "unknown command", weight: 4},
	{text: "BUILD FAIL", weight: 2, proof: true},
	{text: "test result: FAILED", weight: 2, proof: true},
	{text: "make: ***", weight: 2, proof: true},
	{text: "ERROR task failed", weight: 1, proof: true},
	{text: "FAIL\t", start: true, weight: 2, proof: true},
	{text: "FAIL", start: true, weight: 1, proof: true},
	{text: "exit status ", weight: 1},
}

// countMarks stand behind a number: "3 failed" fails, "0 failed" does not.
var countMarks = []string{" failed", " failures", " failing", " errors", " problems"}

// leadingCountMarks stand before such a number.
var leadingCountMarks = []string{"Failures:", "Errors:", "Failed:"}

// passMarks show that a test runner or linter was content, when nobody gave an exit status.
var passMarks = []string{
	"ok  \t", "PASS", "test result: ok", " passed", "BUILD SUCCESS", "BUILD SUCCESSFUL", "0 failures", "0 issues", "All checks passed", "no issues found",
	"100% tests passed", "Passed!", "Build succeeded", "Finished ", "Successfully",
}

// notFailures are refusals of people and harnesses, which teach nothing about the code.
var notFailures = []string{
	"user doesn't want to proceed", "user rejected", "Request interrupted", "[Request interrupted", "requires approval", "was denied by", "user denied",
	"String to replace not found", "has not been read yet", "has been modified since", "Sibling tool call errored", "blocked by hook",
}

const (
	maxGist    = 170
	maxOutputs = 400 // lines of an output that are judged
)

// finding is the line of an output that says best what went wrong.
type finding struct {
	gist   string
	weight int
	// proven tells that some line proves failure.
	proven bool
}

// findFailure reads an output line by line.
func findFailure(output, root string) finding {
	var f finding
	test, last, lines := "", "", 0
	for line := range strings.Lines(output) {
		if lines++; lines > maxOutputs {
			break
		}
		line = strings.TrimSpace(stripEscapes(line))
		if line == "" {
			continue
		}
		last = line
		if name, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			test, _, _ = strings.Cut(name, " ")
			f.proven = true
			if f.weight < 3 {
				f.weight, f.gist = 3, test+" failed"
			}
			continue
		}
		f.judge(line, test)
	}
	if f.gist == "" && last != "" && !strings.HasPrefix(last, "Exit") {
		f.gist = last
	}
	f.gist = tidyGist(f.gist, root)
	return f
}

// judge takes the line when it says more than those before; test is the failed test it stands below.
func (f *finding) judge(line, test string) {
	weight, proof := lineWeight(line)
	log := isTestLog(line)
	if log {
		// Verbose tests log passing things in the same way; only what follows a failed test is a failure.
		proof = false
		if weight = 5; test == "" || strings.Contains(line, " INFO ") {
			weight = 2
		}
	}
	f.proven = f.proven || proof
	if weight > f.weight || (weight == 7 && f.weight == 7 && isException(line)) {
		f.weight, f.gist = weight, line
		if test != "" && log {
			f.gist = test + ": " + line
		}
	}
}

func lineWeight(line string) (weight int, proof bool) {
	line = head(line, 600)
	if isException(line) {
		weight = 7
	}
	if at := positionEnd(line); at > 0 {
		weight = max(weight, 6)
		if rest := strings.TrimSpace(line[at:]); len(rest) < 4 || strings.HasPrefix(rest, ": #") || rest[0] == '#' {
			weight = 2
		}
		proof = !strings.Contains(line, "warning")
	}
	for i := range failureMarks {
		m := &failureMarks[i]
		if m.weight <= weight && (proof || !m.proof) {
			continue
		}
		if (m.start && strings.HasPrefix(line, m.text)) || (!m.start && strings.Contains(line, m.text)) {
			weight = max(weight, m.weight)
			proof = proof || m.proof
		}
	}
	if strings.Contains(line, "Tests run:") {
		weight = 2
	}
	if !proof && countsFailures(line) {
		return max(weight, 2), true
	}
	return weight, proof
}

// isException reports "SomeError: why" or "some.Exception: why" at the start of a line.
func isException(line string) bool {
	name, rest, ok := strings.Cut(line, ": ")
	if !ok || rest == "" || strings.ContainsAny(name, " \t/(") {
		return false
	}
	return len(name) > 6 && (strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Exception"))
}

// positionEnd reports where the message begins in "path.ext:12:3: message" or "path.ext(12,3): message"; 0 when the line is none.
func positionEnd(line string) int {
	colon := strings.IndexAny(line, ":(")
	if colon > 0 && colon+2 < len(line) && line[colon] == ':' && (line[colon+1] == '\\' || line[colon+1] == '/') && colon == 1 {
		next := strings.IndexAny(line[3:], ":(")
		if next < 0 {
			return 0
		}
		colon = 3 + next
	}
	if colon < 3 || colon+1 >= len(line) || strings.ContainsAny(line[:colon], " \t\"") || !looksLikeFile(line[:colon]) {
		return 0
	}
	at := colon + 1
	for at < len(line) && (line[at] >= '0' && line[at] <= '9' || line[at] == ':' || line[at] == ',' || line[at] == ')') {
		at++
	}
	if at == colon+1 {
		return 0
	}
	return at
}

// isTestLog reports "file.go:12: message", the log line of a Go test; compilers give a column too.
func isTestLog(line string) bool {
	before, rest, ok := strings.Cut(line, ".go:")
	if !ok || strings.Contains(before, " ") {
		return false
	}
	number, _, ok := strings.Cut(rest, ": ")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// countsFailures reports a count of failures other than zero, as "3 failed" or "Failures: 3".
func countsFailures(line string) bool {
	for _, mark := range countMarks {
		at := strings.Index(line, mark)
		if at <= 0 || !unicode.IsDigit(rune(line[at-1])) {
			continue
		}
		digits := line[:at]
		digits = digits[strings.LastIndexFunc(digits, func(r rune) bool { return !unicode.IsDigit(r) })+1:]
		if strings.Trim(digits, "0") != "" {
			return true
		}
	}
	for _, mark := range leadingCountMarks {
		if _, rest, ok := strings.Cut(line, mark); ok {
			rest = strings.TrimLeft(rest, " ")
			if rest != "" && rest[0] >= '1' && rest[0] <= '9' {
				return true
			}
		}
	}
	return false
}

// tidyGist takes the project's root, backquotes and decoration off a line of output.
func tidyGist(line, root string) string {
	line = oneLine(line)
	if root != "" {
		line = strings.ReplaceAll(line, strings.TrimRight(root, `/\`)+"/", "")
		line = strings.ReplaceAll(line, strings.TrimRight(root, `/\`)+`\`, "")
	}
	line = strings.TrimLeft(line, "●✕×❯>-*=#| ")
	for _, mark := range []string{"E ", "FAILED ", "[ERROR] "} {
		line = strings.TrimPrefix(line, mark)
	}
	line = strings.TrimSpace(line)
	return cut(strings.ReplaceAll(line, "`", "'"), maxGist)
}

// passSummary finds the line in which a test runner counts, such as "12 passed in 0.31s".
func passSummary(output string) string {
	for line := range strings.Lines(output) {
		line = strings.Trim(strings.TrimSpace(stripEscapes(line)), "= ")
		if len(line) > 90 || !strings.ContainsAny(line, "123456789") {
			continue
		}
		if hasAny(line, []string{" passed", "Tests run:", " examples, 0 failures", "100% tests passed", "test result: ok", " passing"}) {
			return oneLine(strings.TrimPrefix(line, "[INFO] "))
		}
	}
	return ""
}
