package buffer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/kiroku-dev/kiroku/proto/event"
	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/services/internal/app"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/grpcclient"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/telemetry"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	serviceSecret = "kk_service-secret-of-the-tests"
	within        = 15 * time.Second
	project       = "p_1"
)

// harness is a running buffer with its stores.
type harness struct {
	t     *testing.T
	cfg   Config
	db    *pgxpool.Pool
	redis *redis.Client
	org   string
	// client speaks with the services' credential.
	client bufferv1.BufferServiceClient
	conn   *grpc.ClientConn
	stop   func()
	// registry has the metrics of the running service.
	registry *prometheus.Registry
}

// configured is the default configuration on stores of the test's own, in which nothing is due by itself during a test.
func configured(t *testing.T, redisURL, prefix string) Config {
	t.Helper()
	cfg, err := env.ParseAsWithOptions[Config](env.Options{Environment: map[string]string{
		"KIROKU_POSTGRES_URL": testenv.Postgres(t), "KIROKU_SERVICE_TOKEN": serviceSecret, "KIROKU_POSTGRES_MAX_CONNS": "8",
		"KIROKU_REDIS_URL": redisURL, "KIROKU_REDIS_PREFIX": prefix,
		"KIROKU_BUFFER_LISTEN": "127.0.0.1:0", "KIROKU_BUFFER_METRICS": "off",
		"KIROKU_BUFFER_DUE_IDLE": "1h", "KIROKU_BUFFER_DUE_AGE": "2h", "KIROKU_BUFFER_TURN_END_DELAY": "20ms",
		"KIROKU_BUFFER_RECONCILE": "200ms", "KIROKU_BUFFER_FEED_GRACE": "0s",
	}})
	require.NoError(t, err)
	require.NoError(t, cfg.Validate())
	return cfg
}

// start runs a buffer on the shared Redis of the tests.
func start(t *testing.T, change func(*Config)) *harness {
	t.Helper()
	url, prefix := testenv.Redis(t)
	return startOn(t, configured(t, url, prefix), change)
}

func startOn(t *testing.T, cfg Config, change func(*Config)) *harness {
	t.Helper()
	if change != nil {
		change(&cfg)
	}
	h := &harness{t: t, cfg: cfg}
	var err error
	h.db, err = pgxpool.New(t.Context(), cfg.PostgresURL)
	require.NoError(t, err)
	t.Cleanup(h.db.Close)
	opts, err := redis.ParseURL(cfg.RedisURL)
	require.NoError(t, err)
	h.redis = redis.NewClient(opts)
	t.Cleanup(func() { _ = h.redis.Close() })
	h.org = h.newOrg("first")
	h.run()
	t.Cleanup(func() { h.stop() })
	return h
}

// run starts the service and waits until it serves.
func (h *harness) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	h.registry = telemetry.Registry()
	rt := app.Runtime{
		Logger: testenv.Logger(h.t), Registry: h.registry, Version: "test", Ready: func(addr string) { ready <- addr },
	}
	go func() { ended <- Run(ctx, h.cfg, rt) }()
	var addr string
	select {
	case addr = <-ready:
	case err := <-ended:
		require.FailNow(h.t, "the buffer did not start", "%v", err)
	}
	var err error
	h.conn, err = grpcclient.Dial(grpcclient.Config{Addr: addr, ServiceToken: serviceSecret})
	require.NoError(h.t, err)
	h.client = bufferv1.NewBufferServiceClient(h.conn)
	h.stop = func() {
		require.NoError(h.t, h.conn.Close())
		cancel()
		require.NoError(h.t, <-ended)
		h.stop = func() {}
	}
}

// restart stops the service and starts it again on the same stores.
func (h *harness) restart() {
	h.stop()
	h.run()
}

func (h *harness) newOrg(name string) string {
	h.t.Helper()
	org := postgres.OrgIDForName(name)
	h.exec("INSERT INTO orgs (org_id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING", org, name)
	return org
}

