package ingest_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kiroku-dev/kiroku/proto/event"
	adminv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/admin/v1"
	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	"github.com/kiroku-dev/kiroku/services/ingest"
	"github.com/kiroku-dev/kiroku/services/internal/app"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/grpcclient"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/telemetry"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

// received keeps what ingest hands to the buffer, over the real wire.
type received struct {
	bufferv1.UnimplementedBufferServiceServer
	mu     sync.Mutex
	events []*eventv1.Event
}

func (r *received) Append(_ context.Context, req *bufferv1.AppendRequest) (*bufferv1.AppendResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, req.GetEvents()...)
	return &bufferv1.AppendResponse{Appended: int32(len(req.GetEvents()))}, nil
}

func (r *received) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

type bench struct {
	url    string
	buffer *received
	ingest ingestv1.IngestServiceClient
	admin  adminv1.AdminServiceClient
}

const (
	adminSecret = "kk_admin"
	anaSecret   = "kk_ana"
	blueSecret  = "kk_blue"
)

func setup(t *testing.T) bench {
	t.Helper()
	url := testenv.Postgres(t)
	pool, err := postgres.Open(t.Context(), url, postgres.RoleApp, 2)
	require.NoError(t, err)
	defer pool.Close()
	member := []auth.Scope{auth.ScopeIngest, auth.ScopeRead}
	require.NoError(t, postgres.EnsureToken(t.Context(), pool, "red", "root", adminSecret, auth.Scopes))
	require.NoError(t, postgres.EnsureToken(t.Context(), pool, "red", "ana", anaSecret, member))
	require.NoError(t, postgres.EnsureToken(t.Context(), pool, "blue", "ana", blueSecret, member))

	b := bench{url: url, buffer: &received{}}
	cfg := ingest.Config{Listen: "127.0.0.1:0", Metrics: "off", BufferAddr: serveBuffer(t, b.buffer), RetrievalAddr: "127.0.0.1:1"}
	cfg.PostgresURL, cfg.PostgresMaxConns, cfg.ServiceToken, cfg.Grace = url, 8, "shared", time.Second
	conn := run(t, cfg)
	b.ingest, b.admin = ingestv1.NewIngestServiceClient(conn), adminv1.NewAdminServiceClient(conn)
	return b
}

func serveBuffer(t *testing.T, r *received) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	bufferv1.RegisterBufferServiceServer(server, r)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// run serves ingest until the test ends and connects to it.
func run(t *testing.T, cfg ingest.Config) *grpc.ClientConn {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ready, done := make(chan string, 1), make(chan error, 1)
	rt := app.Runtime{Logger: testenv.Logger(t), Registry: telemetry.Registry(), Version: "test", Ready: func(addr string) { ready <- addr }}
	go func() { done <- ingest.Run(ctx, cfg, rt) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-done) })
	select {
	case addr := <-ready:
		conn, err := grpcclient.Dial(grpcclient.Config{Addr: addr})
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	case err := <-done:
		done <- err
		require.NoError(t, err, "ingest ended")
	}
	return nil
}

func as(t *testing.T, secret string, more ...string) context.Context {
	t.Helper()
	return metadata.AppendToOutgoingContext(t.Context(), append([]string{"authorization", "Bearer " + secret}, more...)...)
}

func prompt(text string) *eventv1.Event {
	return &eventv1.Event{
		EventId: event.NewID(time.Now()), Kind: eventv1.Kind_KIND_PROMPT, Namespace: "/actor//project/p_1/", SessionId: "s1",
		ValidTime: "2026-05-02T09:10:11+02:00", Source: &eventv1.Source{Surface: "claude-code"},
		Body: &eventv1.Body{Body: &eventv1.Body_Text{Text: &eventv1.TextBody{Content: text}}},
	}
}

func requireReason(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	require.Equal(t, code, status.Code(err), "%v", err)
	infos := 0
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			require.Equal(t, reason, info.GetReason())
			require.Equal(t, "kiroku.dev", info.GetDomain())
			infos++
		}
	}
	require.Equal(t, 1, infos, "exactly one ErrorInfo")
}

