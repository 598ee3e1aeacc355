// Command demo shows Kiroku's whole way and checks it: it starts a server on temporary data, plays recorded sessions of two
// developers through the real hook program, and fires a prompt as a third, in a new session. It fails when the context that
// comes back lacks what the recorded sessions taught, or when anything private is found anywhere.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// playTime bounds the demo itself, cleanTime what follows it.
const (
	playTime  = 80 * time.Second
	cleanTime = 10 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		_, _ = fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	bin                                      string
	ingest, retrieval, extraction, tokenFile string
	keep, listPrivate                        bool
}

// existing tells whether the demo runs against a server that is there.
func (o options) existing() bool { return o.ingest != "" }

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.StringVar(&o.bin, "bin", ".build", "directory of kiroku-server, kiroku and kiroku-hook")
	flags.StringVar(&o.ingest, "ingest", "", "address of a running ingest service; a server is started when empty")
	flags.StringVar(&o.retrieval, "retrieval", "", "address of its retrieval service")
	flags.StringVar(&o.extraction, "extraction", "", "address of its extraction service")
	flags.StringVar(&o.tokenFile, "token-file", "", "file with a token of that server that has every scope")
	flags.BoolVar(&o.keep, "keep", false, "keep the temporary directory, to look into it")
	flags.BoolVar(&o.listPrivate, "list-private", false, "only print what must not be found in a server's store, a line each")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	given := 0
	for _, value := range []string{o.ingest, o.retrieval, o.extraction, o.tokenFile} {
		if value != "" {
			given++
		}
	}
	if given != 0 && given != 4 {
		return o, errors.New("-ingest, -retrieval, -extraction and -token-file belong together")
	}
	return o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.listPrivate {
		for _, word := range privateWords {
			fmt.Println(word)
		}
		return nil
	}
	started := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, playTime, fmt.Errorf("the demo took longer than %v", playTime))
	defer cancel()
	s, err := newStage(o, &progress{out: os.Stdout, terminal: isTerminal(os.Stdout)})
	if err != nil {
		return err
	}
	err = s.play(ctx)
	if ctx.Err() != nil && err != nil {
		err = fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	cleaning, cancelCleaning := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancelCleaning()
	if err = errors.Join(err, s.close(cleaning)); err != nil {
		return err
	}
	fmt.Printf("\nThe demo worked, in %.1f s.\n", time.Since(started).Seconds())
	return nil
}

func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
