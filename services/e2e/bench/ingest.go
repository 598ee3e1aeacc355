package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/oklog/ulid/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/kiroku-dev/kiroku/proto/event"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
)

const (
	// connections is how many writers there are, on both sides of the comparison.
	connections = 4
	sessions    = 20
)

// ingest compares durable ingest through gRPC with COPY of the same rows into the same tables.
func (p plan) ingest(ctx context.Context, srv *server, page *strings.Builder) error {
	fmt.Fprintf(page, `
## Durable ingest

%d events of 1 KB from %d sessions, %d connections; a batch holds events of five sessions, as a relay sends those of its own developer. COPY writes the same rows (events and outbox, one transaction for each batch) into the same
tables of a second database, past every check. Ingest goes through gRPC: validation, scrub, hash, numbering, positions, row-level security, commit, and a
copy for the buffer. Extraction does not run meanwhile; both sides and Postgres share the machine's cores.

| batch | COPY, events/s | ingest, events/s | ratio | budget | |
|---|---|---|---|---|---|
`, p.events, sessions, connections)
	pr, err := p.startPair(ctx, srv)
	if err != nil {
		return err
	}
	defer pr.stop()
	client := ingestv1.NewIngestServiceClient(pr.conn)
	twin, err := newTwin(ctx, srv.stores.PostgresURL())
	if err != nil {
		return err
	}
	for _, c := range []struct {
		batch  int
		budget float64
	}{{100, 0.45}, {500, 0.5}} {
		copied, err := p.rate(func(events []*eventv1.Event) error { return twin.copy(ctx, events) }, c.batch)
		if err != nil {
			return fmt.Errorf("copy: %w", err)
		}
		ingested, err := p.rate(func(events []*eventv1.Event) error { return store(pr.call(ctx), client, events) }, c.batch)
		if err != nil {
			return err
		}
		r := ingested / copied
		fmt.Fprintf(page, "| %d | %.0f | %.0f | %.2f | ≥ %.2f | %s |\n", c.batch, copied, ingested, r, c.budget, verdict(r >= c.budget))
	}
	page.WriteString("\nA call holds at most 500 events; calls that wait at the same time share transactions of up to 1,000.\n")
	return p.unary(pr.call(ctx), client, page)
}

