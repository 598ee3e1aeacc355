// Package upstream is the connection of a developer's machine to the team's server: one warm
// gRPC connection per service, with the caller's token on every call.
package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	extractionv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/extraction/v1"
	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/config"
)

// MaxMessage is the largest message in bytes, either way: a batch of 8 MiB and its frame.
const MaxMessage = 9 << 20

// Upstream holds the clients. They connect on first use and again after a loss.
type Upstream struct {
	// Ingest takes events in.
	Ingest ingestv1.IngestServiceClient
	// Retrieval gives records back.
	Retrieval retrievalv1.RetrievalServiceClient
	// Extraction tells when everything has become records.
	Extraction extractionv1.ExtractionServiceClient

	token *token
	conns []*grpc.ClientConn
}

// Dial prepares the clients. It does not wait for the server; errors are of the configuration.
func Dial(cfg config.Config, version string) (*Upstream, error) {
	u := &Upstream{token: &token{config: cfg}}
	conns := map[string]*grpc.ClientConn{}
	for _, addr := range []string{cfg.IngestAddr, cfg.RetrievalAddr, cfg.ExtractionAddr} {
		if conns[addr] != nil || addr == "" {
			continue
		}
		conn, err := u.dial(addr, cfg, version)
		if err != nil {
			return nil, errors.Join(err, u.Close())
		}
		conns[addr] = conn
	}
	u.Ingest = ingestv1.NewIngestServiceClient(conns[cfg.IngestAddr])
	u.Retrieval = retrievalv1.NewRetrievalServiceClient(conns[cfg.RetrievalAddr])
	u.Extraction = extractionv1.NewExtractionServiceClient(conns[cfg.ExtractionAddr])
	return u, nil
}

func (u *Upstream) dial(addr string, cfg config.Config, version string) (*grpc.ClientConn, error) {
	transport, err := transportFor(addr, cfg)
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", addr, err)
	}
	conn, err := grpc.NewClient(addr,
		grpc.WithTransportCredentials(transport),
		grpc.WithPerRPCCredentials(u.token),
		grpc.WithUserAgent("kiroku/"+version),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
		// The sender paces its own attempts, so that the channel must not sleep much longer.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
			MinConnectTimeout: 3 * time.Second,
		}),
		grpc.WithIdleTimeout(0),
		grpc.WithDisableServiceConfig(),
	)
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", addr, err)
	}
	u.conns = append(u.conns, conn)
	return conn, nil
}

// transportFor is plain text on this machine and where it was allowed by name, else TLS.
func transportFor(addr string, cfg config.Config) (credentials.TransportCredentials, error) {
	if cfg.TLSCA != "" {
		pem, err := os.ReadFile(cfg.TLSCA)
		if err != nil {
			return nil, fmt.Errorf("TLS certificates: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("TLS certificates: none in %s", cfg.TLSCA)
		}
		return credentials.NewTLS(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}), nil
	}
	if cfg.Insecure || IsLocal(addr) {
		return insecure.NewCredentials(), nil
	}
	return credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12}), nil
}

// IsLocal reports whether a target is on this machine: a loopback address, "localhost", or a
// unix socket.
func IsLocal(target string) bool {
	if u, err := url.Parse(target); err == nil && u.Scheme != "" && (u.Opaque != "" || u.Path != "" || u.Host != "") {
		switch u.Scheme {
		case "unix", "unix-abstract":
			return true
		case "dns", "passthrough":
			target = strings.TrimPrefix(u.Path+u.Opaque, "/")
		}
	}
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		host = target
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Reload reads the token again and reports whether it changed.
func (u *Upstream) Reload() bool { return u.token.reload() }

// TokenSource tells where the token came from; an error when there is none.
func (u *Upstream) TokenSource() (string, error) { return u.token.origin() }

// Warm connects in the background, so that the first question finds a connection.
func (u *Upstream) Warm() {
	for _, conn := range u.conns[:min(2, len(u.conns))] {
		conn.Connect()
	}
}

// Wake ends the pause between attempts to connect.
func (u *Upstream) Wake() {
	for _, conn := range u.conns {
		conn.ResetConnectBackoff()
	}
}

// Close closes the connections.
func (u *Upstream) Close() error {
	var errs []error
	for _, conn := range u.conns {
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}
