package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/config"
	"github.com/kiroku-dev/kiroku/shim/internal/relay"
	"github.com/kiroku-dev/kiroku/shim/internal/relayserver"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

const (
	// memoryLimit is a soft bound: a relay is a guest on the developer's machine.
	memoryLimit = 64 << 20
	// envLogLevel sets how much the relay's log tells: debug, info, warn or error.
	envLogLevel = "KIROKU_LOG_LEVEL"
)

func runRelay(ctx context.Context, s streams, args []string) (err error) {
	flags := newFlags(s, "relay")
	idle := flags.Duration("idle", relay.DefaultIdle, "end after so long without a hook; 0 never")
	if err := parse(s, flags, args, 0, 0); err != nil {
		return err
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	paths := rundir.FromEnvironment()
	lock, err := relayserver.Acquire(paths)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := rundir.Ensure(paths.State); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	logFile, err := relay.OpenLog(paths.State)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, logFile.Close()) }()
	logger := slog.New(slog.NewJSONHandler(logFile, &slog.HandlerOptions{Level: logLevel()}))
	if err := serveHooks(ctx, paths, lock, logger, *idle); err != nil {
		logger.ErrorContext(ctx, "relay ended", "err", err)
		return err
	}
	return nil
}

func logLevel() slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(os.Getenv(envLogLevel))); err != nil {
		return slog.LevelInfo
	}
	return level
}

func serveHooks(ctx context.Context, paths rundir.Paths, lock *relayserver.Lock, logger *slog.Logger, idle time.Duration) (err error) {
	cfg, err := config.FromEnvironment()
	if err != nil {
		return err
	}
	r, err := relay.Open(relay.Options{Paths: paths, Config: cfg, Version: buildVersion(), Idle: idle, Logger: logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return r.Run(ctx, lock)
}
