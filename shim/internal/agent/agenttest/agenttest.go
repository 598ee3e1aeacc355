// Package agenttest holds the golden tests that every dialect runs: payloads in, events out;
// recalled text in, exact answers out.
package agenttest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/kiroku-dev/kiroku/shim/internal/agent"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	payloadSuffix = ".payload"
	callSuffix    = ".call.json"
	goldenSuffix  = ".golden.json"
)

// call is the part of a hook call that is no payload: <case>.call.json beside <case>.payload.
type call struct {
	Argv     []string          `json:"argv"`
	Env      map[string]string `json:"env"`
	Dir      string            `json:"dir"`
	Programs []string          `json:"programs"`
}

// golden is what a dialect made of one event.
type golden struct {
	Event      json.RawMessage  `json:"event"`
	Dir        string           `json:"dir,omitempty"`
	DeliveryID string           `json:"delivery_id,omitempty"`
	Query      string           `json:"query,omitempty"`
	Want       agent.Want       `json:"want,omitempty"`
	Compaction agent.Compaction `json:"compaction,omitempty"`
}

// Payloads parses every testdata/<version>/<case>.payload and compares with <case>.golden.json.
// A <case>.call.json beside it gives arguments, environment and working directory.
func Payloads(t *testing.T, d agent.Dialect) {
	t.Helper()
	cases, err := filepath.Glob(filepath.Join("testdata", "*", "*"+payloadSuffix))
	check(t, err)
	if len(cases) == 0 {
		t.Fatal("no payloads")
	}
	for _, path := range cases {
		name := strings.TrimSuffix(path, payloadSuffix)
		t.Run(strings.TrimPrefix(filepath.ToSlash(name), "testdata/"), func(t *testing.T) {
			t.Parallel()
			got := render(t, d.Parse(readHook(t, name, d.Surface())))
			compare(t, name+goldenSuffix, got)
		})
	}
}

func readHook(t *testing.T, name, surface string) agent.Hook {
	t.Helper()
	c := call{Argv: []string{surface}, Dir: "/srv/shop"}
	data, err := os.ReadFile(name + callSuffix) //nolint:gosec // below the test's own testdata
	if err == nil {
		check(t, json.Unmarshal(data, &c))
	}
	body, err := os.ReadFile(name + payloadSuffix) //nolint:gosec // below the test's own testdata
	check(t, err)
	return agent.NewHook(agent.Hook{
		Argv: c.Argv, Env: c.Env, Dir: c.Dir, Programs: c.Programs, Payload: body,
		Time: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
	})
}

func render(t *testing.T, parsed []agent.Parsed) []byte {
	t.Helper()
	all := []golden{}
	for _, p := range parsed {
		event, err := protojson.MarshalOptions{}.Marshal(p.Event)
		check(t, err)
		all = append(all, golden{event, p.Dir, p.DeliveryID, p.Query, p.Want, p.Compaction})
	}
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	check(t, encoder.Encode(all))
	return buf.Bytes()
}

// Answers renders testdata/recalled.txt for every want and compares with testdata/answer-*.stdout.
func Answers(t *testing.T, d agent.Dialect) {
	t.Helper()
	recalled, err := os.ReadFile(filepath.Join("testdata", "recalled.txt"))
	check(t, err)
	for name, want := range map[string]agent.Want{"prompt": agent.WantPrompt, "start": agent.WantSessionStart} {
		compare(t, filepath.Join("testdata", "answer-"+name+".stdout"), d.Render(want, string(recalled)))
		if got := d.Render(want, " \n"); len(got) > 0 {
			t.Errorf("nothing was recalled, printed %q", got)
		}
	}
	if got := d.Render(agent.WantNothing, string(recalled)); len(got) > 0 {
		t.Errorf("nothing was wanted, printed %q", got)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		check(t, os.WriteFile(path, got, 0o600)) //nolint:gosec // a golden file of the test itself
	}
	want, err := os.ReadFile(path) //nolint:gosec // below the test's own testdata
	check(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", path, diff)
	}
}
