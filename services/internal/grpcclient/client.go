// Package grpcclient is the only place of the services that dials.
package grpcclient

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/kiroku-dev/kiroku/services/internal/requestid"
)

const (
	maxMessageBytes = 24 << 20
	// defaultTimeout bounds a call whose context has no deadline.
	defaultTimeout = 10 * time.Second
)

// serviceConfig retries what a server that was never reached, or is restarting, refused. Every RPC between the services is
// idempotent.
const serviceConfig = `{
  "loadBalancingConfig": [{"round_robin": {}}],
  "methodConfig": [{
    "name": [{}],
    "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.05s", "maxBackoff": "0.5s", "backoffMultiplier": 3, "retryableStatusCodes": ["UNAVAILABLE"]}
  }]
}`

// Config is how to reach a service.
type Config struct {
	// Addr is host:port.
	Addr string
	// TLS is nil for plain text.
	TLS *tls.Config
	// ServiceToken is the services' own secret; empty when every call brings its caller's credential.
	ServiceToken string
}

// Dial makes a connection. It does not wait for the server: calls do, and fail with UNAVAILABLE.
func Dial(cfg Config) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if cfg.TLS != nil {
		creds = credentials.NewTLS(cfg.TLS)
	}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second}, MinConnectTimeout: 3 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithStatsHandler(otelgrpc.NewClientHandler(otelgrpc.WithFilter(filters.Not(filters.HealthCheck())))),
		grpc.WithChainUnaryInterceptor(bound, carryRequestID),
	}
	if cfg.ServiceToken != "" {
		opts = append(opts, grpc.WithPerRPCCredentials(bearer{secret: cfg.ServiceToken, secure: cfg.TLS != nil}))
	}
	conn, err := grpc.NewClient(cfg.Addr, opts...)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", cfg.Addr, err)
	}
	return conn, nil
}

// AsCaller gives an outgoing call the credential of the incoming one: the other service then decides for itself what the
// caller may see.
func AsCaller(ctx context.Context) context.Context {
	for _, header := range []string{"authorization", "x-kiroku-act-as"} {
		if values := metadata.ValueFromIncomingContext(ctx, header); len(values) > 0 {
			ctx = metadata.AppendToOutgoingContext(ctx, header, values[0])
		}
	}
	return ctx
}

type bearer struct {
	secret string
	secure bool
}

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.secret}, nil
}

func (b bearer) RequireTransportSecurity() bool { return b.secure }

func bound(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultTimeout)
		defer cancel()
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

func carryRequestID(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if id := requestid.From(ctx); id != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, requestid.Header, id)
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}
