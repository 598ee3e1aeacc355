package retrieval_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/internal/app"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/storetest"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
	"github.com/kiroku-dev/kiroku/services/retrieval"
)

const project = "p_app"

// world is a database with the service in front of it.
type world struct {
	t    testing.TB
	url  string
	pool *postgres.Pool
	org  string
	addr string
}

// newWorld starts the service on a database of its own.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, url: testenv.Postgres(t), org: postgres.OrgIDForName("acme")}
	pool, err := postgres.Open(t.Context(), w.url, postgres.RoleApp, 4)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	w.pool = pool
	require.NoError(t, postgres.EnsureToken(t.Context(), pool, "acme", "admin", auth.NewSecret(), auth.Scopes))
	w.addr = w.serve(w.url, 64<<20)
	return w
}

// serve starts another instance and stops it with the test.
func (w *world) serve(url string, indexBytes int) string {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan string, 1)
	done := make(chan error, 1)
	cfg := retrieval.Config{
		Shared: app.Shared{PostgresURL: url, PostgresMaxConns: 6, ServiceToken: "unused", Grace: time.Second},
		Listen: "127.0.0.1:0", Metrics: "off", IndexBytes: indexBytes, ContextTokens: 1500,
	}
	require.NoError(w.t, cfg.Validate())
	go func() {
		done <- retrieval.Run(ctx, cfg, app.Runtime{
			Logger: testenv.Logger(w.t), Registry: prometheus.NewRegistry(), Version: "test", Ready: func(addr string) { ready <- addr },
		})
	}()
	w.t.Cleanup(func() {
		cancel()
		require.NoError(w.t, <-done)
	})
	select {
	case addr := <-ready:
		return addr
	case err := <-done:
		done <- err
		require.NoError(w.t, err)
		return ""
	}
}

// client calls as an actor of an organisation.
type client struct {
	retrievalv1.RetrievalServiceClient
	secret string
}

func (w *world) client(org, actor string) client { return w.clientAt(w.addr, org, actor) }

func (w *world) clientAt(addr, org, actor string) client {
	w.t.Helper()
	secret := auth.NewSecret()
	require.NoError(w.t, postgres.EnsureToken(w.t.Context(), w.pool, org, actor, secret, []auth.Scope{auth.ScopeRead}))
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return invoke(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+secret), method, req, reply, cc, opts...)
		}))
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close() })
	return client{RetrievalServiceClient: retrievalv1.NewRetrievalServiceClient(conn), secret: secret}
}

func (w *world) write(records ...*recordv1.Record) {
	w.t.Helper()
	require.NoError(w.t, storetest.WriteRecords(w.t.Context(), w.pool, w.org, project, records...))
}

func (w *world) remove(ids ...string) {
	w.t.Helper()
	require.NoError(w.t, storetest.DeleteRecords(w.t.Context(), w.pool, w.org, project, ids...))
}

// rec is a record of alice's in a session of hers.
func rec(id, title string, files ...string) *recordv1.Record {
	return &recordv1.Record{
		RecordId: "mr_" + id, ActorId: "alice", SessionId: "s-alice", Title: title, FilesTouched: files,
		ObservationType: recordv1.ObservationType_OBSERVATION_TYPE_BUGFIX, ValidFrom: timestamppb.New(time.Now().Add(-2 * time.Hour).Truncate(time.Microsecond)),
	}
}

func search(t testing.TB, c client, query string) []string {
	t.Helper()
	resp, err := c.Search(t.Context(), &retrievalv1.SearchRequest{ProjectId: project, Query: query, PageSize: 100})
	require.NoError(t, err)
	return hitIDs(resp)
}

func hitIDs(resp *retrievalv1.SearchResponse) []string {
	ids := []string{}
	for _, hit := range resp.GetHits() {
		ids = append(ids, hit.GetRecord().GetRecordId())
	}
	return ids
}

// ask is a prompt in a session.
func ask(t testing.TB, c client, session, prompt string) *retrievalv1.BuildContextResponse {
	t.Helper()
	resp, err := c.BuildContext(t.Context(), &retrievalv1.BuildContextRequest{
		ProjectId: project, Purpose: retrievalv1.Purpose_PURPOSE_PROMPT, Query: prompt, SessionId: session,
	})
	require.NoError(t, err)
	return resp
}

func laneStates(lanes []*retrievalv1.LaneState) map[string]string {
	states := make(map[string]string)
	for _, lane := range lanes {
		states[lane.GetLane()] = lane.GetState()
	}
	return states
}

// asOwner runs statements past row-level security, as a restore or an administrator would.
func (w *world) asOwner(statements ...string) {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.url)
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, conn.Close(context.WithoutCancel(w.t.Context()))) }()
	for _, statement := range statements {
		_, err := conn.Exec(w.t.Context(), statement)
		require.NoError(w.t, err)
	}
}

// row reads one row of text columns, past row-level security.
func (w *world) row(query string) []string {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.url)
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, conn.Close(context.WithoutCancel(w.t.Context()))) }()
	rows, err := conn.Query(w.t.Context(), query)
	require.NoError(w.t, err)
	out, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) ([]string, error) {
		values, err := row.Values()
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i], _ = v.(string)
		}
		return texts, err
	})
	require.NoError(w.t, err)
	return out
}
