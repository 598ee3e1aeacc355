package standalone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kiroku-dev/kiroku/services/buffer"
	"github.com/kiroku-dev/kiroku/services/extraction"
	"github.com/kiroku-dev/kiroku/services/ingest"
	"github.com/kiroku-dev/kiroku/services/internal/app"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/privatestore"
	"github.com/kiroku-dev/kiroku/services/internal/telemetry"
	"github.com/kiroku-dev/kiroku/services/retrieval"
)

// stopTimeout bounds the stop of the private stores, after the services have drained.
const stopTimeout = 4 * time.Second

// Run runs everything until the context ends or a part of it fails; out gets the banner for people. Nothing is left running
// when it returns.
func Run(ctx context.Context, cfg Config, rt app.Runtime, out io.Writer) (err error) {
	stores, err := privatestore.Start(ctx, privatestore.Config{
		DataDir: cfg.DataDir, RuntimeDir: cfg.RuntimeDir, Logger: rt.Logger,
		NeedPostgres: cfg.PostgresURL == "", NeedRedis: cfg.RedisURL == "",
	})
	if err != nil {
		return err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, stores.Stop(stopping))
	}()
	if cfg.PostgresURL == "" {
		cfg.PostgresURL = stores.PostgresURL()
	}
	if cfg.RedisURL == "" {
		cfg.RedisURL = stores.RedisURL()
	}
	secrets, err := prepare(ctx, cfg, rt.Logger)
	if err != nil {
		return err
	}
	return runServices(ctx, cfg, rt, stores, secrets, out)
}

// prepare migrates the database and makes the installation's secrets with their rights.
func prepare(ctx context.Context, cfg Config, logger *slog.Logger) (secrets, error) {
	if err := postgres.Migrate(ctx, cfg.PostgresURL, logger); err != nil {
		return secrets{}, err
	}
	made, err := ensureSecrets(cfg.DataDir)
	if err != nil {
		return secrets{}, err
	}
	pool, err := postgres.Open(ctx, cfg.PostgresURL, postgres.RoleApp, 2)
	if err != nil {
		return secrets{}, err
	}
	defer pool.Close()
	if err := made.grant(ctx, pool, cfg.Org, cfg.Actor); err != nil {
		return secrets{}, err
	}
	return made, nil
}

func runServices(ctx context.Context, cfg Config, rt app.Runtime, stores *privatestore.Stores, secrets secrets, out io.Writer) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		select {
		case err := <-stores.Failed():
			return err
		case <-ctx.Done():
			return nil
		}
	})
	group.Go(func() error { return telemetry.ServeMetrics(ctx, cfg.Metrics, rt.Registry, rt.Logger) })
	group.Go(func() error {
		started, err := startAll(ctx, group, cfg, rt, secrets)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // a service failed, of which the group has the reason, or we were told to stop: nothing is running
		}
		if err != nil {
			return err
		}
		if err := writeAddresses(cfg.DataDir, started); err != nil {
			return err
		}
		rt.Ready(started.ingest)
		return banner(out, cfg, started)
	})
	return group.Wait()
}

// addresses are where the services answer.
type addresses struct{ buffer, extraction, retrieval, ingest string }

// startAll starts the services one after the other, so that each is given the addresses of those it calls.
func startAll(ctx context.Context, group *errgroup.Group, cfg Config, rt app.Runtime, s secrets) (addresses, error) {
	decided := map[string]string{
		"KIROKU_POSTGRES_URL": cfg.PostgresURL, "KIROKU_REDIS_URL": cfg.RedisURL, "KIROKU_SERVICE_TOKEN": s.service,
		"KIROKU_BUFFER_METRICS": "off", "KIROKU_EXTRACTION_METRICS": "off", "KIROKU_RETRIEVAL_METRICS": "off", "KIROKU_INGEST_METRICS": "off",
	}
	var started addresses
	var err error
	if started.buffer, err = start(ctx, group, cfg, rt, decided, buffer.Run); err != nil {
		return started, err
	}
	decided["KIROKU_BUFFER_ADDR"] = started.buffer
	if started.extraction, err = start(ctx, group, cfg, rt, decided, extraction.Run); err != nil {
		return started, err
	}
	if started.retrieval, err = start(ctx, group, cfg, rt, decided, retrieval.Run); err != nil {
		return started, err
	}
	decided["KIROKU_RETRIEVAL_ADDR"] = started.retrieval
	started.ingest, err = start(ctx, group, cfg, rt, decided, ingest.Run)
	return started, err
}

// validator is what every service's configuration can do.
type validator[T any] interface {
	*T
	Validate() error
}

// start runs one service in the group and waits until it is ready.
func start[T any, P validator[T]](ctx context.Context, group *errgroup.Group, cfg Config, rt app.Runtime, decided map[string]string,
	run func(context.Context, T, app.Runtime) error,
) (string, error) {
	parsed, err := parse[T](cfg, decided)
	if err != nil {
		return "", err
	}
	if err := P(&parsed).Validate(); err != nil {
		return "", fmt.Errorf("standalone: %w", err)
	}
	ready := make(chan string, 1)
	rt.Ready = func(addr string) { ready <- addr }
	group.Go(func() error { return run(ctx, parsed, rt) })
	select {
	case addr := <-ready:
		return addr, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
