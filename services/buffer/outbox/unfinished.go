package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/services/internal/eventlog"
)

// Answered by the partial index event_state_unfinished alone: it costs in proportion to the backlog, not to the table.
const unfinishedSQL = `
SELECT org_id::text, project_id, count(*), count(*) FILTER (WHERE received_at < now() - $1::interval), min(received_at)
  FROM event_state WHERE status < 3
 GROUP BY org_id, project_id`

// Unfinished counts the unfinished events of every project. Events younger than grace are not settled.
func (s *Store) Unfinished(ctx context.Context, grace time.Duration) ([]Unfinished, error) {
	var found []Unfinished
	err := s.worker.CrossTenant(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, unfinishedSQL, grace)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Unfinished, error) {
			var u Unfinished
			err := row.Scan(&u.Org, &u.Project, &u.Events, &u.Settled, &u.Oldest)
			return u, err
		})
		return err
	})
	return found, err
}

// Cursor is a place in the order in which events were received.
type Cursor struct {
	Received time.Time
	EventID  string
}

const unfinishedPageSQL = `
SELECT received_at, event_id
  FROM event_state
 WHERE status < 3 AND org_id = $1 AND project_id = $2
   AND received_at >= $3 AND (received_at, event_id) > ($3, $4) AND received_at < now() - $5::interval
 ORDER BY received_at, event_id
 LIMIT $6`

// UnfinishedPage lists the unfinished events of a project after the cursor that are older than grace, oldest first.
func (s *Store) UnfinishedPage(ctx context.Context, org, project string, after Cursor, grace time.Duration, limit int) ([]Cursor, error) {
	var page []Cursor
	err := s.worker.CrossTenant(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, unfinishedPageSQL, org, project, after.Received, after.EventID, grace, limit)
		if err != nil {
			return err
		}
		page, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Cursor])
		return err
	})
	return page, err
}

// The order is the log's: within a session by number.
const eventsSQL = `SELECT ` + eventlog.Columns + `
  FROM events e
 WHERE e.org_id = $1 AND e.event_id = ANY($2::text[])
 ORDER BY e.received_at, e.session_key, e.seq`

// Events reads events of an organisation, in the order in which they were stored. Those that are gone are left out.
func (s *Store) Events(ctx context.Context, org string, ids []string) ([]*eventv1.Event, error) {
	var events []*eventv1.Event
	err := s.worker.CrossTenant(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, eventsSQL, org, ids)
		if err != nil {
			return err
		}
		if events, err = eventlog.Collect(rows); err != nil {
			return fmt.Errorf("unfinished events: %w", err)
		}
		return nil
	})
	return events, err
}

const projectsSQL = `
SELECT DISTINCT project_id FROM event_state
 WHERE status < 3 AND org_id = $1 AND ($2 = '' OR project_id = $2)`

// Projects lists the projects of an organisation that have unfinished events.
func (s *Store) Projects(ctx context.Context, f Filter) ([]string, error) {
	var projects []string
	err := s.worker.CrossTenant(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, projectsSQL, f.Org, f.Project)
		if err != nil {
			return err
		}
		projects, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return projects, err
}
