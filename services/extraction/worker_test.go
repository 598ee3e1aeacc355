package extraction

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/kiroku-dev/kiroku/proto/event"
	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	"github.com/kiroku-dev/kiroku/services/extraction/rules"
	"github.com/kiroku-dev/kiroku/services/ingest/eventstore"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/record"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

const project = "p_1"

// bench is a worker with a real database; leases are made by hand, so that a test decides where they end.
type bench struct {
	*worker
	store postgres.Tenant
	token int64
}

func setup(t *testing.T) *bench {
	t.Helper()
	pool, err := postgres.Open(t.Context(), testenv.Postgres(t), postgres.RoleApp, 6)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, postgres.EnsureToken(t.Context(), pool, "red", "ana", "s", auth.Scopes))
	store, err := pool.Tenant(auth.Service().ForOrg(postgres.OrgIDForName("red")))
	require.NoError(t, err)
	numbers, err := newMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	return &bench{
		worker: &worker{pool: pool, cfg: Config{Lease: time.Minute}, extractor: rules.New(), metrics: numbers, logger: testenv.Logger(t), now: time.Now},
		store:  store, token: 1,
	}
}

func (b *bench) append(t *testing.T, events ...*eventv1.Event) []*eventv1.Event {
	t.Helper()
	scrubbed := make([]event.Scrubbed, len(events))
	for i, ev := range events {
		event.Normalize(ev)
		require.Empty(t, event.Validate(ev))
		scrubbed[i] = event.Scrub(ev)
	}
	_, err := eventstore.Append(t.Context(), b.store, scrubbed, time.Now())
	require.NoError(t, err)
	return events
}

// lease is a lease of these events under a token.
func (b *bench) lease(token int64, events ...*eventv1.Event) *bufferv1.LeaseResponse {
	lease := &bufferv1.LeaseResponse{LeaseId: "l", FencingToken: token, OrgId: b.store.OrgID(), ProjectId: project}
	for i, ev := range events {
		lease.Events = append(lease.Events, &bufferv1.LeasedEvent{EntryId: fmt.Sprint(i), Event: ev})
	}
	return lease
}

func (b *bench) extract(t *testing.T, events ...*eventv1.Event) *drafts {
	t.Helper()
	b.token++
	d, err := b.work(t.Context(), b.lease(b.token, events...))
	require.NoError(t, err)
	return d
}

func (b *bench) records(t *testing.T) []*recordv1.Record {
	t.Helper()
	var records []*recordv1.Record
	err := b.store.Tx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "SELECT "+record.Columns+" FROM "+record.From+" WHERE r.deleted_at IS NULL ORDER BY r.valid_from, r.record_id")
		if err != nil {
			return err
		}
		records, err = pgx.CollectRows(rows, record.Scan)
		return err
	})
	require.NoError(t, err)
	return records
}

func (b *bench) number(t *testing.T, query string, args ...any) (n int64) {
	t.Helper()
	require.NoError(t, b.store.Tx(t.Context(), func(ctx context.Context, tx pgx.Tx) error { return tx.QueryRow(ctx, query, args...).Scan(&n) }))
	return n
}

const unfinished = "SELECT count(*) FROM event_state WHERE status < 3"

func newEvent(session string, kind eventv1.Kind, body *eventv1.Body) *eventv1.Event {
	return &eventv1.Event{
		EventId: event.NewID(time.Now()), Kind: kind, Namespace: "/actor/ana/project/" + project + "/", ActorId: "ana", SessionId: session,
		ValidTime: time.Now().Format(time.RFC3339Nano), Source: &eventv1.Source{Surface: "claude-code"}, Body: body,
	}
}

func text(s string) *eventv1.Body {
	return &eventv1.Body{Body: &eventv1.Body_Text{Text: &eventv1.TextBody{Content: s}}}
}

