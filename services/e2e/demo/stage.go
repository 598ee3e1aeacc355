package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	extractionv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/extraction/v1"
	"github.com/kiroku-dev/kiroku/services/e2e/internal/developer"
	"github.com/kiroku-dev/kiroku/services/e2e/internal/server"
)

// stage is what the demo plays on.
type stage struct {
	options
	progress *progress
	dir      string
	secrets  secrets
	sessions []session
	started  *server.Standalone // nil when the server was there before
	machines map[string]*developer.Machine
	project  string
}

// colleague is the third developer, who did nothing yet.
const colleague = "carol"

func newStage(o options, p *progress) (*stage, error) {
	// Not os.TempDir, which may be long: sockets lie in it.
	dir, err := os.MkdirTemp("/tmp", "kiroku-demo-")
	if err != nil {
		return nil, err
	}
	s := &stage{options: o, progress: p, dir: dir, secrets: newSecrets(), machines: map[string]*developer.Machine{}}
	if s.sessions, err = loadSessions(time.Now().Add(-20 * time.Hour)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	// As root, Postgres runs as a user that has to pass through.
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// play goes through the steps.
func (s *stage) play(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		s.startServer, s.makeMachines, s.playSessions, s.awaitRecords, s.ask, s.findLeaks,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) startServer(ctx context.Context) error {
	if s.existing() {
		s.progress.begin("using the server at %s", s.ingest)
		s.progress.end("nothing to start")
		return nil
	}
	s.progress.begin("starting a server on temporary data")
	begun := time.Now()
	started, err := server.StartStandalone(ctx, server.StandaloneOptions{
		Program: filepath.Join(s.bin, "kiroku-server"),
		DataDir: s.dataDir(), RuntimeDir: filepath.Join(s.dir, "run"),
		// A log at the level of debug would show what is logged at any.
		Vars: map[string]string{"KIROKU_LOG_LEVEL": "debug"},
	})
	if err != nil {
		return err
	}
	s.started = started
	s.ingest, s.retrieval, s.extraction, s.tokenFile = started.Ingest, started.Retrieval, started.Extraction, started.AdminTokenFile
	s.progress.end("ready after %.1f s", time.Since(begun).Seconds())
	return nil
}

func (s *stage) dataDir() string { return filepath.Join(s.dir, "data") }

// makeMachines gives each developer a clone of the same repository, each under another spelling of its remote. The name is new
// each time, so that a server that was there knows nothing of it.
func (s *stage) makeMachines(ctx context.Context) error {
	repository := "harbor-" + strings.ToLower(rand.Text()[:8])
	remotes := map[string]string{
		"ana": "git@git.example.com:acme/" + repository + ".git", "ben": "https://git.example.com/acme/" + repository,
		colleague: "ssh://git@git.example.com/acme/" + repository + ".git",
	}
	s.progress.begin("making three clones of one repository")
	for name, remote := range remotes {
		m, err := developer.New(developer.Options{
			Name: name, Dir: filepath.Join(s.dir, name), Remote: remote, Bin: s.bin,
			Ingest: s.ingest, Retrieval: s.retrieval, TokenFile: s.tokenFile,
		})
		if err != nil {
			return err
		}
		project, err := m.Project(ctx)
		if err != nil {
			return err
		}
		if s.project != "" && s.project != project {
			return fmt.Errorf("%s is another project (%s) than the other clones (%s)", remote, project, s.project)
		}
		s.project, s.machines[name] = project, m
	}
	s.progress.end("all are the project %s", s.project)
	return nil
}

func (s *stage) playSessions(ctx context.Context) error {
	s.progress.begin("playing recorded sessions")
	for _, recorded := range s.sessions {
		for i, h := range recorded.hooks {
			s.progress.note("%s: %d/%d hooks", recorded.name, i, len(recorded.hooks))
			m := s.machines[h.Actor]
			if m == nil {
				return fmt.Errorf("%s: nobody is called %q", recorded.name, h.Actor)
			}
			stdout, err := m.Fire(ctx, h.Agent, s.secrets.fill(h.Payload, m.Root), h.At)
			if err != nil {
				return err
			}
			if leaked := s.private(string(stdout)); leaked != "" {
				return fmt.Errorf("%s: the hook printed %q, which is private", recorded.name, leaked)
			}
		}
		s.progress.end("%s: %d hooks", recorded.name, len(recorded.hooks))
	}
	return nil
}

// awaitRecords waits until every event has arrived and has been extracted.
func (s *stage) awaitRecords(ctx context.Context) error {
	s.progress.begin("waiting for extraction")
	total := 0
	for name, m := range s.machines {
		n := 0
		for _, recorded := range s.sessions {
			if recorded.hooks[0].Actor == name {
				n += len(recorded.hooks)
			}
		}
		if n == 0 {
			continue
		}
		if err := m.AwaitSent(ctx, int64(n)); err != nil {
			return err
		}
		total += n
	}
	token, err := server.ReadToken(s.tokenFile)
	if err != nil {
		return err
	}
	conn, err := server.Dial(s.extraction, token)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	client := extractionv1.NewExtractionServiceClient(conn)
	for {
		resp, err := client.ExtractNow(ctx, &extractionv1.ExtractNowRequest{ProjectId: s.project, MaxWait: durationpb.New(2 * time.Second)})
		switch {
		case err != nil:
			return fmt.Errorf("extract: %w", err)
		case resp.GetDeadLetters() > 0:
			return fmt.Errorf("extraction gave up on %d events", resp.GetDeadLetters())
		case resp.GetSettled():
			s.progress.end("%d events have arrived and are extracted", total)
			return nil
		}
		s.progress.note("%d of %d events to go", resp.GetUnfinishedEvents(), total)
	}
}

// close ends what was started and removes the temporary directory, unless it is to be kept.
func (s *stage) close(ctx context.Context) error {
	var problems []error
	for _, m := range s.machines {
		problems = append(problems, m.Close(ctx))
	}
	if s.started != nil {
		problems = append(problems, s.started.Stop())
	}
	if s.keep {
		_, _ = fmt.Fprintln(s.progress.out, "kept:", s.dir)
	} else {
		problems = append(problems, os.RemoveAll(s.dir))
	}
	return errors.Join(problems...)
}
