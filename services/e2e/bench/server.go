package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/kiroku-dev/kiroku/services/internal/grpcclient"
	"github.com/kiroku-dev/kiroku/services/internal/privatestore"
)

// discard keeps the stores and migrations quiet: the page is the output.
var discard = slog.New(slog.DiscardHandler)

// startTimeout is how long the server may take to come up.
const startTimeout = time.Minute

// server is a standalone server on private stores of the benchmark.
type server struct {
	dir       string
	stores    *privatestore.Stores
	process   *exec.Cmd
	token     string
	addresses map[string]string
}

func startServer(ctx context.Context, bin string) (*server, error) {
	dir, err := os.MkdirTemp("", "kiroku-bench-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	if err := os.Chmod(dir, 0o755); err != nil { // the private servers may run as another user
		return nil, err
	}
	s.stores, err = privatestore.Start(ctx, privatestore.Config{
		DataDir: filepath.Join(dir, "stores"), Logger: discard, NeedPostgres: true, NeedRedis: true,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	data := filepath.Join(dir, "server")
	s.process = exec.Command(filepath.Join(bin, "kiroku-server"), "standalone")
	s.process.Stderr = os.Stderr
	s.process.Env = append(os.Environ(), "KIROKU_DATA_DIR="+data, "KIROKU_POSTGRES_URL="+s.stores.PostgresURL(), "KIROKU_REDIS_URL="+s.stores.RedisURL(),
		"KIROKU_METRICS=127.0.0.1:0", "KIROKU_INGEST_LISTEN=127.0.0.1:0", "KIROKU_BUFFER_LISTEN=127.0.0.1:0",
		"KIROKU_EXTRACTION_LISTEN=127.0.0.1:0", "KIROKU_RETRIEVAL_LISTEN=127.0.0.1:0")
	if err := s.process.Start(); err != nil {
		s.stop(ctx)
		return nil, err
	}
	if err := s.await(ctx, data); err != nil {
		s.stop(ctx)
		return nil, err
	}
	return s, nil
}

// await reads the addresses as soon as the server has written them.
func (s *server) await(ctx context.Context, data string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		lines, err := os.ReadFile(filepath.Join(data, "addresses"))
		if err == nil {
			s.addresses = make(map[string]string)
			for _, line := range strings.Fields(string(lines)) {
				name, value, _ := strings.Cut(line, "=")
				s.addresses[name] = value
			}
			token, err := os.ReadFile(filepath.Join(data, "admin-token"))
			s.token = strings.TrimSpace(string(token))
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server did not come up: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

// dial connects to one of the services, by the name of its address variable.
func (s *server) dial(name string) (*grpc.ClientConn, error) {
	return grpcclient.Dial(grpcclient.Config{Addr: s.addresses[name]})
}

// call is the context of a call with the benchmark's token.
func (s *server) call(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.token)
}

// stop ends the server and its stores, also when ctx has ended.
func (s *server) stop(ctx context.Context) {
	if s.process != nil && s.process.Process != nil {
		_ = s.process.Process.Signal(syscall.SIGTERM)
		_ = s.process.Wait()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	if s.stores != nil {
		if err := s.stores.Stop(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
	_ = os.RemoveAll(s.dir)
}
