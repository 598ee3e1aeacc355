// Command kiroku-server is the server: each service as a subcommand, all of them in one process, and what prepares and
// checks them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/kiroku-dev/kiroku/services/buffer"
	"github.com/kiroku-dev/kiroku/services/extraction"
	"github.com/kiroku-dev/kiroku/services/ingest"
	"github.com/kiroku-dev/kiroku/services/internal/app"
	"github.com/kiroku-dev/kiroku/services/internal/telemetry"
	"github.com/kiroku-dev/kiroku/services/retrieval"
	"github.com/kiroku-dev/kiroku/services/standalone"
)

const usage = `kiroku-server runs Kiroku.

  kiroku-server standalone           everything in this process, with a private Postgres and Redis where none is given
  kiroku-server ingest               the service that takes events
  kiroku-server buffer               the service that buffers them
  kiroku-server extraction           the service that makes records
  kiroku-server retrieval            the service that finds them
  kiroku-server migrate              bring the database to this version, make the first tokens, and end
  kiroku-server healthcheck ADDR     ask a service how it is; exit status 0 when it serves
  kiroku-server version              print the version

Configuration is read from the environment: see deploy/env.example.
`

// gcPercent trades memory for fewer collections while events stream through; GOMEMLIMIT bounds it.
const gcPercent = 400

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("kiroku-server", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() { _, _ = fmt.Fprint(errOut, usage) }
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	err := dispatch(ctx, flags.Arg(0), flags.Args(), out)
	if err != nil && !errors.Is(err, context.Canceled) {
		_, _ = fmt.Fprintln(errOut, "kiroku-server:", err)
		return 1
	}
	return 0
}

func dispatch(ctx context.Context, command string, args []string, out io.Writer) error {
	switch command {
	case "standalone":
		return runStandalone(ctx, out)
	case "ingest":
		return runService(ctx, command, ingest.Run)
	case "buffer":
		return runService(ctx, command, buffer.Run)
	case "extraction":
		return runService(ctx, command, extraction.Run)
	case "retrieval":
		return runService(ctx, command, retrieval.Run)
	case "migrate":
		return runMigrate(ctx)
	case "healthcheck":
		return healthcheck(ctx, args[1:])
	case "version":
		_, err := fmt.Fprintln(out, app.Version())
		return err
	}
	return fmt.Errorf("unknown command %q\n\n%s", command, usage)
}

// process is the configuration of the process itself.
type process struct {
	LogLevel string `env:"KIROKU_LOG_LEVEL" envDefault:"info"`
}

// newRuntime makes what the process lends to its services, and a function that flushes traces.
func newRuntime(ctx context.Context, name string) (app.Runtime, func(), error) {
	cfg, err := env.ParseAs[process]()
	if err != nil {
		return app.Runtime{}, nil, err
	}
	logger, err := telemetry.Logger(os.Stderr, cfg.LogLevel)
	if err != nil {
		return app.Runtime{}, nil, fmt.Errorf("KIROKU_LOG_LEVEL: %w", err)
	}
	flush, err := telemetry.StartTracing(ctx, name, app.Version())
	if err != nil {
		return app.Runtime{}, nil, err
	}
	rt := app.Runtime{Logger: logger, Registry: telemetry.Registry(), Version: app.Version(), Ready: func(string) {}}
	return rt, func() {
		flushing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if err := flush(flushing); err != nil {
			logger.Warn("traces were not flushed", "err", err)
		}
	}, nil
}

type validator[T any] interface {
	*T
	Validate() error
}

func runService[T any, P validator[T]](ctx context.Context, name string, serve func(context.Context, T, app.Runtime) error) error {
	cfg, err := env.ParseAs[T]()
	if err != nil {
		return err
	}
	if err := P(&cfg).Validate(); err != nil {
		return err
	}
	rt, flush, err := newRuntime(ctx, name)
	if err != nil {
		return err
	}
	defer flush()
	return serve(ctx, cfg, rt)
}

func runStandalone(ctx context.Context, out io.Writer) error {
	cfg, err := standalone.Load()
	if err != nil {
		return err
	}
	if os.Getenv("KIROKU_LOG_LEVEL") == "" {
		_ = os.Setenv("KIROKU_LOG_LEVEL", "warn") // a person watches this terminal
	}
	rt, flush, err := newRuntime(ctx, "standalone")
	if err != nil {
		return err
	}
	defer flush()
	return standalone.Run(ctx, cfg, rt, out)
}
