// Command bench measures Kiroku beside its floors and rivals, all in one run, and writes the figures as a page of
// documentation. It is run by `make bench`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// plan is what is measured and how often.
type plan struct {
	bin       string
	hookRuns  int
	events    int
	sizes     []int
	questions int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	p := plan{}
	var out, sizes string
	flag.StringVar(&p.bin, "bin", ".build", "directory of the built programs")
	flag.StringVar(&out, "out", "", "page to write; standard output when empty")
	flag.IntVar(&p.hookRuns, "hook-runs", 200, "runs of each program in the hook table")
	flag.IntVar(&p.events, "events", 40_000, "events of each ingest measurement")
	flag.StringVar(&sizes, "records", "1000,10000,100000", "project sizes of the context table")
	flag.IntVar(&p.questions, "questions", 400, "prompts asked of each project")
	flag.Parse()
	var err error
	if p.bin, err = filepath.Abs(p.bin); err != nil {
		return err
	}
	for _, s := range strings.Split(sizes, ",") {
		var n int
		if _, err := fmt.Sscan(s, &n); err != nil {
			return fmt.Errorf("-records %s: %w", sizes, err)
		}
		p.sizes = append(p.sizes, n)
	}
	report, err := p.measure(ctx)
	if err != nil {
		return err
	}
	if out == "" {
		fmt.Print(report)
		return nil
	}
	return os.WriteFile(out, []byte(report), 0o644)
}

// measure runs everything against one server with private stores that keep what they acknowledge.
func (p plan) measure(ctx context.Context) (string, error) {
	began := time.Now()
	srv, err := startServer(ctx, p.bin)
	if err != nil {
		return "", err
	}
	defer srv.stop(ctx)
	page := &strings.Builder{}
	writeHead(page, began)
	for _, section := range []struct {
		name string
		run  func(context.Context, *server, *strings.Builder) error
	}{{"durable ingest", p.ingest}, {"context", p.context}, {"hooks", p.hooks}} {
		at := time.Now()
		if err := section.run(ctx, srv, page); err != nil {
			return "", fmt.Errorf("%s: %w", section.name, err)
		}
		fmt.Fprintf(os.Stderr, "measured %s in %s\n", section.name, time.Since(at).Round(time.Second))
	}
	return page.String(), nil
}