// admin is a client with an administrator's token of the organisation of that name.
func (h *harness) admin(name string) bufferv1.BufferServiceClient {
	h.t.Helper()
	pool, err := postgres.Open(h.t.Context(), h.cfg.PostgresURL, postgres.RoleApp, 2)
	require.NoError(h.t, err)
	defer pool.Close()
	secret := auth.NewSecret()
	require.NoError(h.t, postgres.EnsureToken(h.t.Context(), pool, name, "alice", secret, []auth.Scope{auth.ScopeAdmin}))
	conn, err := grpcclient.Dial(grpcclient.Config{Addr: h.conn.Target(), ServiceToken: secret})
	require.NoError(h.t, err)
	h.t.Cleanup(func() { _ = conn.Close() })
	return bufferv1.NewBufferServiceClient(conn)
}

func (h *harness) exec(sql string, args ...any) {
	h.t.Helper()
	_, err := h.db.Exec(h.t.Context(), sql, args...)
	require.NoError(h.t, err)
}

// turnEnd makes an event end a turn.
func turnEnd(ev *eventv1.Event) {
	ev.Lifecycle = &eventv1.Lifecycle{Type: eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_END}
}

// prompts are n events, the last one changed.
func prompts(n int, change ...func(*eventv1.Event)) []*eventv1.Event {
	events := make([]*eventv1.Event, n)
	for i := range events {
		events[i] = &eventv1.Event{
			EventId: event.NewID(time.Now()), Kind: eventv1.Kind_KIND_PROMPT, ActorId: "alice", SessionId: "s",
			Body: &eventv1.Body{Body: &eventv1.Body_Text{Text: &eventv1.TextBody{Content: fmt.Sprint("prompt ", i)}}},
		}
	}
	for _, c := range change {
		c(events[n-1])
	}
	return events
}

// store commits events as ingest does: the log and the outbox.
func (h *harness) store(org, project string, events []*eventv1.Event) {
	h.t.Helper()
	ctx := h.t.Context()
	var session int64
	require.NoError(h.t, h.db.QueryRow(ctx, `
		INSERT INTO sessions (org_id, actor_id, session_id, project_id, surface, last_seq, min_event_id, max_event_id, started_at, last_event_at)
		VALUES ($1, 'alice', $2, $2, 'test', 0, '', '', now(), now())
		ON CONFLICT (org_id, actor_id, session_id) DO UPDATE SET last_event_at = now() RETURNING session_key`, org, project).Scan(&session))
	now := time.Now()
	logs, states := make([][]any, len(events)), make([][]any, len(events))
	for i, ev := range events {
		payload, err := proto.Marshal(ev)
		require.NoError(h.t, err)
		batch := [16]byte{}
		copy(batch[:], ev.GetEventId()[10:])
		logs[i] = []any{org, ev.GetEventId(), session, int64(i), batch, int32(i), project, "alice", int16(ev.GetKind()), "prompt", now, now, false, []byte{}, payload}
		states[i] = []any{org, ev.GetEventId(), project, session, now, now}
	}
	_, err := h.db.CopyFrom(ctx, pgx.Identifier{"events"}, []string{
		"org_id", "event_id", "session_key", "seq", "batch_id", "ix", "project_id", "actor_id",
		"kind", "event_type", "valid_at", "received_at", "late", "body_hash", "event",
	}, pgx.CopyFromRows(logs))
	require.NoError(h.t, err)
	_, err = h.db.CopyFrom(ctx, pgx.Identifier{"event_state"}, []string{"org_id", "event_id", "project_id", "session_key", "received_at", "updated_at"},
		pgx.CopyFromRows(states))
	require.NoError(h.t, err)
}

// ingest stores events and hands them over.
func (h *harness) ingest(org, project string, events []*eventv1.Event) *bufferv1.AppendResponse {
	h.t.Helper()
	h.store(org, project, events)
	resp, err := h.client.Append(h.t.Context(), &bufferv1.AppendRequest{OrgId: org, ProjectId: project, Events: events})
	require.NoError(h.t, err)
	return resp
}

// lease waits for a batch.
func (h *harness) lease() *bufferv1.LeaseResponse {
	h.t.Helper()
	lease, err := h.client.Lease(h.t.Context(), &bufferv1.LeaseRequest{WorkerId: h.t.Name(), MaxWait: durationpb.New(within)})
	require.NoError(h.t, err)
	require.NotEmpty(h.t, lease.GetLeaseId(), "nothing became due")
	return lease
}

