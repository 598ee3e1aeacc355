package eventstore

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// Session states as stored.
const (
	stateActive    int16 = 1
	stateCompleted int16 = 3
)

func hashBytes(contentHash string) []byte {
	b, _ := hex.DecodeString(strings.TrimPrefix(contentHash, "sha256:")) // made by the scrubber: always well formed
	return b
}

// groupSessions groups the entries by session and sorts the sessions, so that every call locks them in one order.
func (a *appending) groupSessions() {
	type key struct{ actor, id string }
	byKey := make(map[key]*session)
	for _, e := range a.entries {
		k := key{e.ev.GetActorId(), e.ev.GetSessionId()}
		s, ok := byKey[k]
		if !ok {
			s = &session{
				actor: k.actor, id: k.id, project: e.project, surface: e.ev.GetSource().GetSurface(),
				minID: e.ev.GetEventId(), maxID: e.ev.GetEventId(), startedAt: e.validAt, lastAt: e.validAt,
			}
			byKey[k] = s
			a.sessions = append(a.sessions, s)
		}
		s.add(e)
	}
	slices.SortFunc(a.sessions, func(x, y *session) int {
		return cmp.Or(strings.Compare(x.actor, y.actor), strings.Compare(x.id, y.id))
	})
}

func (s *session) add(e *entry) {
	e.session = s
	s.entries = append(s.entries, e)
	s.minID, s.maxID = min(s.minID, e.ev.GetEventId()), max(s.maxID, e.ev.GetEventId())
	if e.validAt.Before(s.startedAt) {
		s.startedAt = e.validAt
	}
	if e.validAt.After(s.lastAt) {
		s.lastAt = e.validAt
	}
}

// An upsert locks the session and takes the numbers in one statement. The state stays as it was: what the events make of
// it is decided with them in hand.
const upsertSessionsSQL = `
INSERT INTO sessions AS s (org_id, actor_id, session_id, project_id, surface, last_seq, min_event_id, max_event_id, started_at, last_event_at)
SELECT $1, u.* FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::timestamptz[], $10::timestamptz[]) AS u
    ON CONFLICT (org_id, actor_id, session_id) DO UPDATE
   SET last_seq = s.last_seq + EXCLUDED.last_seq,
       min_event_id = least(s.min_event_id, EXCLUDED.min_event_id), max_event_id = greatest(s.max_event_id, EXCLUDED.max_event_id),
       last_event_at = greatest(s.last_event_at, EXCLUDED.last_event_at)
RETURNING actor_id, session_id, session_key, last_seq, state`

// lockSessions locks the call's sessions in their order, making those that are new, and takes as many numbers as count says.
func (a *appending) lockSessions(ctx context.Context, tx pgx.Tx, count func(*session) int) error {
	n := len(a.sessions)
	actors, ids, projects, surfaces := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	minIDs, maxIDs, counts := make([]string, n), make([]string, n), make([]int64, n)
	started, last := make([]time.Time, n), make([]time.Time, n)
	byKey := make(map[[2]string]*session, n)
	for i, s := range a.sessions {
		actors[i], ids[i], projects[i], surfaces[i] = s.actor, s.id, s.project, s.surface
		minIDs[i], maxIDs[i], started[i], last[i] = s.minID, s.maxID, s.startedAt, s.lastAt
		counts[i] = int64(count(s))
		byKey[[2]string{s.actor, s.id}] = s
	}
	rows, err := tx.Query(ctx, upsertSessionsSQL, a.org, actors, ids, projects, surfaces, counts, minIDs, maxIDs, started, last)
	if err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	var actor, id string
	var key, lastSeq int64
	var state int16
	_, err = pgx.ForEachRow(rows, []any{&actor, &id, &key, &lastSeq, &state}, func() error {
		s := byKey[[2]string{actor, id}]
		s.key, s.base, s.state, s.newState = key, lastSeq-int64(count(s)), state, state
		return nil
	})
	if err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	return nil
}

// number gives the entries their numbers and decides what is late: what comes after the session was closed. A start
// reopens a session, an end closes it.
func (s *session) number(entries []*entry) {
	for i, e := range entries {
		e.outcome = Outcome{Stored: true, Sequence: s.base + int64(i) + 1}
		lifecycle := e.ev.GetLifecycle().GetType()
		if lifecycle == eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_START {
			s.newState = stateActive
		}
		e.outcome.Late = s.newState >= stateCompleted
		if lifecycle == eventv1.LifecycleType_LIFECYCLE_TYPE_SESSION_END && !e.outcome.Late {
			s.newState = stateCompleted
		}
	}
}

const setStateSQL = `UPDATE sessions SET state = $3::smallint, ended_at = CASE WHEN $3::smallint >= 3 THEN $4::timestamptz END WHERE org_id = $1 AND session_key = $2`

// queueStates queues the changes of state that the events made.
func (a *appending) queueStates(batch *pgx.Batch) int {
	queued := 0
	for _, s := range a.sessions {
		if s.newState != s.state {
			batch.Queue(setStateSQL, a.org, s.key, s.newState, s.lastAt)
			queued++
		}
	}
	return queued
}