func TestBatchIsJudgedItemByItem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	foreign, reserved, huge, broken := prompt("x"), prompt("x"), prompt(strings.Repeat("é", event.IngestBodyLimit/2)), prompt("x")
	foreign.ActorId = "ben"
	foreign.Namespace = "/actor/ben/project/p_1/"
	reserved.Metadata = &eventv1.Metadata{Labels: map[string]string{"Org_ID": "blue"}}
	broken.ValidTime, broken.SessionId = "yesterday", ""
	events := []*eventv1.Event{prompt("first"), foreign, reserved, huge, broken, prompt("second")}
	resp, err := b.ingest.IngestEvents(as(t, anaSecret), &ingestv1.IngestEventsRequest{Events: events})
	require.NoError(t, err)
	results := resp.GetResults()
	require.Len(t, results, len(events))
	require.True(t, results[0].GetStored() && results[5].GetStored())
	require.EqualValues(t, 1, results[0].GetSequenceNumber())
	require.EqualValues(t, 2, results[5].GetSequenceNumber())
	require.Equal(t, errorv1.ErrorReason_ERROR_REASON_FOREIGN_ACTOR, results[1].GetError().GetReason())
	require.Contains(t, results[2].GetError().GetViolations()[0].GetField(), "metadata.labels")
	require.Equal(t, errorv1.ErrorReason_ERROR_REASON_EVENT_TOO_LARGE, results[3].GetError().GetReason())
	var fields []string
	for _, v := range results[4].GetError().GetViolations() {
		fields = append(fields, v.GetField())
	}
	require.ElementsMatch(t, []string{"valid_time", "session_id"}, fields)
	testenv.Eventually(t, 10*time.Second, func() bool { return b.buffer.count() == 2 }, "stored events reach the buffer, refused ones do not")
}

func TestRepeatAnswersWithTheStoredOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ev := prompt("once")
	first, err := b.ingest.IngestEvent(as(t, anaSecret), &ingestv1.IngestEventRequest{Event: ev})
	require.NoError(t, err)
	again, err := b.ingest.IngestEvent(as(t, anaSecret), &ingestv1.IngestEventRequest{Event: ev})
	require.NoError(t, err)
	require.True(t, first.GetResult().GetStored())
	require.False(t, again.GetResult().GetStored() || again.GetResult().GetContentDiffers())
	require.Equal(t, first.GetResult().GetPosition(), again.GetResult().GetPosition())
	other := prompt("once")
	other.EventId, other.SessionId = ev.GetEventId(), "another"
	_, err = b.ingest.IngestEvent(as(t, anaSecret), &ingestv1.IngestEventRequest{Event: other})
	requireReason(t, err, codes.AlreadyExists, "EVENT_ID_TAKEN")

	_, err = b.ingest.IngestEvent(as(t, blueSecret), &ingestv1.IngestEventRequest{Event: ev})
	require.NoError(t, err, "another organisation's id swallows no event")
}

func TestIdentityComesFromTheCredential(t *testing.T) {
	t.Parallel()
	b := setup(t)
	who, err := b.ingest.WhoAmI(as(t, anaSecret), &ingestv1.WhoAmIRequest{})
	require.NoError(t, err)
	require.Equal(t, "ana", who.GetActorId())
	require.Equal(t, []string{"ingest", "read"}, who.GetScopes())
	_, err = b.ingest.WhoAmI(t.Context(), &ingestv1.WhoAmIRequest{})
	requireReason(t, err, codes.Unauthenticated, "BAD_CREDENTIAL")
	_, err = b.ingest.WhoAmI(as(t, anaSecret, "x-kiroku-act-as", "ben"), &ingestv1.WhoAmIRequest{})
	requireReason(t, err, codes.PermissionDenied, "MISSING_SCOPE")
	who, err = b.ingest.WhoAmI(as(t, adminSecret, "x-kiroku-act-as", "ben"), &ingestv1.WhoAmIRequest{})
	require.NoError(t, err)
	require.Equal(t, "ben", who.GetActorId())
}

