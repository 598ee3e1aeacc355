package eventstore

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/oklog/ulid/v2"
)

// optimistic assumes that no event is stored yet: sessions are locked and numbered in one statement, everything else
// follows in one round trip. When an id was there after all nothing is kept and errRepeats is returned.
func (a *appending) optimistic(ctx context.Context, tx pgx.Tx) error {
	if len(a.entries) == 0 {
		return nil
	}
	if err := a.lockSessions(ctx, tx, func(s *session) int { return len(s.entries) }); err != nil {
		return err
	}
	for _, s := range a.sessions {
		s.number(s.entries)
	}
	return a.insert(ctx, tx, a.entries)
}

// careful locks the sessions first and looks the ids up in a statement of its own, whose snapshot is younger than the
// lock; then it stores what is new.
func (a *appending) careful(ctx context.Context, tx pgx.Tx) error {
	none := func(*session) int { return 0 }
	if err := a.lockSessions(ctx, tx, none); err != nil {
		return err
	}
	if err := a.lookUp(ctx, tx); err != nil {
		return err
	}
	fresh := make([]*entry, 0, len(a.entries))
	perSession := make(map[*session][]*entry)
	for _, e := range a.entries {
		if e.outcome == (Outcome{}) {
			fresh = append(fresh, e)
			perSession[e.session] = append(perSession[e.session], e)
		}
	}
	if len(fresh) == 0 {
		a.settle()
		return nil
	}
	if err := a.lockSessions(ctx, tx, func(s *session) int { return len(perSession[s]) }); err != nil {
		return err
	}
	for s, entries := range perSession {
		s.number(entries)
	}
	return a.insert(ctx, tx, fresh)
}

const lookUpSQL = `
SELECT e.event_id, e.actor_id, s.session_id, e.seq, b.base + e.ix, e.late, e.received_at, e.body_hash
  FROM events e JOIN sessions s ON s.session_key = e.session_key AND s.org_id = e.org_id JOIN org_batches b ON b.batch_id = e.batch_id
 WHERE e.org_id = $1 AND e.event_id = ANY($2)`

func (a *appending) lookUp(ctx context.Context, tx pgx.Tx) error {
	ids := make([]string, len(a.entries))
	byID := make(map[string]*entry, len(a.entries))
	for i, e := range a.entries {
		e.outcome, e.stored = Outcome{}, e.hash
		ids[i] = e.ev.GetEventId()
		byID[ids[i]] = e
	}
	rows, err := tx.Query(ctx, lookUpSQL, a.org, ids)
	if err != nil {
		return fmt.Errorf("look up: %w", err)
	}
	var id, actor, sessionID string
	var seq, position int64
	var late bool
	var received time.Time
	var hash []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &actor, &sessionID, &seq, &position, &late, &received, &hash}, func() error {
		e := byID[id]
		if actor != e.ev.GetActorId() || sessionID != e.ev.GetSessionId() {
			e.outcome = Outcome{Taken: true}
			return nil
		}
		e.outcome, e.stored = Outcome{Sequence: seq, Position: position, Late: late, ReceivedAt: received}, bytes.Clone(hash)
		return nil
	})
	if err != nil {
		return fmt.Errorf("look up: %w", err)
	}
	return nil
}

const insertEventsSQL = `
INSERT INTO events (org_id, event_id, session_key, seq, batch_id, ix, project_id, actor_id, kind, event_type, valid_at, received_at,
                    parent_event_id, correlation_id, tool_name, success, late, body_hash, event)
SELECT $1, u.event_id, u.session_key, u.seq, $2, u.ix, u.project_id, u.actor_id, u.kind, u.event_type, u.valid_at, $3,
       nullif(u.parent, ''), nullif(u.correlation, ''), nullif(u.tool, ''), u.success, u.late, u.hash, u.event
  FROM unnest($4::text[], $5::bigint[], $6::bigint[], $7::int[], $8::text[], $9::text[], $10::smallint[], $11::text[], $12::timestamptz[],
              $13::text[], $14::text[], $15::text[], $16::boolean[], $17::boolean[], $18::bytea[], $19::bytea[])
       AS u (event_id, session_key, seq, ix, project_id, actor_id, kind, event_type, valid_at, parent, correlation, tool, success, late, hash, event)
    ON CONFLICT DO NOTHING`

const insertStateSQL = `
INSERT INTO event_state (org_id, event_id, project_id, session_key, received_at, updated_at)
SELECT $1, u.event_id, u.project_id, u.session_key, $2, $2 FROM unnest($3::text[], $4::text[], $5::bigint[]) AS u (event_id, project_id, session_key)
    ON CONFLICT DO NOTHING`

// The organisation's counter is the last row that a transaction locks: positions are given in commit order, and two
// appends meet only for the moment of the commit.
const takePositionsSQL = `
WITH log AS (UPDATE org_log SET pos = pos + $2 WHERE org_id = $1 RETURNING pos)
INSERT INTO org_batches (org_id, base, batch_id, n, min_event_id, max_event_id)
SELECT $1, log.pos - $2 + 1, $3, $2, $4, $5 FROM log RETURNING base`

// insert writes numbered entries with their outbox rows, in one round trip, and takes their positions.
func (a *appending) insert(ctx context.Context, tx pgx.Tx, entries []*entry) error {
	batchID := [16]byte(ulid.Make()) // a ULID is sixteen bytes that grow with time, as the index likes its keys
	batch := &pgx.Batch{}
	c := columnsOf(entries)
	batch.Queue(insertEventsSQL, a.org, batchID, a.now, c.ids, c.sessions, c.seqs, c.ixs, c.projects, c.actors, c.kinds, c.types, c.valid,
		c.parents, c.correlations, c.tools, c.successes, c.lates, c.hashes, c.events)
	batch.Queue(insertStateSQL, a.org, a.now, c.ids, c.projects, c.sessions)
	states := a.queueStates(batch)
	batch.Queue(takePositionsSQL, a.org, len(entries), batchID, c.minID, c.maxID)
	results := tx.SendBatch(ctx, batch)
	base, err := readInsert(results, len(entries), states)
	if closeErr := results.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("insert: %w", closeErr)
	}
	if err != nil {
		return err
	}
	for i, e := range entries {
		e.outcome.Position, e.outcome.ReceivedAt = base+int64(i), a.now
	}
	a.settle()
	return nil
}

func readInsert(results pgx.BatchResults, n, states int) (base int64, err error) {
	tag, err := results.Exec()
	if err != nil {
		return 0, fmt.Errorf("insert events: %w", err)
	}
	if tag.RowsAffected() < int64(n) {
		return 0, errRepeats
	}
	for range 1 + states {
		if _, err := results.Exec(); err != nil {
			return 0, fmt.Errorf("insert outbox: %w", err)
		}
	}
	if err := results.QueryRow().Scan(&base); err != nil {
		return 0, fmt.Errorf("take positions: %w", err)
	}
	return base, nil
}
