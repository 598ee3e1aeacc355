package e2e_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	extractionv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/extraction/v1"
	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	"github.com/kiroku-dev/kiroku/services/e2e/internal/developer"
	"github.com/kiroku-dev/kiroku/services/e2e/internal/server"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

// hookSessions go through the real hook and relay, each of a developer with a machine of their own; the others go straight to ingest, as those of a
// client without a relay. A process for every event takes its time, so all twenty are for the nightly run.
var hookSessions = flag.Int("hook-sessions", 3, "sessions of the fault test that go through hook and relay, of 20")

// The load: 5,000 events in all.
const (
	allSessions     = 20
	turnsPerSession = 25
	directProjects  = 4
	totalEvents     = allSessions * turnsPerSession * eventsPerTurn
	totalTurns      = allSessions * turnsPerSession
	// loadTime bounds the whole, hookTime what each session through the hook adds.
	loadTime, hookTime = 3 * time.Minute, 20 * time.Second
)

// Every service is killed once and Redis is flushed once while events come in. Afterwards every event must be stored once, be
// finished, and every turn must have its record once.
func TestNothingIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), loadTime+time.Duration(*hookSessions)*hookTime)
	defer cancel()
	w := newWorld(ctx, t)
	begun := time.Now()

	var load errgroup.Group
	for i := range allSessions - *hookSessions {
		load.Go(func() error { return w.playDirect(ctx, i) })
	}
	for _, m := range w.machines {
		load.Go(func() error { return w.playHooks(ctx, m) })
	}
	load.Go(func() error { return w.breakThings(ctx) })
	require.NoError(t, load.Wait())
	t.Logf("all sent after %v", time.Since(begun).Round(time.Second))
	for _, m := range w.machines {
		require.NoError(t, m.AwaitSent(ctx, turnsPerSession*eventsPerTurn))
	}
	t.Logf("all arrived after %v", time.Since(begun).Round(time.Second))
	require.NoError(t, settle(ctx, w.extraction, ""))
	t.Logf("all extracted after %v", time.Since(begun).Round(time.Second))
	w.check(ctx, t)
}

// world is what the load runs on.
type world struct {
	services    *server.Services
	postgresURL string
	redis       *redis.Client
	ingest      ingestv1.IngestServiceClient
	extraction  extractionv1.ExtractionServiceClient
	machines    []*developer.Machine

	acknowledged atomic.Int64
	progress     *sync.Cond // signalled when acknowledged grows
}

func newWorld(ctx context.Context, t *testing.T) *world {
	t.Helper()
	dir := shortDir(t)
	w := &world{postgresURL: testenv.Postgres(t), progress: sync.NewCond(&sync.Mutex{})}
	redisURL := testenv.PrivateRedis(t)
	options, err := redis.ParseURL(redisURL)
	require.NoError(t, err)
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	w.redis = redis.NewClient(options)
	t.Cleanup(func() { require.NoError(t, w.redis.Close()) })

	program := filepath.Join(programsDir(t), "kiroku-server")
	w.services, err = server.StartServices(ctx, program, map[string]string{
		"KIROKU_POSTGRES_URL": w.postgresURL, "KIROKU_REDIS_URL": redisURL, "KIROKU_SERVICE_TOKEN": auth.NewSecret(),
		"KIROKU_POSTGRES_MAX_CONNS": "6",
		// Short times, so that what a killed worker held and what Redis forgot comes back soon.
		"KIROKU_EXTRACTION_LEASE": "5s", "KIROKU_BUFFER_RECONCILE": "500ms", "KIROKU_BUFFER_FEED_GRACE": "1s",
		"KIROKU_BUFFER_DUE_IDLE": "500ms", "KIROKU_BUFFER_DUE_AGE": "2s",
	})
	require.NoError(t, err)
	t.Cleanup(w.services.Kill)
	t.Cleanup(func() {
		if t.Failed() {
			for _, name := range server.Names {
				t.Logf("%s:\n%s", name, w.services.Log(name))
			}
		}
	})

	token := grant(t, w.postgresURL, "default", "ana", auth.Scopes...)
	w.ingest = ingestv1.NewIngestServiceClient(dial(t, w.services.Ingest, token))
	w.extraction = extractionv1.NewExtractionServiceClient(dial(t, w.services.Extraction, token))
	tokenFile := filepath.Join(dir, "token")
	writeFile(t, tokenFile, string(token))
	for i := range *hookSessions {
		m, err := developer.New(developer.Options{
			Name: fmt.Sprintf("dev%d", i), Dir: filepath.Join(dir, fmt.Sprintf("dev%d", i)), Bin: programsDir(t),
			Remote: "https://git.example.com/acme/harbor.git", TokenFile: tokenFile,
			Ingest: w.services.Ingest, Retrieval: w.services.Retrieval,
		})
		require.NoError(t, err)
		t.Cleanup(func() {
			closing, cancel := context.WithTimeout(context.Background(), startTime)
			defer cancel()
			require.NoError(t, m.Close(closing))
		})
		w.machines = append(w.machines, m)
	}
	return w
}

// count notes events that were acknowledged.
func (w *world) count(events int) {
	w.acknowledged.Add(int64(events))
	w.progress.L.Lock()
	defer w.progress.L.Unlock()
	w.progress.Broadcast()
}