// look asks for a batch without waiting.
func (h *harness) look() *bufferv1.LeaseResponse {
	h.t.Helper()
	lease, err := h.client.Lease(h.t.Context(), &bufferv1.LeaseRequest{})
	require.NoError(h.t, err)
	return lease
}

// finish does what extraction does: the rows are finished, then the entries acknowledged and the lease ended.
func (h *harness) finish(lease *bufferv1.LeaseResponse) *bufferv1.AckResponse {
	h.t.Helper()
	ids := eventIDs(lease)
	tag, err := h.db.Exec(h.t.Context(),
		"UPDATE event_state SET status = 3, updated_at = now() WHERE org_id = $1 AND event_id = ANY($2) AND status = 2 AND fence = $3",
		lease.GetOrgId(), ids, lease.GetFencingToken())
	require.NoError(h.t, err)
	require.EqualValues(h.t, len(ids), tag.RowsAffected(), "every event of a batch is leased under its token")
	acked, err := h.client.Ack(h.t.Context(), &bufferv1.AckRequest{LeaseId: lease.GetLeaseId(), EntryIds: entryIDs(lease), EndLease: true})
	require.NoError(h.t, err)
	return acked
}

func (h *harness) statuses(org string) map[int]int {
	h.t.Helper()
	rows, err := h.db.Query(h.t.Context(), "SELECT status, count(*) FROM event_state WHERE org_id = $1 GROUP BY status", org)
	require.NoError(h.t, err)
	found := make(map[int]int)
	var status, n int
	_, err = pgx.ForEachRow(rows, []any{&status, &n}, func() error { found[status] = n; return nil })
	require.NoError(h.t, err)
	return found
}

func (h *harness) stats(client bufferv1.BufferServiceClient) *bufferv1.GetStatsResponse {
	h.t.Helper()
	stats, err := client.GetStats(h.t.Context(), &bufferv1.GetStatsRequest{})
	require.NoError(h.t, err)
	return stats
}

// expireLeases moves the ends of all running leases into the past.
func (h *harness) expireLeases() {
	h.t.Helper()
	keys, err := h.redis.Keys(h.t.Context(), h.cfg.RedisPrefix+":*:run").Result()
	require.NoError(h.t, err)
	require.NotEmpty(h.t, keys, "no lease is running")
	for _, key := range keys {
		for _, member := range h.redis.ZRange(h.t.Context(), key, 0, -1).Val() {
			require.NoError(h.t, h.redis.ZAdd(h.t.Context(), key, redis.Z{Score: 1, Member: member}).Err())
		}
	}
}

// metric is the value of a counter or gauge, without its fraction.
func (h *harness) metric(name string) int64 {
	h.t.Helper()
	families, err := h.registry.Gather()
	require.NoError(h.t, err)
	for _, f := range families {
		if f.GetName() == name {
			return int64(f.GetMetric()[0].GetCounter().GetValue() + f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	require.Fail(h.t, "no metric", name)
	return 0
}

func (h *harness) healthy() healthv1.HealthCheckResponse_ServingStatus {
	h.t.Helper()
	resp, err := healthv1.NewHealthClient(h.conn).Check(h.t.Context(), &healthv1.HealthCheckRequest{})
	require.NoError(h.t, err)
	return resp.GetStatus()
}

func eventIDs(lease *bufferv1.LeaseResponse) []string {
	ids := make([]string, len(lease.GetEvents()))
	for i, e := range lease.GetEvents() {
		ids[i] = e.GetEvent().GetEventId()
	}
	return ids
}

func entryIDs(lease *bufferv1.LeaseResponse) []string {
	ids := make([]string, len(lease.GetEvents()))
	for i, e := range lease.GetEvents() {
		ids[i] = e.GetEntryId()
	}
	return ids
}

func idsOf(events []*eventv1.Event) []string {
	ids := make([]string, len(events))
	for i, ev := range events {
		ids[i] = ev.GetEventId()
	}
	return ids
}