func edit(session, file string) *eventv1.Event {
	data, _ := structpb.NewValue(map[string]any{"tool_name": "Edit", "tool_input": map[string]any{"file_path": file}, "tool_response": map[string]any{"success": true}})
	ev := newEvent(session, eventv1.Kind_KIND_TOOL_USE, &eventv1.Body{Body: &eventv1.Body_Json{Json: &eventv1.JsonBody{Data: data}}})
	success := true
	ev.Tool = &eventv1.ToolFacts{Name: "Edit", Class: eventv1.ToolClass_TOOL_CLASS_EDIT, Files: []string{file}, Success: &success}
	return ev
}

// turn is a whole turn about one file.
func turn(session, file string) []*eventv1.Event {
	return []*eventv1.Event{
		newEvent(session, eventv1.Kind_KIND_PROMPT, text("make the checkout in "+file+" idempotent")),
		edit(session, file),
		newEvent(session, eventv1.Kind_KIND_SESSION_SUMMARY, text("The checkout in "+file+" now takes an idempotency key, so a retried request charges once.")),
	}
}

func TestTurnSplitOverLeasesEndsAsOneRecord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	events := b.append(t, turn("s", "shop/checkout.go")...)
	b.extract(t, events[0])
	b.extract(t, events[1])
	b.extract(t, events[2])
	records := b.records(t)
	require.Len(t, records, 1)
	require.Equal(t, []string{"shop/checkout.go"}, records[0].GetFilesTouched())
	require.Contains(t, records[0].GetSourceEventIds(), events[2].GetEventId())
	require.Zero(t, b.number(t, unfinished))

	late := edit("s", "shop/payment.go")
	late.ParentEventId = events[0].GetEventId()
	b.append(t, turn("s", "shop/cart.go")...)
	b.append(t, late)
	b.extract(t, late)
	files := map[string]bool{}
	for _, r := range b.records(t) {
		for _, f := range r.GetFilesTouched() {
			files[f] = true
		}
	}
	require.True(t, files["shop/payment.go"], "a late event joins the turn of its prompt")
	require.Equal(t, records[0].GetRecordId(), b.records(t)[0].GetRecordId(), "the record keeps its id")
}

func TestBatchThatComesTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	events := b.append(t, turn("s", "shop/checkout.go")...)
	b.extract(t, events...)
	before := b.records(t)
	seq := b.number(t, "SELECT change_seq FROM project_state")
	b.token++
	_, err := b.work(t.Context(), b.lease(b.token, events...))
	require.ErrorIs(t, err, errFenced, "events that are finished are not finished again")
	require.Equal(t, before[0].GetUpdatedTime().AsTime(), b.records(t)[0].GetUpdatedTime().AsTime())
	require.Equal(t, seq, b.number(t, "SELECT change_seq FROM project_state"))
}

func TestWorkerThatWasPresumedDeadCommitsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	events := b.append(t, turn("s", "shop/checkout.go")...)
	more := b.append(t, turn("s2", "shop/cart.go")...)
	_, err := b.work(t.Context(), b.lease(20, events...))
	require.NoError(t, err)
	_, err = b.work(t.Context(), b.lease(10, more...))
	require.ErrorIs(t, err, errFenced)
	require.Len(t, b.records(t), 1)
	require.EqualValues(t, len(more), b.number(t, unfinished))
	require.EqualValues(t, 1, b.number(t, "SELECT count(*) FROM extraction_runs"))
}

func TestSameStatementOfTwoTurnsIsOneRecordWithACount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, session := range []string{"s1", "s2", "s3"} {
		events := b.append(t,
			newEvent(session, eventv1.Kind_KIND_PROMPT, text("Always run `gofmt` before committing. Never push to main directly.")),
			edit(session, "shop/"+session+".go"),
			newEvent(session, eventv1.Kind_KIND_SESSION_SUMMARY, text("Formatted shop/"+session+".go.")))
		b.extract(t, events...)
	}
	statements := map[string]int32{}
	for _, r := range b.records(t) {
		_, stands := statements[r.GetTitle()]
		require.False(t, stands, "nothing stands twice: %s", r.GetTitle())
		statements[r.GetTitle()] = r.GetSeenCount()
		require.GreaterOrEqual(t, len(r.GetSourceEventIds()), int(r.GetSeenCount()), "the sources are united")
	}
	confirmed := 0
	for _, count := range statements {
		if count == 3 {
			confirmed++
		}
	}
	require.Equal(t, 2, confirmed, "both rules were said in all three sessions: %v", statements)
}

