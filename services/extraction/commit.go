package extraction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kiroku-dev/kiroku/proto/event"
	"github.com/kiroku-dev/kiroku/services/extraction/rules"
)

// errFenced is returned when another worker has had the project since: nothing of this one may be committed.
var errFenced = errors.New("the lease's fencing token is behind the project's")

// batch is a leased batch on its way.
type batch struct {
	org, project string
	token        int64
	startedAt    time.Time
	events       int
}

// Raising the fence locks the project's row, so that two commits of a project follow each other; an older token finds a
// higher fence and changes nothing.
const raiseFenceSQL = `
INSERT INTO project_state AS s (org_id, project_id, fence) VALUES ($1, $2, $3)
    ON CONFLICT (org_id, project_id) DO UPDATE SET fence = EXCLUDED.fence WHERE s.fence <= EXCLUDED.fence
RETURNING change_seq`

// Readers of the index apply changes in the order of change_seq, so it is bumped last.
const bumpChangeSQL = `UPDATE project_state SET change_seq = $3 WHERE org_id = $1 AND project_id = $2`

// Only unfinished events are finished, and never those of a lease with a higher token.
const finishEventsSQL = `
UPDATE event_state AS st SET status = CASE WHEN u.extracted THEN 3 ELSE 4 END, fence = $2, reason = '', updated_at = $3
  FROM unnest($4::text[], $5::boolean[]) AS u (event_id, extracted)
 WHERE st.org_id = $1 AND st.event_id = u.event_id AND st.status < 3 AND st.fence <= $2`

const insertRunSQL = `
INSERT INTO extraction_runs (org_id, run_id, project_id, strategy, events, records, started_at, duration_us)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

// commit writes the drafts, finishes the events and logs the run: all of it or nothing.
func (b batch) commit(ctx context.Context, tx pgx.Tx, d *drafts, now time.Time) (records int, err error) {
	var changeSeq int64
	err = tx.QueryRow(ctx, raiseFenceSQL, b.org, b.project, b.token).Scan(&changeSeq)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, errFenced
	}
	if err != nil {
		return 0, fmt.Errorf("raise fence: %w", err)
	}
	w := &writer{tx: tx, org: b.org, project: b.project, now: now, changeSeq: changeSeq}
	if err := w.write(ctx, d); err != nil {
		return 0, err
	}
	ids, extracted := d.statuses()
	tag, err := tx.Exec(ctx, finishEventsSQL, b.org, b.token, now, ids, extracted)
	if err != nil {
		return 0, fmt.Errorf("finish events: %w", err)
	}
	if tag.RowsAffected() != int64(len(ids)) {
		return 0, fmt.Errorf("%w: %d of %d events were finished elsewhere", errFenced, int64(len(ids))-tag.RowsAffected(), len(ids))
	}
	if _, err := tx.Exec(ctx, insertRunSQL, b.org, event.NewID(now), b.project, rules.Strategy, b.events, w.written,
		b.startedAt, now.Sub(b.startedAt).Microseconds()); err != nil {
		return 0, fmt.Errorf("log run: %w", err)
	}
	if w.changeSeq == changeSeq {
		return 0, nil
	}
	if _, err := tx.Exec(ctx, bumpChangeSQL, b.org, b.project, w.changeSeq); err != nil {
		return 0, fmt.Errorf("bump change sequence: %w", err)
	}
	return w.written, nil
}
