package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caarlos0/env/v11"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/kiroku-dev/kiroku/services/internal/app"
	"github.com/kiroku-dev/kiroku/services/internal/grpcclient"
)

// healthTimeout is below the interval at which containers are checked.
const healthTimeout = 3 * time.Second

func healthcheck(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("healthcheck: give one address, host:port")
	}
	cfg, err := env.ParseAs[app.Shared]()
	if err != nil {
		return err
	}
	clientTLS, err := cfg.ClientTLS()
	if err != nil {
		return err
	}
	conn, err := grpcclient.Dial(grpcclient.Config{Addr: args[0], TLS: clientTLS})
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	resp, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{})
	if err != nil {
		return fmt.Errorf("healthcheck %s: %w", args[0], err)
	}
	if resp.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		return fmt.Errorf("healthcheck %s: %s", args[0], resp.GetStatus())
	}
	return nil
}
