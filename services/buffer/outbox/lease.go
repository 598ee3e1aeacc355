package outbox

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Marked is what marking a batch as leased found.
type Marked struct {
	// Attempts of each event that is still to be extracted. Events that are not in it are finished, dead or gone.
	Attempts map[string]int
	// Fence is the highest token that Postgres knows of the project or of these events.
	Fence int64
}

// One statement: the state of a batch is moved and read in one round trip.
const markSQL = `
WITH marked AS (
	UPDATE event_state SET status = 2, fence = GREATEST(fence, $4), updated_at = now()
	 WHERE org_id = $1 AND event_id = ANY($3::text[]) AND project_id = $2 AND status < 3
	RETURNING event_id, attempts, fence)
SELECT event_id, attempts, GREATEST(fence, COALESCE((SELECT fence FROM project_state WHERE org_id = $1 AND project_id = $2), 0))
  FROM marked`

// MarkLeased moves the events of a batch that are not finished to leased, under the lease's token.
func (s *Store) MarkLeased(ctx context.Context, org, project string, ids []string, token int64) (Marked, error) {
	marked := Marked{Attempts: make(map[string]int, len(ids))}
	err := s.worker.CrossTenant(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, markSQL, org, project, ids, token)
		if err != nil {
			return err
		}
		var id string
		var attempts int
		var fence int64
		_, err = pgx.ForEachRow(rows, []any{&id, &attempts, &fence}, func() error {
			marked.Attempts[id] = attempts
			marked.Fence = max(marked.Fence, fence)
			return nil
		})
		return err
	})
	return marked, err
}

const releaseSQL = `
UPDATE event_state SET status = 1, updated_at = now()
 WHERE org_id = $1 AND event_id = ANY($2::text[]) AND status = 2 AND fence = $3`

// Release moves events of a lease that ended back to pending. Those that another lease has meanwhile stay as they are.
func (s *Store) Release(ctx context.Context, org string, ids []string, token int64) error {
	if len(ids) == 0 {
		return nil
	}
	return s.worker.CrossTenant(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, releaseSQL, org, ids, token)
		return err
	})
}

// Blame is a failed attempt of some events of a lease.
type Blame struct {
	Org    string
	IDs    []string
	Token  int64
	Reason string
	// Dying makes dead letters of those that have made this many attempts with this one; 0 of none, 1 of all.
	Dying int
}

const blameSQL = `
UPDATE event_state
   SET attempts = attempts + 1, reason = $4, updated_at = now(),
       status = CASE WHEN $5 > 0 AND attempts + 1 >= $5 THEN 5 ELSE 1 END
 WHERE org_id = $1 AND event_id = ANY($2::text[]) AND status = 2 AND fence = $3
RETURNING event_id, status`

// Blame counts a failed attempt and returns the ids of the events that became dead letters.
func (s *Store) Blame(ctx context.Context, b Blame) ([]string, error) {
	var dead []string
	err := s.worker.CrossTenant(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, blameSQL, b.Org, b.IDs, b.Token, cut(b.Reason, MaxReason), b.Dying)
		if err != nil {
			return err
		}
		var id string
		var status int
		_, err = pgx.ForEachRow(rows, []any{&id, &status}, func() error {
			if status == statusDead {
				dead = append(dead, id)
			}
			return nil
		})
		return err
	})
	return dead, err
}

// cut shortens text to n bytes on a rune boundary.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xc0 == 0x80 {
		n--
	}
	return text[:n]
}
