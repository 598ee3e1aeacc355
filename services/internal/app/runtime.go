// Package app is the life of a process: configuration that several services share, the order of starting and stopping.
package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/grpcclient"
	"github.com/kiroku-dev/kiroku/services/internal/grpcserver"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"

	"google.golang.org/grpc"
)

// Runtime is what a process lends to the services in it.
type Runtime struct {
	Logger   *slog.Logger
	Registry *prometheus.Registry
	Version  string
	// Ready is called once, when the service's address is bound and its stores have answered. Never nil.
	Ready func(addr string)
}

// Shared is the configuration that every service has. Secrets are given as files; the plain variable is for development.
type Shared struct {
	PostgresURL      string        `env:"KIROKU_POSTGRES_URL"`
	PostgresURLFile  string        `env:"KIROKU_POSTGRES_URL_FILE"`
	PostgresMaxConns int32         `env:"KIROKU_POSTGRES_MAX_CONNS" envDefault:"12"`
	ServiceToken     string        `env:"KIROKU_SERVICE_TOKEN"`
	ServiceTokenFile string        `env:"KIROKU_SERVICE_TOKEN_FILE"`
	TLSCertFile      string        `env:"KIROKU_TLS_CERT_FILE"`
	TLSKeyFile       string        `env:"KIROKU_TLS_KEY_FILE"`
	TLSCAFile        string        `env:"KIROKU_TLS_CA_FILE"`
	Plaintext        bool          `env:"KIROKU_PLAINTEXT" envDefault:"false"`
	Grace            time.Duration `env:"KIROKU_GRACE" envDefault:"5s"`
}

// Resolve reads what was given as files and reports everything that is missing or doubled at once.
func (s *Shared) Resolve() error {
	return errors.Join(
		ReadSecret(&s.PostgresURL, s.PostgresURLFile, "KIROKU_POSTGRES_URL"),
		ReadSecret(&s.ServiceToken, s.ServiceTokenFile, "KIROKU_SERVICE_TOKEN"),
	)
}

// ReadSecret fills a secret from its file. Exactly one of value and file must be given.
func ReadSecret(value *string, file, name string) error {
	switch {
	case *value != "" && file != "":
		return fmt.Errorf("%s and %s_FILE are both set: give one", name, name)
	case *value != "":
		return nil
	case file == "":
		return fmt.Errorf("%s or %s_FILE must be set", name, name)
	}
	content, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return fmt.Errorf("%s_FILE: %w", name, err)
	}
	if *value = strings.TrimSpace(string(content)); *value == "" {
		return fmt.Errorf("%s_FILE: %s is empty", name, file)
	}
	return nil
}

// ServerTLS is the server's side of TLS; nil when none is configured. The certificate is read again for every handshake, so that
// a renewed one is used without a restart.
func (s *Shared) ServerTLS() (*tls.Config, error) {
	if s.TLSCertFile == "" && s.TLSKeyFile == "" {
		return nil, nil //nolint:nilnil // no TLS is a configuration, not an error
	}
	if _, err := tls.LoadX509KeyPair(s.TLSCertFile, s.TLSKeyFile); err != nil {
		return nil, fmt.Errorf("KIROKU_TLS_CERT_FILE, KIROKU_TLS_KEY_FILE: %w", err)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			cert, err := tls.LoadX509KeyPair(s.TLSCertFile, s.TLSKeyFile)
			return &cert, err
		},
	}, nil
}

// ClientTLS is the clients' side of TLS; nil when none is configured.
func (s *Shared) ClientTLS() (*tls.Config, error) {
	if s.TLSCAFile == "" {
		return nil, nil //nolint:nilnil // no TLS is a configuration, not an error
	}
	pem, err := os.ReadFile(s.TLSCAFile)
	if err != nil {
		return nil, fmt.Errorf("KIROKU_TLS_CA_FILE: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("KIROKU_TLS_CA_FILE: %s holds no certificate", s.TLSCAFile)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}, nil
}

// Dial connects to another service under the services' own credential.
func (s *Shared) Dial(addr string) (*grpc.ClientConn, error) {
	clientTLS, err := s.ClientTLS()
	if err != nil {
		return nil, err
	}
	return grpcclient.Dial(grpcclient.Config{Addr: addr, TLS: clientTLS, ServiceToken: s.ServiceToken})
}

// DialAsCaller connects to another service for calls that carry their caller's credential (grpcclient.AsCaller).
func (s *Shared) DialAsCaller(addr string) (*grpc.ClientConn, error) {
	clientTLS, err := s.ClientTLS()
	if err != nil {
		return nil, err
	}
	return grpcclient.Dial(grpcclient.Config{Addr: addr, TLS: clientTLS})
}

// Stores are the pools that every service opens.
type Stores struct {
	App    *postgres.Pool
	Worker *postgres.Pool
}

// OpenStores opens both pools, trying until the context ends while Postgres does not answer.
func (s *Shared) OpenStores(ctx context.Context, logger *slog.Logger) (*Stores, error) {
	open := func(role postgres.Role, conns int32) (*postgres.Pool, error) {
		return retryUnavailable(ctx, logger, func() (*postgres.Pool, error) {
			return postgres.Open(ctx, s.PostgresURL, role, conns)
		})
	}
	appPool, err := open(postgres.RoleApp, s.PostgresMaxConns)
	if err != nil {
		return nil, err
	}
	workerPool, err := open(postgres.RoleWorker, max(2, s.PostgresMaxConns/4))
	if err != nil {
		appPool.Close()
		return nil, err
	}
	return &Stores{App: appPool, Worker: workerPool}, nil
}

// Close closes both pools.
func (st *Stores) Close() {
	st.App.Close()
	st.Worker.Close()
}

func retryUnavailable[T any](ctx context.Context, logger *slog.Logger, try func() (T, error)) (T, error) {
	wait := 100 * time.Millisecond
	for {
		value, err := try()
		if err == nil || !postgres.IsUnavailable(err) {
			return value, err
		}
		logger.WarnContext(ctx, "postgres does not answer yet", "err", err)
		select {
		case <-ctx.Done():
			return value, errors.Join(err, ctx.Err())
		case <-time.After(wait):
		}
		wait = min(2*wait, 3*time.Second)
	}
}

// ServerConfig is a gRPC server's configuration with everything that services share filled in.
func (s *Shared) ServerConfig(rt Runtime, stores *Stores, name, listen string, health func(context.Context) error) (grpcserver.Config, error) {
	serverTLS, err := s.ServerTLS()
	if err != nil {
		return grpcserver.Config{}, err
	}
	return grpcserver.Config{
		Name: name, Listen: listen, TLS: serverTLS, Plaintext: s.Plaintext,
		Authenticator: auth.NewAuthenticator(postgres.Tokens{Pool: stores.Worker}, s.ServiceToken, time.Now),
		Health:        health, Grace: s.Grace, Logger: rt.Logger, Registry: rt.Registry,
	}, nil
}
