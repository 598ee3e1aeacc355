package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kiroku-dev/kiroku/services/internal/auth"
)

// DeadLetter is an event that extraction gave up on.
type DeadLetter struct {
	EventID, ProjectID, SessionID, ActorID string
	Kind                                   int32
	Attempts                               int32
	Reason                                 string
	DeadAt                                 time.Time
}

// DeadCursor is a place in the list of dead letters, newest first.
type DeadCursor struct {
	DeadAt  time.Time `json:"t"`
	EventID string    `json:"e"`
}

const deadSQL = `
SELECT s.event_id, s.project_id, COALESCE(n.session_id, ''), COALESCE(e.actor_id, ''), COALESCE(e.kind, 0), s.attempts, s.reason, s.updated_at
  FROM event_state s
  LEFT JOIN events e ON e.org_id = s.org_id AND e.event_id = s.event_id
  LEFT JOIN sessions n ON n.session_key = s.session_key AND n.org_id = s.org_id
 WHERE s.org_id = $1 AND s.status = 5 AND ($2 = '' OR s.project_id = $2)
   AND ($3::timestamptz IS NULL OR (s.updated_at <= $3 AND (s.updated_at < $3 OR s.event_id > $4)))
 ORDER BY s.updated_at DESC, s.event_id
 LIMIT $5`

// DeadLetters lists dead letters of the principal's organisation, newest first, after the cursor when there is one.
func (s *Store) DeadLetters(ctx context.Context, principal auth.Principal, project string, after *DeadCursor, limit int) ([]DeadLetter, error) {
	tenant, err := s.app.Tenant(principal)
	if err != nil {
		return nil, err
	}
	var at *time.Time
	var id string
	if after != nil {
		at, id = &after.DeadAt, after.EventID
	}
	var letters []DeadLetter
	err = tenant.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, deadSQL, tenant.OrgID(), project, at, id, limit)
		if err != nil {
			return err
		}
		letters, err = pgx.CollectRows(rows, pgx.RowToStructByPos[DeadLetter])
		return err
	})
	return letters, err
}

// Requeueing names dead letters: the ids, or all of them, narrowed to a project when it is not empty.
type Requeueing struct {
	EventIDs []string
	All      bool
	Project  string
}

const requeueSQL = `
WITH requeued AS (
	UPDATE event_state SET status = 1, attempts = 0, reason = '', updated_at = now()
	 WHERE org_id = $1 AND status = 5 AND ($2 OR event_id = ANY($3::text[])) AND ($4 = '' OR project_id = $4)
	RETURNING project_id)
SELECT project_id, count(*) FROM requeued GROUP BY project_id`

// Requeue makes dead letters of the principal's organisation pending again, with no attempts. It returns how many of each project.
func (s *Store) Requeue(ctx context.Context, principal auth.Principal, r Requeueing) (map[string]int, error) {
	tenant, err := s.app.Tenant(principal)
	if err != nil {
		return nil, err
	}
	requeued := make(map[string]int)
	err = tenant.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, requeueSQL, tenant.OrgID(), r.All, r.EventIDs, r.Project)
		if err != nil {
			return err
		}
		var project string
		var n int
		_, err = pgx.ForEachRow(rows, []any{&project, &n}, func() error {
			requeued[project] = n
			return nil
		})
		return err
	})
	return requeued, err
}
