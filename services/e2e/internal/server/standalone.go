package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Addresses are where the services answer.
type Addresses struct{ Ingest, Buffer, Extraction, Retrieval string }

// Standalone is a server with everything in one process.
type Standalone struct {
	*Process
	Addresses
	// TokenFile and AdminTokenFile hold the tokens that the server made.
	TokenFile, AdminTokenFile string
}

// StandaloneOptions are where a standalone server lives.
type StandaloneOptions struct {
	// Program is the path of kiroku-server.
	Program string
	// DataDir keeps the data; RuntimeDir the sockets, so its path must be short.
	DataDir, RuntimeDir string
	// Vars are further variables; they win.
	Vars map[string]string
}

// StartStandalone starts a server on free ports and waits until it serves.
func StartStandalone(ctx context.Context, o StandaloneOptions) (*Standalone, error) {
	file := filepath.Join(o.DataDir, "addresses")
	// What a former run left names ports that nobody listens on.
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p, err := LaunchStandalone(o)
	if err != nil {
		return nil, err
	}
	s := &Standalone{
		Process:   p,
		TokenFile: filepath.Join(o.DataDir, "token"), AdminTokenFile: filepath.Join(o.DataDir, "admin-token"),
	}
	if err := p.Await(ctx, func() bool { return s.read(file) == nil }); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return s, nil
}

// LaunchStandalone starts a server and does not wait.
func LaunchStandalone(o StandaloneOptions) (*Process, error) {
	vars := map[string]string{
		"KIROKU_DATA_DIR": o.DataDir, "KIROKU_SOCKET_DIR": o.RuntimeDir, "KIROKU_METRICS": "off",
		"KIROKU_INGEST_LISTEN": "127.0.0.1:0", "KIROKU_BUFFER_LISTEN": "127.0.0.1:0",
		"KIROKU_EXTRACTION_LISTEN": "127.0.0.1:0", "KIROKU_RETRIEVAL_LISTEN": "127.0.0.1:0",
	}
	for name, value := range o.Vars {
		vars[name] = value
	}
	return Start("kiroku-server standalone", o.Program, []string{"standalone"}, Environ(vars))
}

// read takes the addresses from the file that the server writes when it serves.
func (s *Standalone) read(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	fields := map[string]*string{
		"KIROKU_INGEST_ADDR": &s.Ingest, "KIROKU_BUFFER_ADDR": &s.Buffer,
		"KIROKU_EXTRACTION_ADDR": &s.Extraction, "KIROKU_RETRIEVAL_ADDR": &s.Retrieval,
	}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if field, known := fields[name]; known {
			*field = value
			delete(fields, name)
		}
	}
	if len(fields) > 0 {
		return fmt.Errorf("%s: an address is missing", file)
	}
	return nil
}
