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

	"github.com/stretchr/testify/require"
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
	require.NoError(t, err)
	require.NotEmpty(t, cases)
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
	data, err := os.ReadFile(name + callSuffix)
	if err == nil {
		require.NoError(t, json.Unmarshal(data, &c))
	}
	body, err := os.ReadFile(name + payloadSuffix)
	require.NoError(t, err)
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
		require.NoError(t, err)
		all = append(all, golden{event, p.Dir, p.DeliveryID, p.Query, p.Want, p.Compaction})
	}
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(all))
	return buf.Bytes()
}

// Answers renders testdata/recalled.txt for every want and compares with testdata/answer-*.stdout.
func Answers(t *testing.T, d agent.Dialect) {
	t.Helper()
	recalled, err := os.ReadFile(filepath.Join("testdata", "recalled.txt"))
	require.NoError(t, err)
	for name, want := range map[string]agent.Want{"prompt": agent.WantPrompt, "start": agent.WantSessionStart} {
		compare(t, filepath.Join("testdata", "answer-"+name+".stdout"), d.Render(want, string(recalled)))
		require.Empty(t, d.Render(want, " \n"), "nothing recalled, nothing printed")
	}
	require.Empty(t, d.Render(agent.WantNothing, string(recalled)))
}

func compare(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to make it")
	require.Equal(t, string(want), string(got))
}
