package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// minReadmeCalls is how many calls the README must show.
const minReadmeCalls = 6

// The README's grpcurl calls are run as they stand, one after the other, against a server that has seen nothing yet. What comes
// back must have the shape that the README shows, and its values where those are the same each time.
func TestReadmeCalls(t *testing.T) {
	t.Parallel()
	root := repositoryRoot(t)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	calls := readmeCalls(t, string(readme))
	require.GreaterOrEqual(t, len(calls), minReadmeCalls)
	grpcurl := filepath.Join(root, ".bin", "grpcurl")
	require.FileExists(t, grpcurl, "run `make .bin/grpcurl`")

	s := startStandalone(t, map[string]string{"KIROKU_BOOTSTRAP_ACTOR": shownActor(calls)})
	env := []string{
		"PATH=" + filepath.Dir(grpcurl) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + t.TempDir(),
		"KIROKU_INGEST_ADDR=" + s.Ingest, "KIROKU_BUFFER_ADDR=" + s.Buffer,
		"KIROKU_EXTRACTION_ADDR=" + s.Extraction, "KIROKU_RETRIEVAL_ADDR=" + s.Retrieval,
		"KIROKU_DATA_DIR=" + filepath.Dir(s.TokenFile), "TOKEN=" + string(readToken(t, s.AdminTokenFile)),
	}
	// The default ports may be taken on this machine: where the README names one, the server's own stands in.
	addresses := strings.NewReplacer(
		"127.0.0.1:7601", s.Ingest, "localhost:7601", s.Ingest, "127.0.0.1:7602", s.Buffer, "localhost:7602", s.Buffer,
		"127.0.0.1:7603", s.Extraction, "localhost:7603", s.Extraction, "127.0.0.1:7604", s.Retrieval, "localhost:7604", s.Retrieval,
	)
	for _, c := range calls {
		got := c.run(t, env, addresses)
		for _, difference := range differences("", c.output, got) {
			t.Errorf("%s\nREADME and server differ at %s", c.command, difference)
		}
	}
}

// readmeCall is a call with the output that the README shows.
type readmeCall struct {
	command string
	output  []any
}

var (
	readmeSection = regexp.MustCompile(`(?s)<!-- grpcurl:begin -->(.*)<!-- grpcurl:end -->`)
	readmeBlock   = regexp.MustCompile("(?s)```(\\w+)\n(.*?)```")
)

// readmeCalls reads pairs of blocks: a command for the shell, then its output.
func readmeCalls(t *testing.T, readme string) (calls []readmeCall) {
	t.Helper()
	section := readmeSection.FindStringSubmatch(readme)
	require.NotNil(t, section, "README.md has no section between <!-- grpcurl:begin --> and <!-- grpcurl:end -->")
	command := ""
	for _, block := range readmeBlock.FindAllStringSubmatch(section[1], -1) {
		language, content := block[1], strings.TrimSpace(block[2])
		switch {
		case language == "sh" && strings.HasPrefix(content, "grpcurl "):
			require.Empty(t, command, "no output is shown for: %s", command)
			command = content
		case language == "json":
			require.NotEmpty(t, command, "an output without its command: %s", content)
			calls = append(calls, readmeCall{command: command, output: values(t, content)})
			command = ""
		}
	}
	require.Empty(t, command, "no output is shown for: %s", command)
	return calls
}

// values reads JSON values that stand one after the other.
func values(t *testing.T, text string) (all []any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	for decoder.More() {
		var value any
		require.NoError(t, decoder.Decode(&value), text)
		all = append(all, value)
	}
	return all
}

// shownActor is the name of whoever made the README's output.
func shownActor(calls []readmeCall) string {
	for _, c := range calls {
		for _, value := range c.output {
			if object, ok := value.(map[string]any); ok {
				if actor, ok := object["actorId"].(string); ok {
					return actor
				}
			}
		}
	}
	return "ana"
}

func (c readmeCall) run(t *testing.T, env []string, addresses *strings.Replacer) []any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-ec", addresses.Replace(c.command))
	cmd.Env = env
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", c.command, complaint.String())
	return values(t, string(out))
}

// changing are values that differ each time: ids, times, durations, scores, versions, hashes.
var changing = []*regexp.Regexp{
	regexp.MustCompile(`^(mr_)?[0-9A-HJKMNP-TV-Z]{26}$`),
	regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`),
	regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$`),
	regexp.MustCompile(`^\d+(\.\d+)?s$`),
	regexp.MustCompile(`^kk_.+$`),
	regexp.MustCompile(`^sha256:[0-9a-f]{64}$`),
}

// changingKeys are keys whose values differ each time, whatever they look like. They may be absent: zero is left out.
var changingKeys = map[string]bool{
	"serverVersion": true, "latency": true, "latencyMs": true, "score": true, "scores": true, "confidence": true,
	"bufferedEvents": true, "bufferedBytes": true, "leases": true, "tokens": true,
}

// changingParts are within texts: ids of records, and how long ago something was.
var changingParts = regexp.MustCompile(`mr_[0-9A-HJKMNP-TV-Z]{26}|on \d{4}-\d{2}-\d{2}|\d+ \w+ ago|just now`)

// differences compares what is shown with what came, and names the places where they differ.
func differences(at string, want, got any) []string {
	switch want := want.(type) {
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			return []string{fmt.Sprintf("%s: shown %v, came %v", at, want, got)}
		}
		var all []string
		for i := range want {
			all = append(all, differences(fmt.Sprintf("%s[%d]", at, i), want[i], got[i])...)
		}
		return all
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: shown %v, came %v", at, want, got)}
		}
		return objectDifferences(at, want, got)
	case string:
		if got, ok := got.(string); ok {
			for _, pattern := range changing {
				if pattern.MatchString(want) && pattern.MatchString(got) {
					return nil
				}
			}
			if changingParts.ReplaceAllString(want, "…") == changingParts.ReplaceAllString(got, "…") {
				return nil
			}
		}
	}
	if want != got {
		return []string{fmt.Sprintf("%s: shown %v, came %v", at, want, got)}
	}
	return nil
}

func objectDifferences(at string, want, got map[string]any) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		value, here := got[key]
		switch {
		case !here && changingKeys[key]:
		case !here:
			all = append(all, at+"."+key+": shown, did not come")
		case !changingKeys[key]:
			all = append(all, differences(at+"."+key, want[key], value)...)
		case fmt.Sprintf("%T", want[key]) != fmt.Sprintf("%T", value):
			all = append(all, fmt.Sprintf("%s.%s: shown %v, came %v", at, key, want[key], value))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, here := want[key]; !here && !changingKeys[key] {
			all = append(all, at+"."+key+": came, is not shown")
		}
	}
	return all
}