func TestMarkersGiveNoSignal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	start := newEvent("s", eventv1.Kind_KIND_NOTE, text("session started"))
	start.Lifecycle = &eventv1.Lifecycle{Type: eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_START}
	events := b.append(t, start, newEvent("s", eventv1.Kind_KIND_PROMPT, text("ok")), newEvent("s", eventv1.Kind_KIND_SESSION_SUMMARY, text("")))
	b.extract(t, events...)
	require.Empty(t, b.records(t))
	require.EqualValues(t, 3, b.number(t, "SELECT count(*) FROM event_state WHERE status = 4"))
}

func TestForgottenRecordsStayForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	events := b.append(t, turn("s", "shop/checkout.go")...)
	b.extract(t, events[:2]...)
	require.NoError(t, b.store.Tx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE records SET deleted_at = now(), forgotten = true")
		return err
	}))
	b.extract(t, events[2])
	require.Empty(t, b.records(t))
}

func TestLongTurnCostsItsSegmentsAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	events := []*eventv1.Event{newEvent("s", eventv1.Kind_KIND_PROMPT, text("rename the package everywhere"))}
	for i := range 3 * segment {
		events = append(events, edit("s", fmt.Sprintf("pkg/file%d.go", i)))
	}
	for at := 0; at < len(events); at += 300 {
		b.append(t, events[at:min(at+300, len(events))]...)
	}
	read := 0
	for at := 0; at < len(events); at += 100 {
		leased := events[at:min(at+100, len(events))]
		require.NoError(t, b.store.Tx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			works, err := gather(ctx, tx, b.store.OrgID(), project, b.lease(0, leased...).GetEvents())
			require.Len(t, works, 1)
			for _, turn := range works[0].turns {
				read += len(turn.Events)
			}
			return err
		}))
		b.extract(t, leased...)
	}
	require.LessOrEqual(t, read, 6*len(events), "a lease reads at most the segments that its events lie in")
	require.Zero(t, b.number(t, unfinished))
	records := b.records(t)
	require.LessOrEqual(t, len(records), 5)
	require.GreaterOrEqual(t, len(records), 3)
}

func TestTurnIsOneRecordWhereverLeasesEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const turns = 160
	var events []*eventv1.Event
	for i := range turns {
		events = append(events, turn("s", fmt.Sprintf("shop/part%d.go", i))...)
	}
	require.Greater(t, len(events), segment, "more than fits into a segment")
	b.append(t, events...)
	b.extract(t, events...)
	require.Len(t, b.records(t), turns, "every turn is one record")

	// The last event of a turn that a segment's end would have cut comes again, alone.
	b.extract(t, b.append(t, late(events[399]))...)
	require.Len(t, b.records(t), turns, "the same turn is the same record")
	require.Zero(t, b.number(t, unfinished))
}

// late is a tool use that comes when other turns have begun.
func late(prompt *eventv1.Event) *eventv1.Event {
	ev := edit(prompt.GetSessionId(), "shop/late.go")
	ev.ParentEventId = prompt.GetEventId()
	return ev
}

func TestTurnEndsWithTheNextPrompt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := turn("s", "shop/cart.go")[:2], turn("s", "shop/total.go")[:2]
	b.append(t, first...)
	ended := func(events []*eventv1.Event) (ended bool) {
		require.NoError(t, b.store.Tx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			works, err := gather(ctx, tx, b.store.OrgID(), project, b.lease(0, events...).GetEvents())
			require.Len(t, works, 1)
			require.Len(t, works[0].turns, 1)
			ended = works[0].turns[0].Ended
			return err
		}))
		return ended
	}
	require.False(t, ended(first))
	b.append(t, second...)
	require.True(t, ended(first), "also when the prompt is of another lease")
	require.False(t, ended(second))
}
