package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	extractionv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/extraction/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/player"
)

const (
	// extractWait is how long one call waits for extraction.
	extractWait = 20 * time.Second
	// extractTime bounds the whole wait.
	extractTime = 10 * time.Minute
)

func runReplay(ctx context.Context, s streams, args []string) (err error) {
	flags := newFlags(s, "replay")
	answers := flags.String("answers", "", "write one line of JSON for each prompt to this file")
	settle := flags.Bool("settle", false, "wait at the end until extraction has worked on everything")
	hook := flags.String("hook", "", "path of kiroku-hook; beside this program or on PATH when empty")
	state := flags.String("state", "", "directory for the state of the actors' relays; a temporary one when empty")
	name := flags.String("project", "", "name of the project for all hooks; each hook's directory decides when empty")
	roots := flags.String("roots", "", "comma-separated directories that are roots of the project in the recording")
	if err := parse(s, flags, args, 1, 1); err != nil {
		return err
	}
	opts := player.Options{Project: *name, Progress: s.err, Environ: os.Environ(), StateDir: *state}
	if *roots != "" {
		opts.Roots = strings.Split(*roots, ",")
	}
	if opts.Hook, opts.Kiroku, err = programs(*hook); err != nil {
		return err
	}
	if opts.StateDir == "" {
		if opts.StateDir, err = os.MkdirTemp("", "kiroku-replay"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(opts.StateDir)) }()
	}
	if *answers != "" {
		file, err := os.Create(*answers)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		opts.Answers = file
	}
	recording, err := openRecording(flags.Arg(0), s.in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, recording.Close()) }()
	summary, err := player.Play(ctx, recording, opts)
	_, _ = fmt.Fprintf(s.err, "played %d hooks of %d actors; %d of %d prompts got context\n", summary.Hooks, summary.Actors, summary.Answered, summary.Prompts)
	if err != nil || !*settle {
		return err
	}
	return awaitExtraction(ctx, s)
}

// openRecording opens a file, "-" for stdin; names in .gz are compressed.
func openRecording(name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(stdin), nil
	}
	file, err := os.Open(name) //nolint:gosec // the file that the person named
	if err != nil || filepath.Ext(name) != ".gz" {
		return file, err
	}
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{unpacked, file}, nil
}

// programs finds the hook's program and this one.
func programs(hook string) (hookPath, self string, err error) {
	if self, err = os.Executable(); err != nil {
		return "", "", err
	}
	if hook == "" {
		hook, err = findHook(self)
	} else {
		hook, err = filepath.Abs(hook)
	}
	return hook, self, err
}

// findHook looks for kiroku-hook beside a program, then on PATH.
func findHook(self string) (string, error) {
	if resolved, err := filepath.EvalSymlinks(self); err == nil {
		self = resolved
	}
	beside := filepath.Join(filepath.Dir(self), "kiroku-hook"+filepath.Ext(self))
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
		return beside, nil
	}
	found, err := exec.LookPath("kiroku-hook")
	if err != nil {
		return "", errors.New("kiroku-hook is neither beside this program nor on PATH")
	}
	return filepath.Abs(found)
}

func awaitExtraction(ctx context.Context, s streams) (err error) {
	up, err := connect()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, up.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, extractTime)
	defer cancel()
	for {
		resp, err := up.Extraction.ExtractNow(ctx, &extractionv1.ExtractNowRequest{MaxWait: durationpb.New(extractWait)})
		if err != nil {
			return plain(err)
		}
		if resp.GetSettled() {
			_, err := fmt.Fprintf(s.err, "extraction has settled; %d dead letters\n", resp.GetDeadLetters())
			return err
		}
		_, _ = fmt.Fprintf(s.err, "%d events wait for extraction\n", resp.GetUnfinishedEvents())
	}
}
