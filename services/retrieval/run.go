package retrieval

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/internal/app"
	"github.com/kiroku-dev/kiroku/services/internal/grpcserver"
	"github.com/kiroku-dev/kiroku/services/internal/telemetry"
	"github.com/kiroku-dev/kiroku/services/retrieval/corpus"
	"github.com/kiroku-dev/kiroku/services/retrieval/recordstore"
)

// Run serves RetrievalService until the context ends. It returns after calls in flight are done.
func Run(ctx context.Context, cfg Config, rt app.Runtime) error {
	rt.Logger = rt.Logger.With("service", "retrieval")
	stores, err := cfg.OpenStores(ctx, rt.Logger)
	if err != nil {
		return fmt.Errorf("retrieval: %w", err)
	}
	defer stores.Close()
	numbers, err := newMetrics(rt.Registry)
	if err != nil {
		return fmt.Errorf("retrieval: %w", err)
	}
	cache := corpus.NewCache(recordstore.Source{Pool: stores.App, Logger: rt.Logger}, cfg.IndexBytes, numbers, rt.Logger)
	defer cache.Close()
	serverCfg, err := cfg.ServerConfig(rt, stores, retrievalv1.RetrievalService_ServiceDesc.ServiceName, cfg.Listen, stores.App.Ping)
	if err != nil {
		return fmt.Errorf("retrieval: %w", err)
	}
	grpcServer, err := grpcserver.New(ctx, serverCfg)
	if err != nil {
		return err
	}
	retrievalv1.RegisterRetrievalServiceServer(grpcServer, &server{
		pool: stores.App, cache: cache, contextTokens: cfg.ContextTokens, metrics: numbers, logger: rt.Logger, now: time.Now,
	})
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return telemetry.ServeMetrics(groupCtx, cfg.Metrics, rt.Registry, rt.Logger) })
	group.Go(func() error { return grpcServer.Serve(groupCtx) })
	rt.Ready(grpcServer.Addr())
	return group.Wait()
}
