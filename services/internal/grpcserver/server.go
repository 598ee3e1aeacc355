// Package grpcserver is the only place that builds a gRPC server. Its interceptors run in this order: request id,
// metrics, logging, deadline, authentication, error mapping, recovery; tracing is a stats handler.
package grpcserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/kiroku-dev/kiroku/services/internal/auth"
)

// maxMessageBytes is above the 8 MiB of the largest batch.
const maxMessageBytes = 12 << 20

// ErrPlaintext is returned for a listener that others can reach, without TLS and without leave to go without.
var ErrPlaintext = errors.New("refusing plain text on an address that is not loopback: give KIROKU_TLS_CERT_FILE and KIROKU_TLS_KEY_FILE, or set KIROKU_PLAINTEXT=true")

// Config is what a server is built of.
type Config struct {
	// Name is the service's full protobuf name, for its health.
	Name string
	// Listen is the address, host:port.
	Listen string
	// TLS is nil for plain text.
	TLS *tls.Config
	// Plaintext permits plain text on an address that is not loopback.
	Plaintext bool
	// Authenticator finds callers.
	Authenticator *auth.Authenticator
	// Health tells whether the service can do its work; it is asked every few seconds, with a timeout.
	Health func(context.Context) error
	// Grace is how long calls may go on after the server was told to stop.
	Grace time.Duration
	// Logger and Registry are the process's.
	Logger   *slog.Logger
	Registry prometheus.Registerer
}

// Server is a built server.
type Server struct {
	*grpc.Server
	cfg      Config
	health   *health.Server
	listener net.Listener
}

// New builds the server and binds its address.
func New(ctx context.Context, cfg Config) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Name, err)
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); cfg.TLS == nil && !cfg.Plaintext && (!ok || !tcp.IP.IsLoopback()) {
		_ = listener.Close()
		return nil, fmt.Errorf("%s on %s: %w", cfg.Name, cfg.Listen, ErrPlaintext)
	}
	metrics := grpcprom.NewServerMetrics(grpcprom.WithServerHandlingTimeHistogram(
		grpcprom.WithHistogramBuckets([]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10})))
	labelled := prometheus.WrapRegistererWith(prometheus.Labels{"service": cfg.Name}, cfg.Registry)
	if err := labelled.Register(metrics); err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("%s: metrics: %w", cfg.Name, err)
	}
	s := &Server{Server: grpc.NewServer(options(cfg, metrics)...), cfg: cfg, health: health.NewServer(), listener: listener}
	s.health.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
	healthv1.RegisterHealthServer(s.Server, s.health)
	reflection.Register(s.Server)
	return s, nil
}

func options(cfg Config, metrics *grpcprom.ServerMetrics) []grpc.ServerOption {
	opts := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxSendMsgSize(2 * maxMessageBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 30 * time.Minute, Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.StatsHandler(otelgrpc.NewServerHandler(otelgrpc.WithFilter(filters.Not(filters.HealthCheck())))),
		grpc.ChainUnaryInterceptor(
			requestID, metrics.UnaryServerInterceptor(), logCalls(cfg.Logger), deadline, authenticate(cfg.Authenticator), mapErrors(cfg.Logger), recoverPanic,
		),
		grpc.ChainStreamInterceptor(metrics.StreamServerInterceptor(), authenticateStream(cfg.Authenticator), recoverStream),
	}
	if cfg.TLS != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(cfg.TLS)))
	}
	return opts
}

// Addr is the bound address.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve serves until the context ends, then says NOT_SERVING, lets calls finish for the grace period and stops.
func (s *Server) Serve(ctx context.Context) error {
	watch, endWatch := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() { defer close(watched); s.watchHealth(watch) }()
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(stopped); s.shutdown() })
	err := s.Server.Serve(s.listener)
	if !stop() { // the shutdown has begun: its end is ours
		<-stopped
	}
	endWatch()
	<-watched
	if err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("%s: %w", s.cfg.Name, err)
	}
	return nil
}

func (s *Server) shutdown() {
	s.health.Shutdown()
	force := time.AfterFunc(s.cfg.Grace, s.Stop) // an open stream would hold GracefulStop for ever
	defer force.Stop()
	s.GracefulStop()
}
