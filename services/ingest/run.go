package ingest

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	adminv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/admin/v1"
	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/internal/app"
	"github.com/kiroku-dev/kiroku/services/internal/grpcserver"
	"github.com/kiroku-dev/kiroku/services/internal/telemetry"
)

// Run serves IngestService and AdminService until the context ends. It returns after calls in flight and events on their way
// to the buffer are done.
func Run(ctx context.Context, cfg Config, rt app.Runtime) error {
	rt.Logger = rt.Logger.With("service", "ingest")
	stores, err := cfg.OpenStores(ctx, rt.Logger)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	defer stores.Close()
	bufferConn, err := cfg.Dial(cfg.BufferAddr)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	defer func() { _ = bufferConn.Close() }()
	retrievalConn, err := cfg.DialAsCaller(cfg.RetrievalAddr)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	defer func() { _ = retrievalConn.Close() }()
	feed, err := newFeeder(bufferv1.NewBufferServiceClient(bufferConn), rt.Logger, rt.Registry)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	srv := &server{
		pool: stores.App, writer: newCoalescer(time.Now), projects: newProjectNames(), feeder: feed,
		retrieval: retrievalv1.NewRetrievalServiceClient(retrievalConn), version: rt.Version, now: time.Now,
	}
	serverCfg, err := cfg.ServerConfig(rt, stores, ingestv1.IngestService_ServiceDesc.ServiceName, cfg.Listen, stores.App.Ping)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	grpcServer, err := grpcserver.New(ctx, serverCfg)
	if err != nil {
		return err
	}
	ingestv1.RegisterIngestServiceServer(grpcServer, srv)
	adminv1.RegisterAdminServiceServer(grpcServer, &admin{pool: stores.App, now: time.Now})
	return serve(ctx, cfg, rt, grpcServer, feed)
}

// serve runs the server and, until it has drained, the feeder.
func serve(ctx context.Context, cfg Config, rt app.Runtime, grpcServer *grpcserver.Server, feed *feeder) error {
	feeding, endFeeding := context.WithCancel(context.WithoutCancel(ctx))
	fed := make(chan struct{})
	go func() { defer close(fed); feed.Run(feeding) }()
	defer func() { endFeeding(); <-fed }()

	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return telemetry.ServeMetrics(groupCtx, cfg.Metrics, rt.Registry, rt.Logger) })
	group.Go(func() error { return grpcServer.Serve(groupCtx) })
	rt.Ready(grpcServer.Addr())
	return group.Wait()
}
