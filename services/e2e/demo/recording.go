package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
)

//go:embed sessions/*.jsonl
var sessionFiles embed.FS

// hook is one recorded call of the hook program.
type hook struct {
	// At is when it happened; only distances matter, since recordings are moved to yesterday.
	At time.Time `json:"at"`
	// Actor is the developer.
	Actor string `json:"actor"`
	// Agent is the hook program's argument.
	Agent string `json:"agent"`
	// Payload is its standard input. {{ROOT}} stands for the developer's checkout, other names for secrets.
	Payload json.RawMessage `json:"hook"`
}

// session is one recording.
type session struct {
	name  string
	hooks []hook
}

// loadSessions reads the recordings, in the order of their names, and moves them so that the last ended at the given time.
func loadSessions(end time.Time) ([]session, error) {
	names, err := fs.Glob(sessionFiles, "sessions/*.jsonl")
	if err != nil {
		return nil, err
	}
	sessions := make([]session, len(names))
	var last time.Time
	for i, name := range names {
		if sessions[i], err = loadSession(name); err != nil {
			return nil, err
		}
		if at := sessions[i].hooks[len(sessions[i].hooks)-1].At; at.After(last) {
			last = at
		}
	}
	for _, s := range sessions {
		for i := range s.hooks {
			s.hooks[i].At = s.hooks[i].At.Add(end.Sub(last).Truncate(time.Second))
		}
	}
	return sessions, nil
}

func loadSession(name string) (session, error) {
	content, err := sessionFiles.ReadFile(name)
	if err != nil {
		return session{}, err
	}
	s := session{name: strings.TrimSuffix(path.Base(name), ".jsonl")}
	lines := bufio.NewScanner(bytes.NewReader(content))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var h hook
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
			return session{}, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		s.hooks = append(s.hooks, h)
	}
	if err := lines.Err(); err != nil || len(s.hooks) == 0 {
		return session{}, fmt.Errorf("%s: no hooks: %w", name, err)
	}
	return s, nil
}

// secrets are credentials that tools print in the recordings. They are made anew each time, so that none is in the repository.
type secrets map[string]string

func newSecrets() secrets {
	return secrets{
		"GITHUB_TOKEN":      "ghp_" + mixedCase(36),
		"AWS_KEY":           "AKIA" + rand.Text()[:16],
		"DATABASE_PASSWORD": mixedCase(20),
	}
}

// mixedCase is random letters and digits in both cases.
func mixedCase(n int) string {
	b := make([]byte, 0, n)
	for len(b) < n {
		b = append(b, rand.Text()[0]|' ') // a letter in lower case or a digit
		b = append(b, rand.Text()[0])
	}
	return string(b[:n])
}

// fill puts a checkout and the secrets into a payload. All of them are plain in JSON strings.
func (s secrets) fill(payload []byte, root string) []byte {
	pairs := []string{"{{ROOT}}", root}
	for name, value := range s {
		pairs = append(pairs, "{{"+name+"}}", value)
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(payload)))
}
