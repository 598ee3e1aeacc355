package extraction

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	extractionv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/extraction/v1"
	"github.com/kiroku-dev/kiroku/services/extraction/rules"
	"github.com/kiroku-dev/kiroku/services/internal/app"
	"github.com/kiroku-dev/kiroku/services/internal/grpcserver"
	"github.com/kiroku-dev/kiroku/services/internal/telemetry"
)

// Run extracts and serves ExtractionService until the context ends. Batches in hand are finished first.
func Run(ctx context.Context, cfg Config, rt app.Runtime) error {
	rt.Logger = rt.Logger.With("service", "extraction")
	stores, err := cfg.OpenStores(ctx, rt.Logger)
	if err != nil {
		return fmt.Errorf("extraction: %w", err)
	}
	defer stores.Close()
	conn, err := cfg.Dial(cfg.BufferAddr)
	if err != nil {
		return fmt.Errorf("extraction: %w", err)
	}
	defer func() { _ = conn.Close() }()
	numbers, err := newMetrics(rt.Registry)
	if err != nil {
		return fmt.Errorf("extraction: %w", err)
	}
	buffer := bufferv1.NewBufferServiceClient(conn)
	check := &health{worker: stores.Worker, metrics: numbers, limit: cfg.PendingLimit, now: time.Now}
	serverCfg, err := cfg.ServerConfig(rt, stores, extractionv1.ExtractionService_ServiceDesc.ServiceName, cfg.Listen, check.Check)
	if err != nil {
		return fmt.Errorf("extraction: %w", err)
	}
	grpcServer, err := grpcserver.New(ctx, serverCfg)
	if err != nil {
		return err
	}
	extractionv1.RegisterExtractionServiceServer(grpcServer, &server{pool: stores.App, buffer: buffer})

	host, _ := os.Hostname() // a worker's name is for logs only
	group, groupCtx := errgroup.WithContext(ctx)
	for i := range cfg.Workers {
		w := &worker{
			id: fmt.Sprintf("%s/%d/%d", host, os.Getpid(), i), cfg: cfg, buffer: buffer, pool: stores.App,
			extractor: rules.New(), metrics: numbers, logger: rt.Logger, now: time.Now,
		}
		group.Go(func() error { w.run(groupCtx); return nil })
	}
	group.Go(func() error { return telemetry.ServeMetrics(groupCtx, cfg.Metrics, rt.Registry, rt.Logger) })
	group.Go(func() error { return grpcServer.Serve(groupCtx) })
	rt.Ready(grpcServer.Addr())
	return group.Wait()
}
