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

// segment is how many events of one turn are extracted together at most. A turn that is longer, or a session that never has a prompt, is cut at every
// segment's end, counted from the turn's start, so that a long one costs no more for each event than a short one. However many turns a batch
// touches, one that is not longer stays whole: what its records are must not depend on where leases begin and end.
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

// What is asked for: where the turns of the first and of the last leased event begin, the earliest prompt that a leased event names as its parent,
// and where the next turn after them begins.
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
       coalesce((SELECT max(e.seq) FROM events e
            WHERE e.session_key = s.session_key AND e.event_id BETWEEN s.min_event_id AND s.max_event_id AND e.kind = 1 AND e.seq <= leased.low), 1),
       coalesce((SELECT max(e.seq) FROM events e
            WHERE e.session_key = s.session_key AND e.event_id BETWEEN s.min_event_id AND s.max_event_id AND e.kind = 1 AND e.seq <= leased.high), 1),
       coalesce((SELECT min(e.seq) FROM events e
            WHERE e.session_key = s.session_key AND e.event_id BETWEEN s.min_event_id AND s.max_event_id AND e.kind = 1 AND e.seq > leased.high), s.last_seq + 1),
       coalesce(leased.parent_low, leased.low), s.last_seq
  FROM leased CROSS JOIN s WHERE leased.low IS NOT NULL`

const readTurnsSQL = `
SELECT ` + eventlog.Columns + `
  FROM events e
 WHERE e.session_key = $1 AND e.event_id BETWEEN $2 AND $3 AND e.seq >= $4 AND e.seq < $5 AND e.project_id = $6
 ORDER BY e.seq`

// span is the part of a session's log that a batch touches, by the numbers of its events.
type span struct {
	sessionKey   int64
	minID, maxID string
	// low and high are the first and the last leased event, parent the earliest prompt that one of them names.
	low, high, parent int64
	// first and last are where the turns of low and high begin, end is where the next one does or would, newest is the session's last event.
	first, last, end, newest int64
}

// bounds decides what is read, from and until: whole turns, but of the first and the last one no segments before and after the leased events. An earlier
// prompt is read for an event that came late, unless that is too long ago: then the event goes to the turn that was running.
func (s *span) bounds() (from, until int64) {
	from = s.first + (s.low-s.first)/segment*segment
	until = min(s.end, s.last+((s.high-s.last)/segment+1)*segment)
	if s.parent < from && until-s.parent <= segment {
		from = s.parent
	}
	return from, until
}

func (w *work) read(ctx context.Context, tx pgx.Tx, org, project string) error {
	ids := make([]string, len(w.entries))
	leased := make(map[string]bool, len(w.entries))
	for i, entry := range w.entries {
		ids[i] = entry.GetEvent().GetEventId()
		leased[ids[i]] = true
	}
	var s span
	err := tx.QueryRow(ctx, boundsSQL, org, w.actor, w.session, ids).Scan(
		&s.sessionKey, &s.minID, &s.maxID, &s.low, &s.high, &s.first, &s.last, &s.end, &s.parent, &s.newest)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // the events are gone from the log: there is nothing to extract
	}
	if err != nil {
		return fmt.Errorf("bounds of turns: %w", err)
	}
	from, until := s.bounds()
	rows, err := tx.Query(ctx, readTurnsSQL, s.sessionKey, s.minID, s.maxID, from, until, project)
	if err != nil {
		return fmt.Errorf("read turns: %w", err)
	}
	events, err := eventlog.Collect(rows)
	if err != nil {
		return fmt.Errorf("read turns: %w", err)
	}
	turns := rules.SplitTurns(events)
	if n := len(turns); n > 0 && until == s.end && s.end <= s.newest {
		turns[n-1].Ended = true // the next prompt came, though it was not read
	}
	for _, turn := range turns {
		for _, part := range segments(turn, s.first) {
			w.addTurn(part, project, leased)
		}
	}
	return nil
}

// segments cuts a turn that is too long. One without a prompt is the first that was read: its count goes from start.
func segments(turn rules.Turn, start int64) []rules.Turn {
	if len(turn.Events) <= segment {
		return []rules.Turn{turn}
	}
	if turn.Prompt != nil {
		start = turn.Prompt.GetSequenceNumber()
	}
	var parts []rules.Turn
	for events := turn.Events; len(events) > 0; {
		number := (events[0].GetSequenceNumber() - start) / segment
		n := slices.IndexFunc(events, func(ev *eventv1.Event) bool { return (ev.GetSequenceNumber()-start)/segment != number })
		if n < 0 {
			n = len(events)
		}
		parts = append(parts, rules.SplitTurns(events[:n])...)
		events = events[n:]
	}
	parts[len(parts)-1].Ended = turn.Ended
	return parts
}

// addTurn keeps a turn, or a segment of one, in which a leased event lies.
func (w *work) addTurn(turn rules.Turn, project string, leased map[string]bool) {
	if slices.ContainsFunc(turn.Events, func(ev *eventv1.Event) bool { return leased[ev.GetEventId()] }) {
		turn.ProjectID, turn.ActorID, turn.SessionID = project, w.actor, w.session
		w.turns = append(w.turns, turn)
	}
}
