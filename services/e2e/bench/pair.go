package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	"github.com/kiroku-dev/kiroku/services/internal/grpcclient"
)

// pair is ingest with its buffer, as processes of their own and without extraction: what is measured is storing.
type pair struct {
	conn      *grpc.ClientConn
	token     string
	processes []*exec.Cmd
}

func (p plan) startPair(ctx context.Context, srv *server) (*pair, error) {
	database, err := newDatabase(ctx, srv.stores.PostgresURL(), "kiroku_ingest")
	if err != nil {
		return nil, err
	}
	ingestAddr, bufferAddr, err := freeAddresses(ctx)
	if err != nil {
		return nil, err
	}
	pr := &pair{token: "kk_bench"}
	tokenFile := filepath.Join(srv.dir, "bench-token")
	if err := os.WriteFile(tokenFile, []byte(pr.token), 0o600); err != nil {
		return nil, err
	}
	env := append(os.Environ(), "KIROKU_POSTGRES_URL="+database, "KIROKU_REDIS_URL="+srv.stores.RedisURL(), "KIROKU_REDIS_PREFIX=bench",
		"KIROKU_SERVICE_TOKEN=kk_service", "KIROKU_BOOTSTRAP_ADMIN_TOKEN_FILE="+tokenFile, "KIROKU_LOG_LEVEL=error",
		"KIROKU_INGEST_LISTEN="+ingestAddr, "KIROKU_BUFFER_LISTEN="+bufferAddr, "KIROKU_BUFFER_ADDR="+bufferAddr,
		"KIROKU_INGEST_METRICS=off", "KIROKU_BUFFER_METRICS=off", "KIROKU_BUFFER_CEILING_BYTES=4194304")
	command := func(name string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(p.bin, "kiroku-server"), name)
		cmd.Env, cmd.Stderr = env, os.Stderr
		return cmd
	}
	if err := command("migrate").Run(); err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	for _, name := range []string{"buffer", "ingest"} {
		cmd := command(name)
		if err := cmd.Start(); err != nil {
			pr.stop()
			return nil, err
		}
		pr.processes = append(pr.processes, cmd)
	}
	if err := pr.connect(ctx, ingestAddr); err != nil {
		pr.stop()
		return nil, err
	}
	return pr, nil
}

// connect waits until ingest answers.
func (pr *pair) connect(ctx context.Context, addr string) (err error) {
	if pr.conn, err = grpcclient.Dial(grpcclient.Config{Addr: addr}); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(pr.call(ctx), startTimeout)
	defer cancel()
	_, err = ingestv1.NewIngestServiceClient(pr.conn).WhoAmI(ctx, &ingestv1.WhoAmIRequest{}, grpc.WaitForReady(true))
	return err
}

func (pr *pair) call(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+pr.token)
}

func (pr *pair) stop() {
	if pr.conn != nil {
		_ = pr.conn.Close()
	}
	for _, cmd := range pr.processes {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		force := time.AfterFunc(15*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		force.Stop()
	}
}

// freeAddresses are two loopback addresses that nobody listens on.
func freeAddresses(ctx context.Context) (first, second string, err error) {
	var listen net.ListenConfig
	a, errA := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	b, errB := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err := errors.Join(errA, errB); err != nil {
		return "", "", err
	}
	first, second = a.Addr().String(), b.Addr().String()
	return first, second, errors.Join(a.Close(), b.Close())
}

// newDatabase makes an empty database beside the given one and returns its URL.
func newDatabase(ctx context.Context, serverURL, name string) (string, error) {
	admin, err := pgx.Connect(ctx, serverURL)
	if err != nil {
		return "", err
	}
	defer func() { _ = admin.Close(ctx) }()
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	u, err := url.Parse(serverURL)
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}
