package main

import (
	"context"

	"github.com/caarlos0/env/v11"

	"github.com/kiroku-dev/kiroku/services/internal/app"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
)

// bootstrap is the configuration of migrate. The tokens are given, not made: their files are the deployment's secrets.
type bootstrap struct {
	PostgresURL     string `env:"KIROKU_POSTGRES_URL"`
	PostgresURLFile string `env:"KIROKU_POSTGRES_URL_FILE"`
	Org             string `env:"KIROKU_BOOTSTRAP_ORG" envDefault:"default"`
	Actor           string `env:"KIROKU_BOOTSTRAP_ACTOR" envDefault:"admin"`
	AdminTokenFile  string `env:"KIROKU_BOOTSTRAP_ADMIN_TOKEN_FILE"`
}

func runMigrate(ctx context.Context) error {
	cfg, err := env.ParseAs[bootstrap]()
	if err != nil {
		return err
	}
	if err := app.ReadSecret(&cfg.PostgresURL, cfg.PostgresURLFile, "KIROKU_POSTGRES_URL"); err != nil {
		return err
	}
	rt, flush, err := newRuntime(ctx, "migrate")
	if err != nil {
		return err
	}
	defer flush()
	if err := postgres.Migrate(ctx, cfg.PostgresURL, rt.Logger); err != nil {
		return err
	}
	if cfg.AdminTokenFile == "" {
		return nil
	}
	var secret string
	if err := app.ReadSecret(&secret, cfg.AdminTokenFile, "KIROKU_BOOTSTRAP_ADMIN_TOKEN"); err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, cfg.PostgresURL, postgres.RoleApp, 2)
	if err != nil {
		return err
	}
	defer pool.Close()
	return postgres.EnsureToken(ctx, pool, cfg.Org, cfg.Actor, secret, auth.Scopes)
}