func TestPrivatePassagesReachNeitherPostgresNorTheBuffer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ev := prompt("keep <PRIVATE>zanzibar <private>zanzibar</private> zanzibar</private> this")
	ev.ProjectName = "harbor <private>zanzibar"
	ev.Tool = &eventv1.ToolFacts{Command: "echo <private>zanzibar</private>", Files: []string{"a/<private>zanzibar</private>.go"}}
	ev.Metadata = &eventv1.Metadata{Labels: map[string]string{"note <private>zanzibar": "<private >zanzibar"}}
	_, err := b.ingest.IngestEvent(as(t, anaSecret), &ingestv1.IngestEventRequest{Event: ev})
	require.NoError(t, err)
	testenv.Eventually(t, 10*time.Second, func() bool { return b.buffer.count() == 1 }, "the event reaches the buffer")
	require.NotContains(t, b.buffer.events[0].String(), "zanzibar")
	conn, err := pgx.Connect(t.Context(), b.url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var row, project string
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT encode(event, 'escape') || events::text, (SELECT name FROM projects) FROM events`).Scan(&row, &project))
	require.NotContains(t, row, "zanzibar")
	require.NotContains(t, project, "zanzibar")
	require.Contains(t, row, "[REDACTED]")
}

func TestStatusIsForTheOwnerAndTheAdministrator(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ev := prompt("x")
	_, err := b.ingest.IngestEvent(as(t, anaSecret), &ingestv1.IngestEventRequest{Event: ev})
	require.NoError(t, err)
	ask := &ingestv1.GetEventStatusRequest{EventIds: []string{event.NewID(time.Now()), ev.GetEventId(), "no id", "\x00"}}
	for secret, found := range map[string]int{anaSecret: 1, adminSecret: 1, blueSecret: 0} {
		resp, err := b.ingest.GetEventStatus(as(t, secret), ask)
		require.NoError(t, err)
		require.Len(t, resp.GetStatuses(), found, secret)
	}
	resp, err := b.ingest.GetEventStatus(as(t, adminSecret, "x-kiroku-act-as", "ben"), ask)
	require.NoError(t, err)
	require.Len(t, resp.GetStatuses(), 1)
	require.Equal(t, ingestv1.EventState_EVENT_STATE_PENDING, resp.GetStatuses()[0].GetState())
	_, err = b.ingest.GetEventStatus(as(t, anaSecret), &ingestv1.GetEventStatusRequest{})
	requireReason(t, err, codes.InvalidArgument, "INVALID_FIELD")
	_, err = b.admin.RevokeToken(as(t, adminSecret), &adminv1.RevokeTokenRequest{TokenId: "\x00"})
	requireReason(t, err, codes.InvalidArgument, "INVALID_FIELD")
}

func TestDegradedContextNeverFailsTheEvent(t *testing.T) {
	t.Parallel()
	b := setup(t) // nothing answers at retrieval's address
	ctx, cancel := context.WithTimeout(as(t, anaSecret), 5*time.Second)
	defer cancel()
	resp, err := b.ingest.IngestEvent(ctx, &ingestv1.IngestEventRequest{Event: prompt("how do we test"), Retrieve: true})
	require.NoError(t, err)
	require.True(t, resp.GetResult().GetStored())
	require.Empty(t, resp.GetContext().GetText())
	require.NotEmpty(t, resp.GetContext().GetDegraded())
}

func TestTokensAreMadeListedAndRevoked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := as(t, adminSecret)
	_, err := b.admin.CreateToken(as(t, anaSecret), &adminv1.CreateTokenRequest{ActorId: "x", Scopes: []string{"read"}})
	requireReason(t, err, codes.PermissionDenied, "MISSING_SCOPE")
	_, err = b.admin.CreateToken(admin, &adminv1.CreateTokenRequest{ActorId: "a/b", Scopes: []string{"fly"}})
	requireReason(t, err, codes.InvalidArgument, "INVALID_FIELD")
	created, err := b.admin.CreateToken(admin, &adminv1.CreateTokenRequest{ActorId: "kei", Scopes: []string{"ingest"}, Description: "laptop"})
	require.NoError(t, err)
	_, err = b.ingest.WhoAmI(as(t, created.GetSecret()), &ingestv1.WhoAmIRequest{})
	require.NoError(t, err)

	page, err := b.admin.ListTokens(admin, &adminv1.ListTokensRequest{PageSize: 2})
	require.NoError(t, err)
	require.Equal(t, "kei", page.GetTokens()[0].GetActorId())
	rest, err := b.admin.ListTokens(admin, &adminv1.ListTokensRequest{PageSize: 2, PageToken: page.GetNextPageToken()})
	require.NoError(t, err)
	require.Len(t, rest.GetTokens(), 1)
	require.Empty(t, rest.GetNextPageToken())
	_, err = b.admin.ListTokens(admin, &adminv1.ListTokensRequest{PageToken: "nonsense"})
	requireReason(t, err, codes.InvalidArgument, "BAD_PAGE_TOKEN")

	_, err = b.admin.RevokeToken(admin, &adminv1.RevokeTokenRequest{TokenId: created.GetToken().GetTokenId()})
	require.NoError(t, err)
	testenv.Eventually(t, 5*time.Second, func() bool {
		_, err := b.ingest.WhoAmI(as(t, created.GetSecret()), &ingestv1.WhoAmIRequest{})
		return status.Code(err) == codes.Unauthenticated
	}, "a revoked token is refused soon")
	_, err = b.admin.RevokeToken(admin, &adminv1.RevokeTokenRequest{TokenId: event.NewID(time.Now())})
	requireReason(t, err, codes.NotFound, "NOT_FOUND")
}

func TestBatchLimits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.ingest.IngestEvents(as(t, anaSecret), &ingestv1.IngestEventsRequest{})
	requireReason(t, err, codes.InvalidArgument, "INVALID_FIELD")
	_, err = b.ingest.IngestEvents(as(t, anaSecret), &ingestv1.IngestEventsRequest{Events: make([]*eventv1.Event, event.MaxBatchEvents+1)})
	requireReason(t, err, codes.InvalidArgument, "BATCH_TOO_LARGE")
	large := prompt(strings.Repeat("x", 900_000))
	events := make([]*eventv1.Event, 10)
	for i := range events {
		events[i] = large
	}
	_, err = b.ingest.IngestEvents(as(t, anaSecret), &ingestv1.IngestEventsRequest{Events: events})
	requireReason(t, err, codes.InvalidArgument, "BATCH_TOO_LARGE")
}
