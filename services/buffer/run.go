package buffer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	"github.com/kiroku-dev/kiroku/services/buffer/outbox"
	"github.com/kiroku-dev/kiroku/services/buffer/redisstream"
	"github.com/kiroku-dev/kiroku/services/internal/app"
	"github.com/kiroku-dev/kiroku/services/internal/grpcserver"
	"github.com/kiroku-dev/kiroku/services/internal/telemetry"
)

// reclaimTimeout bounds the end of one lease that expired.
const reclaimTimeout = 3 * time.Second

// Run serves BufferService until the context ends. Long polls end then, calls in flight are finished, and what is left of leases stays in
// Redis for the next process. The configuration was validated.
func Run(ctx context.Context, cfg Config, rt app.Runtime) error {
	rt.Logger = rt.Logger.With("service", "buffer")
	stores, err := cfg.OpenStores(ctx, rt.Logger)
	if err != nil {
		return fmt.Errorf("buffer: %w", err)
	}
	defer stores.Close()
	streams, err := openStreams(ctx, cfg, rt.Logger)
	if err != nil {
		return fmt.Errorf("buffer: %w", err)
	}
	defer func() { _ = streams.Close() }()
	numbers, err := newMetrics(rt.Registry)
	if err != nil {
		return fmt.Errorf("buffer: metrics: %w", err)
	}
	srv := newServer(cfg, streams, outbox.New(stores.App, stores.Worker), numbers, rt.Logger)
	health := func(ctx context.Context) error {
		return errors.Join(stores.Worker.Ping(ctx), streams.Ping(ctx), srv.reconciler.healthy())
	}
	serverCfg, err := cfg.ServerConfig(rt, stores, bufferv1.BufferService_ServiceDesc.ServiceName, cfg.Listen, health)
	if err != nil {
		return fmt.Errorf("buffer: %w", err)
	}
	grpcServer, err := grpcserver.New(ctx, serverCfg)
	if err != nil {
		return err
	}
	bufferv1.RegisterBufferServiceServer(grpcServer, srv)
	return serve(ctx, cfg, rt, grpcServer, srv)
}

// openStreams connects to Redis, trying until the context ends while it does not answer, and proves that it can be the buffer.
func openStreams(ctx context.Context, cfg Config, logger *slog.Logger) (*redisstream.Store, error) {
	streams, err := redisstream.Open(cfg.RedisURL, cfg.RedisPrefix, cfg.policy())
	if err != nil {
		return nil, err
	}
	wait := 100 * time.Millisecond
	for {
		err := streams.Check(ctx, logger)
		if err == nil {
			return streams, nil
		}
		if !errors.Is(err, redisstream.ErrUnavailable) {
			return nil, errors.Join(err, streams.Close())
		}
		logger.WarnContext(ctx, "redis does not answer yet", "err", err)
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err(), streams.Close())
		case <-time.After(wait):
		}
		wait = min(2*wait, 3*time.Second)
	}
}

func newServer(cfg Config, streams *redisstream.Store, states *outbox.Store, numbers *metrics, logger *slog.Logger) *server {
	reclaim := func(ctx context.Context, p redisstream.Project) {
		reclaimLease(ctx, streams, states, numbers, logger, p)
	}
	d := newDispatcher(streams, reclaim)
	f := &feeder{cfg: cfg, streams: streams, outbox: states, dispatcher: d, metrics: numbers, logger: logger}
	r := &reconciler{
		cfg: cfg, streams: streams, outbox: states, feeder: f, reclaim: reclaim, metrics: numbers, logger: logger,
		kicked: make(chan struct{}, 1), roomy: make(map[redisstream.Project]bool),
	}
	f.progressed = r.beat
	return &server{cfg: cfg, streams: streams, outbox: states, dispatcher: d, reconciler: r, metrics: numbers, logger: logger}
}

// reclaimLease ends a lease that expired. Its events are pending again, whatever became of the worker.
func reclaimLease(ctx context.Context, streams *redisstream.Store, states *outbox.Store, numbers *metrics, logger *slog.Logger, p redisstream.Project) {
	ctx, cancel := context.WithTimeout(ctx, reclaimTimeout)
	defer cancel()
	returned, err := streams.Reclaim(ctx, p)
	if err != nil {
		logger.WarnContext(ctx, "a lease that expired could not be ended; it is tried again", "org_id", p.Org, "project_id", p.ID, "err", err)
		return
	}
	if returned == nil {
		return // another replica was quicker
	}
	numbers.reclaimed.Inc()
	logger.WarnContext(ctx, "lease expired", "org_id", p.Org, "project_id", p.ID, "events", len(returned.EventIDs), "fencing_token", returned.Token)
	if err := states.Release(ctx, p.Org, returned.EventIDs, returned.Token); err != nil {
		logger.WarnContext(ctx, "events of an expired lease keep the state leased until the next lease", "err", err)
	}
}

// serve runs the server and, until it has drained, what works behind it.
func serve(ctx context.Context, cfg Config, rt app.Runtime, grpcServer *grpcserver.Server, srv *server) error {
	working, endWork := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { srv.dispatcher.run(working) })
	work.Go(func() { srv.reconciler.run(working) })
	defer func() { endWork(); work.Wait() }()

	group, groupCtx := errgroup.WithContext(ctx)
	srv.stopping = groupCtx.Done()
	group.Go(func() error { return telemetry.ServeMetrics(groupCtx, cfg.Metrics, rt.Registry, rt.Logger) })
	group.Go(func() error { return grpcServer.Serve(groupCtx) })
	if rt.Ready != nil {
		rt.Ready(grpcServer.Addr())
	}
	return group.Wait()
}