// rate runs the writers until all events are stored and gives events per second.
func (p plan) rate(write func([]*eventv1.Event) error, batch int) (float64, error) {
	batches := make(chan []*eventv1.Event, p.events/batch)
	for range p.events / batch {
		batches <- makeEvents(batch)
	}
	close(batches)
	n := len(batches) * batch
	var wg sync.WaitGroup
	failures := make(chan error, connections)
	began := time.Now()
	for range connections {
		wg.Go(func() {
			for events := range batches {
				if err := write(events); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	close(failures)
	if err := <-failures; err != nil {
		return 0, err
	}
	return float64(n) / took.Seconds(), nil
}

func store(ctx context.Context, client ingestv1.IngestServiceClient, events []*eventv1.Event) error {
	resp, err := client.IngestEvents(ctx, &ingestv1.IngestEventsRequest{Events: events})
	if err != nil {
		return err
	}
	for _, result := range resp.GetResults() {
		if !result.GetStored() {
			return fmt.Errorf("an event was not stored: %s", result.GetError().GetMessage())
		}
	}
	return nil
}

// unary measures single events at a steady 500 a second.
func (p plan) unary(ctx context.Context, client ingestv1.IngestServiceClient, page *strings.Builder) error {
	const perSecond, seconds = 500, 6
	var mu sync.Mutex
	var took samples
	var failed atomic.Int64
	var wg sync.WaitGroup
	ticker := time.NewTicker(time.Second / perSecond)
	defer ticker.Stop()
	for range perSecond * seconds {
		<-ticker.C
		wg.Go(func() {
			began := time.Now()
			if err := store(ctx, client, makeEvents(1)); err != nil {
				failed.Add(1)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(began))
		})
	}
	wg.Wait()
	if failed.Load() > 0 {
		return fmt.Errorf("%d of %d single events failed", failed.Load(), perSecond*seconds)
	}
	fmt.Fprintf(page, "\nSingle events at %d/s for %d s: p50 %s ms, p99 %s ms (budget 15 ms: %s).\n", perSecond, seconds, ms(took.at(.5)), ms(took.at(.99)),
		verdict(took.at(.99) <= 15*time.Millisecond))
	return nil
}

var made, madeBatches atomic.Int64

// sessionsOfBatch is how many sessions a batch's events come from: a relay sends those of one developer.
const sessionsOfBatch = 5

// makeEvents makes tool events of about 1 KB.
func makeEvents(n int) []*eventv1.Event {
	events := make([]*eventv1.Event, n)
	group := madeBatches.Add(1) % (sessions / sessionsOfBatch) * sessionsOfBatch
	for i := range events {
		number := made.Add(1)
		data, _ := structpb.NewValue(map[string]any{ // plain values cannot fail
			"tool_name":  "Bash",
			"tool_input": map[string]any{"command": fmt.Sprintf("go test ./pkg/unit%d/...", number%500)},
			"tool_response": map[string]any{
				"stdout": fmt.Sprintf("ok pkg/unit%d 0.%ds\n", number%500, number%97) + strings.Repeat("the test passes and says a little about it; ", 17), "exit_code": 0,
			},
		})
		events[i] = &eventv1.Event{
			EventId: event.NewID(time.Now()), Kind: eventv1.Kind_KIND_TOOL_USE, Namespace: "/actor/bench/project/p_ingest/", ActorId: "bench",
			SessionId: fmt.Sprintf("s-%d", group+number%sessionsOfBatch), ValidTime: time.Now().UTC().Format(time.RFC3339Nano), Source: &eventv1.Source{Surface: "claude-code"},
			Body: &eventv1.Body{Body: &eventv1.Body_Json{Json: &eventv1.JsonBody{Data: data}}},
		}
	}
	return events
}

// twin is a second database with the same schema, written with COPY by its owner.
type twin struct{ pool chan *pgx.Conn }

func newTwin(ctx context.Context, serverURL string) (*twin, error) {
	database, err := newDatabase(ctx, serverURL, "kiroku_copy")
	if err != nil {
		return nil, err
	}
	if err := postgres.Migrate(ctx, database, discard); err != nil {
		return nil, err
	}
	t := &twin{pool: make(chan *pgx.Conn, connections)}
	for range connections {
		conn, err := pgx.Connect(ctx, database)
		if err != nil {
			return nil, err
		}
		t.pool <- conn
	}
	return t, nil
}

var (
	eventColumns = []string{
		"org_id", "event_id", "session_key", "seq", "batch_id", "ix", "project_id", "actor_id", "kind", "event_type", "valid_at", "received_at", "late", "body_hash", "event",
	}
	stateColumns = []string{"org_id", "event_id", "project_id", "session_key", "received_at", "updated_at"}
)

// copy writes one batch as rows that are ready made but for their encoding.
func (t *twin) copy(ctx context.Context, events []*eventv1.Event) error {
	conn := <-t.pool
	defer func() { t.pool <- conn }()
	now := time.Now()
	org, batch := postgres.OrgIDForName("copy"), [16]byte(ulid.Make())
	eventRows, stateRows := make([][]any, len(events)), make([][]any, len(events))
	hash := make([]byte, 32)
	for i, ev := range events {
		bytes, err := proto.Marshal(ev)
		if err != nil {
			return err
		}
		eventRows[i] = []any{
			org, ev.GetEventId(), int64(i % sessions), int64(i), batch, int32(i), "p_ingest", "bench", int16(2), "tool.call.result", now, now, false, hash, bytes,
		}
		stateRows[i] = []any{org, ev.GetEventId(), "p_ingest", int64(i % sessions), now, now}
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"events"}, eventColumns, pgx.CopyFromRows(eventRows)); err != nil {
			return err
		}
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"event_state"}, stateColumns, pgx.CopyFromRows(stateRows))
		return err
	})
}
