package extraction

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/services/extraction/rules"
	"github.com/kiroku-dev/kiroku/services/internal/eventlog"
)

// segment is how many events are extracted together at most. A turn that is longer, or a session that never has a prompt, is cut at every segment's
// end, counted from the turn's start, so that a long one costs no more for each event than a short one.
const segment = 400

// work is the turns of one session that a batch touches, and the entries of the batch that lie in them.
type work struct {
	actor, session string
	entries        []*bufferv1.LeasedEvent
	turns          []rules.Turn
}

// gather reads the whole turns that the leased events belong to. A turn may have begun in an earlier lease, and its late events may
// come in this one: extracting it whole gives the same record keys, so its records are replaced, not doubled.
func gather(ctx context.Context, tx pgx.Tx, org, project string, events []*bufferv1.LeasedEvent) ([]*work, error) {
	var works []*work
	bySession := make(map[[2]string]*work)
	for _, leased := range events {
		key := [2]string{leased.GetEvent().GetActorId(), leased.GetEvent().GetSessionId()}
		w, ok := bySession[key]
		if !ok {
			w = &work{actor: key[0], session: key[1]}
			bySession[key] = w
			works = append(works, w)
		}
		w.entries = append(w.entries, leased)
	}
	for _, w := range works {
		if err := w.read(ctx, tx, org, project); err != nil {
			return nil, err
		}
	}
	return works, nil
}

// The range begins at the earliest prompt that a leased event belongs to, by its parent or by its place, and ends before the first
// prompt after the last of them.
const boundsSQL = `
WITH s AS (
    SELECT session_key, min_event_id, max_event_id, last_seq FROM sessions WHERE org_id = $1 AND actor_id = $2 AND session_id = $3
), leased AS (
    SELECT min(e.seq) AS low, max(e.seq) AS high, min(parent.seq) AS parent_low
      FROM events e CROSS JOIN s
      LEFT JOIN events parent ON parent.org_id = e.org_id AND parent.event_id = e.parent_event_id AND parent.session_key = s.session_key AND parent.kind = 1
     WHERE e.org_id = $1 AND e.event_id = ANY($4)
)
SELECT s.session_key, s.min_event_id, s.max_event_id, leased.low, leased.high,
       least(leased.parent_low, coalesce((SELECT max(e.seq) FROM events e
            WHERE e.session_key = s.session_key AND e.event_id BETWEEN s.min_event_id AND s.max_event_id AND e.kind = 1 AND e.seq <= leased.low), 1)),
       coalesce((SELECT min(e.seq) FROM events e
            WHERE e.session_key = s.session_key AND e.event_id BETWEEN s.min_event_id AND s.max_event_id AND e.kind = 1 AND e.seq > leased.high), s.last_seq + 1)
  FROM leased CROSS JOIN s WHERE leased.low IS NOT NULL`

const readTurnsSQL = `
SELECT ` + eventlog.Columns + `
  FROM events e
 WHERE e.session_key = $1 AND e.event_id BETWEEN $2 AND $3 AND e.seq >= $4 AND e.seq < $5 AND e.project_id = $6
 ORDER BY e.seq`

// span is the part of a session's log that a batch touches: whole turns from start to end, and in it the leased events.
type span struct {
	sessionKey              int64
	minID, maxID            string
	leasedLow, leasedHigh   int64
	start, end, from, until int64
}

// narrow decides what is read: the whole span, or when that is too long its segments with leased events.
func (s *span) narrow() (cut bool) {
	s.from, s.until = s.start, s.end
	if s.end-s.start <= segment {
		return false
	}
	s.from = s.start + (s.leasedLow-s.start)/segment*segment
	s.until = min(s.end, s.start+((s.leasedHigh-s.start)/segment+1)*segment)
	return true
}

func (w *work) read(ctx context.Context, tx pgx.Tx, org, project string) error {
	ids := make([]string, len(w.entries))
	leased := make(map[string]bool, len(w.entries))
	for i, entry := range w.entries {
		ids[i] = entry.GetEvent().GetEventId()
		leased[ids[i]] = true
	}
	var s span
	err := tx.QueryRow(ctx, boundsSQL, org, w.actor, w.session, ids).Scan(&s.sessionKey, &s.minID, &s.maxID, &s.leasedLow, &s.leasedHigh, &s.start, &s.end)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // the events are gone from the log: there is nothing to extract
	}
	if err != nil {
		return fmt.Errorf("bounds of turns: %w", err)
	}
	cut := s.narrow()
	rows, err := tx.Query(ctx, readTurnsSQL, s.sessionKey, s.minID, s.maxID, s.from, s.until, project)
	if err != nil {
		return fmt.Errorf("read turns: %w", err)
	}
	events, err := eventlog.Collect(rows)
	if err != nil {
		return fmt.Errorf("read turns: %w", err)
	}
	for _, part := range parts(events, s, cut) {
		w.addTurns(part, project, leased)
	}
	return nil
}

// parts cuts events at the ends of segments.
func parts(events []*eventv1.Event, s span, cut bool) [][]*eventv1.Event {
	if !cut {
		return [][]*eventv1.Event{events}
	}
	var out [][]*eventv1.Event
	last := int64(-1)
	for _, ev := range events {
		if n := (ev.GetSequenceNumber() - s.start) / segment; n != last {
			out, last = append(out, nil), n
		}
		out[len(out)-1] = append(out[len(out)-1], ev)
	}
	return out
}

func (w *work) addTurns(events []*eventv1.Event, project string, leased map[string]bool) {
	for _, turn := range rules.SplitTurns(events) {
		if slices.ContainsFunc(turn.Events, func(ev *eventv1.Event) bool { return leased[ev.GetEventId()] }) {
			turn.ProjectID, turn.ActorID, turn.SessionID = project, w.actor, w.session
			w.turns = append(w.turns, turn)
		}
	}
}