// await waits until a share of all events, in percent, is acknowledged.
func (w *world) await(ctx context.Context, percent int64) error {
	defer context.AfterFunc(ctx, w.progress.Broadcast)()
	w.progress.L.Lock()
	defer w.progress.L.Unlock()
	for w.acknowledged.Load()*100 < percent*totalEvents {
		if ctx.Err() != nil {
			return fmt.Errorf("%d of %d events after all that time: %w", w.acknowledged.Load(), totalEvents, ctx.Err())
		}
		w.progress.Wait()
	}
	return nil
}

// playDirect sends a session turn by turn. What a killed service did not answer is sent again, as any client must.
func (w *world) playDirect(ctx context.Context, number int) error {
	project := fmt.Sprintf("p_%032x", number%directProjects)
	session := fmt.Sprintf("direct%02d", number)
	for i := range turnsPerSession {
		events := turn(project, session, i)
		if _, err := ingest(ctx, w.ingest, events); err != nil {
			return fmt.Errorf("%s: %w", session, err)
		}
		w.count(len(events))
	}
	return nil
}

// playHooks fires the hooks of a session of Claude Code.
func (w *world) playHooks(ctx context.Context, m *developer.Machine) error {
	session := "hooks-" + m.Name
	for i := range turnsPerSession {
		for n, ev := range turn("", session, i) {
			payload, err := json.Marshal(hookPayload(m, session, fmt.Sprintf("%d_%d", i, n), ev))
			if err != nil {
				return err
			}
			if _, err := m.Fire(ctx, "claude-code", payload, time.Time{}); err != nil {
				return err
			}
			w.count(1)
		}
	}
	return nil
}

// hookPayload is an event as Claude Code tells it.
func hookPayload(m *developer.Machine, session, call string, ev *eventv1.Event) map[string]any {
	payload := map[string]any{"session_id": session, "cwd": m.Root}
	switch ev.GetKind() {
	case eventv1.Kind_KIND_PROMPT:
		payload["hook_event_name"], payload["prompt"] = "UserPromptSubmit", ev.GetBody().GetText().GetContent()
	case eventv1.Kind_KIND_TOOL_USE:
		payload["hook_event_name"], payload["tool_use_id"] = "PostToolUse", "toolu_"+call
		for name, value := range ev.GetBody().GetJson().GetData().GetStructValue().AsMap() {
			payload[name] = value
		}
	default:
		payload["hook_event_name"], payload["last_assistant_message"] = "Stop", ev.GetBody().GetText().GetContent()
	}
	return payload
}

// breakThings kills each service once and flushes Redis once, spread over the load.
func (w *world) breakThings(ctx context.Context) error {
	faults := []func() error{
		func() error { return w.services.Restart(ctx, "ingest") },
		func() error { return w.services.Restart(ctx, "extraction") },
		func() error { return w.redis.FlushAll(ctx).Err() },
		func() error { return w.services.Restart(ctx, "buffer") },
		func() error { return w.services.Restart(ctx, "retrieval") },
	}
	for i, fault := range faults {
		if err := w.await(ctx, int64(15+15*i)); err != nil {
			return err
		}
		if err := fault(); err != nil {
			return err
		}
	}
	return nil
}

// check looks at the truth itself: what the database holds.
func (w *world) check(ctx context.Context, t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(ctx, w.postgresURL)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(ctx)) }()
	for _, c := range []struct {
		what, sql string
		want      int64
	}{
		{"events stored", "SELECT count(*) FROM events", totalEvents},
		{"different events", "SELECT count(DISTINCT event_id) FROM events", totalEvents},
		{"sessions", "SELECT count(*) FROM sessions", allSessions},
		{"sessions whose sequence has a gap or a double", `SELECT count(*) FROM (SELECT session_key FROM events GROUP BY session_key
			HAVING count(*) <> max(seq) OR min(seq) <> 1 OR count(DISTINCT seq) <> count(*)) AS wrong`, 0},
		{"events without a state", "SELECT count(*) FROM events e WHERE NOT EXISTS (SELECT FROM event_state s WHERE s.event_id = e.event_id)", 0},
		{"events that are extracted", "SELECT count(*) FROM event_state WHERE status = 3", totalEvents},
		{"events that failed an attempt for good", "SELECT count(*) FROM event_state WHERE status = 5", 0},
		{"positions given", "SELECT sum(n) FROM org_batches", totalEvents},
		{"last position", "SELECT max(pos) FROM org_log", totalEvents},
		{"records", "SELECT count(*) FROM records WHERE deleted_at IS NULL", totalTurns},
		{"prompts with exactly one record", `SELECT count(*) FROM (SELECT e.event_id FROM events e JOIN record_sources s USING (org_id, event_id)
			JOIN records r USING (org_id, record_id) WHERE e.kind = 1 AND r.deleted_at IS NULL GROUP BY e.event_id HAVING count(*) = 1) AS good`, totalTurns},
		{"events that a record names", "SELECT count(DISTINCT event_id) FROM record_sources", totalEvents},
		{"records that name all events of their turn", fmt.Sprintf(`SELECT count(*) FROM (SELECT record_id FROM record_sources
			GROUP BY record_id HAVING count(*) = %d) AS whole`, eventsPerTurn), totalTurns},
	} {
		var got int64
		require.NoError(t, conn.QueryRow(ctx, c.sql).Scan(&got), c.what)
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}
