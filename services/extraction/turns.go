package extraction

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/services/extraction/rules"
	"github.com/kiroku-dev/kiroku/services/internal/eventlog"
)

// maxTurnEvents bounds what is read of one session for a batch. A turn that is longer is extracted from its last part.
const maxTurnEvents = 5000

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
const readTurnsSQL = `
WITH s AS (
    SELECT session_key, min_event_id, max_event_id FROM sessions WHERE org_id = $1 AND actor_id = $2 AND session_id = $3
), leased AS (
    SELECT min(e.seq) AS low, max(e.seq) AS high, min(parent.seq) AS parent_low
      FROM events e CROSS JOIN s
      LEFT JOIN events parent ON parent.org_id = e.org_id AND parent.event_id = e.parent_event_id AND parent.session_key = s.session_key AND parent.kind = 1
     WHERE e.org_id = $1 AND e.event_id = ANY($4)
), bounds AS (
    SELECT least(leased.parent_low, coalesce((SELECT max(e.seq) FROM events e CROSS JOIN s
                WHERE e.session_key = s.session_key AND e.event_id BETWEEN s.min_event_id AND s.max_event_id AND e.kind = 1 AND e.seq <= leased.low), 1)) AS low,
           coalesce((SELECT min(e.seq) FROM events e CROSS JOIN s
                WHERE e.session_key = s.session_key AND e.event_id BETWEEN s.min_event_id AND s.max_event_id AND e.kind = 1 AND e.seq > leased.high), 9223372036854775807) AS high
      FROM leased
)
SELECT ` + eventlog.Columns + `
  FROM events e CROSS JOIN s CROSS JOIN bounds
 WHERE e.session_key = s.session_key AND e.event_id BETWEEN s.min_event_id AND s.max_event_id AND e.seq >= bounds.low AND e.seq < bounds.high
   AND e.project_id = $6
 ORDER BY e.seq DESC LIMIT $5`

func (w *work) read(ctx context.Context, tx pgx.Tx, org, project string) error {
	ids := make([]string, len(w.entries))
	leased := make(map[string]bool, len(w.entries))
	for i, entry := range w.entries {
		ids[i] = entry.GetEvent().GetEventId()
		leased[ids[i]] = true
	}
	rows, err := tx.Query(ctx, readTurnsSQL, org, w.actor, w.session, ids, maxTurnEvents, project)
	if err != nil {
		return fmt.Errorf("read turns: %w", err)
	}
	events, err := eventlog.Collect(rows)
	if err != nil {
		return fmt.Errorf("read turns: %w", err)
	}
	slices.Reverse(events)
	for _, turn := range rules.SplitTurns(events) {
		if slices.ContainsFunc(turn.Events, func(ev *eventv1.Event) bool { return leased[ev.GetEventId()] }) {
			turn.ProjectID, turn.ActorID, turn.SessionID = project, w.actor, w.session
			w.turns = append(w.turns, turn)
		}
	}
	return nil
}
