package grpcserver_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/grpcclient"
	"github.com/kiroku-dev/kiroku/services/internal/grpcserver"
	"github.com/kiroku-dev/kiroku/services/internal/telemetry"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// oneToken knows the secret "ana" alone; "down" is a store that does not answer.
type oneToken struct{}

func (oneToken) FindToken(_ context.Context, hash [32]byte) (auth.Token, error) {
	switch hash {
	case auth.HashSecret("ana"):
		return auth.Token{OrgID: "o", ActorID: "ana", Scopes: []auth.Scope{auth.ScopeIngest}}, nil
	case auth.HashSecret("down"):
		return auth.Token{}, context.DeadlineExceeded
	}
	return auth.Token{}, auth.ErrBadCredential
}

// handler answers WhoAmI in a way that a test chooses.
type handler struct {
	ingestv1.UnimplementedIngestServiceServer
	whoAmI func(context.Context) (*ingestv1.WhoAmIResponse, error)
}

func (h *handler) WhoAmI(ctx context.Context, _ *ingestv1.WhoAmIRequest) (*ingestv1.WhoAmIResponse, error) {
	return h.whoAmI(ctx)
}

// serve runs a server until the test ends; stop ends it sooner.
func serve(t *testing.T, h *handler, healthy func(context.Context) error) (conn *grpc.ClientConn, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	srv, err := grpcserver.New(ctx, grpcserver.Config{
		Name: "kiroku.ingest.v1.IngestService", Listen: "127.0.0.1:0", Authenticator: auth.NewAuthenticator(oneToken{}, "", time.Now),
		Health: healthy, Grace: 500 * time.Millisecond, Logger: testenv.Logger(t), Registry: telemetry.Registry(),
	})
	require.NoError(t, err)
	ingestv1.RegisterIngestServiceServer(srv, h)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx) }()
	conn, err = grpcclient.Dial(grpcclient.Config{Addr: srv.Addr()})
	require.NoError(t, err)
	var ended atomic.Bool
	stop = func() error {
		if ended.Swap(true) {
			return nil
		}
		cancel()
		return <-done
	}
	t.Cleanup(func() { _ = conn.Close(); require.NoError(t, stop()) })
	return conn, stop
}

func well(context.Context) error { return nil }

func as(ctx context.Context, secret string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+secret)
}

func TestPanicIsInternalAndSaysNothing(t *testing.T) {
	conn, _ := serve(t, &handler{whoAmI: func(context.Context) (*ingestv1.WhoAmIResponse, error) { panic("the payload") }}, well)
	var trailer metadata.MD
	ctx := metadata.AppendToOutgoingContext(as(t.Context(), "ana"), "x-request-id", "my-request")
	_, err := ingestv1.NewIngestServiceClient(conn).WhoAmI(ctx, &ingestv1.WhoAmIRequest{}, grpc.Trailer(&trailer))
	require.Equal(t, codes.Internal, status.Code(err))
	require.NotContains(t, err.Error(), "payload")
	require.Equal(t, []string{"my-request"}, trailer.Get("x-request-id"))
}

func TestCallsWithoutADeadlineGetOneAndHopelessOnesAreRefused(t *testing.T) {
	var left time.Duration
	calls := 0
	conn, _ := serve(t, &handler{whoAmI: func(ctx context.Context) (*ingestv1.WhoAmIResponse, error) {
		until, ok := ctx.Deadline()
		require.True(t, ok)
		left = time.Until(until)
		calls++
		return &ingestv1.WhoAmIResponse{}, nil
	}}, well)
	client := ingestv1.NewIngestServiceClient(conn)
	_, err := client.WhoAmI(as(t.Context(), "ana"), &ingestv1.WhoAmIRequest{})
	require.NoError(t, err)
	require.Positive(t, left)
	ctx, cancel := context.WithTimeout(as(t.Context(), "ana"), 100*time.Microsecond)
	defer cancel()
	_, err = client.WhoAmI(ctx, &ingestv1.WhoAmIRequest{})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	require.Equal(t, 1, calls)
}

func TestTokenStoreThatDoesNotAnswerIsNoBadCredential(t *testing.T) {
	conn, _ := serve(t, &handler{whoAmI: func(context.Context) (*ingestv1.WhoAmIResponse, error) { return &ingestv1.WhoAmIResponse{}, nil }}, well)
	_, err := ingestv1.NewIngestServiceClient(conn).WhoAmI(as(t.Context(), "down"), &ingestv1.WhoAmIRequest{})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err), "a client must not throw its token away for an outage")
}

func TestHealthFollowsTheService(t *testing.T) {
	var ill atomic.Bool
	ill.Store(true)
	conn, _ := serve(t, &handler{}, func(context.Context) error {
		if ill.Load() {
			return errors.New("a store does not answer")
		}
		return nil
	})
	health := healthv1.NewHealthClient(conn)
	state := func() healthv1.HealthCheckResponse_ServingStatus {
		resp, err := health.Check(t.Context(), &healthv1.HealthCheckRequest{Service: "kiroku.ingest.v1.IngestService"})
		if err != nil {
			return healthv1.HealthCheckResponse_UNKNOWN
		}
		return resp.GetStatus()
	}
	testenv.Eventually(t, 10*time.Second, func() bool { return state() == healthv1.HealthCheckResponse_NOT_SERVING }, "not serving at first")
	ill.Store(false)
	testenv.Eventually(t, 10*time.Second, func() bool { return state() == healthv1.HealthCheckResponse_SERVING }, "serving once it is well")
}

func TestStopEndsOpenStreamsWithinTheGrace(t *testing.T) {
	conn, stop := serve(t, &handler{}, well)
	watch, err := healthv1.NewHealthClient(conn).Watch(t.Context(), &healthv1.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = watch.Recv()
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("an open stream holds the stop")
	}
}

func TestPlainTextBeyondLoopbackIsRefused(t *testing.T) {
	cfg := grpcserver.Config{
		Name: "x", Listen: "0.0.0.0:0", Authenticator: auth.NewAuthenticator(oneToken{}, "", time.Now), Health: well,
		Logger: testenv.Logger(t), Registry: telemetry.Registry(),
	}
	_, err := grpcserver.New(t.Context(), cfg)
	require.ErrorIs(t, err, grpcserver.ErrPlaintext)
}
