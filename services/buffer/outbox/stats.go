package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Filter narrows numbers; empty fields narrow nothing.
type Filter struct{ Org, Project string }

// Stats are the outbox's numbers.
type Stats struct {
	Unfinished  int64
	DeadLetters int64
	// Oldest is when the oldest unfinished event was received; zero when there is none.
	Oldest time.Time
	// Finished is when the newest finished event was finished; zero when there is none.
	Finished time.Time
}

const statsSQL = `
SELECT (SELECT count(*) FROM event_state WHERE status < 3
           AND ($1 = '' OR org_id::text = $1) AND ($2 = '' OR project_id = $2)),
       (SELECT min(received_at) FROM event_state WHERE status < 3
           AND ($1 = '' OR org_id::text = $1) AND ($2 = '' OR project_id = $2)),
       (SELECT count(*) FROM event_state WHERE status = 5
           AND ($1 = '' OR org_id::text = $1) AND ($2 = '' OR project_id = $2))`

// finishedSQL looks at the newest events of each organisation, through the primary key, rather than at all: an index by the time of
// finishing would cost every event. It can miss a finish where the newest are all unfinished or of other projects.
const finishedSQL = `
SELECT max(f.updated_at)
  FROM orgs o CROSS JOIN LATERAL (
	SELECT status, project_id, updated_at FROM event_state s
	 WHERE s.org_id = o.org_id ORDER BY event_id DESC LIMIT $3) f
 WHERE ($1 = '' OR o.org_id::text = $1) AND ($2 = '' OR f.project_id = $2) AND f.status IN (3, 4)`

// scanned is how many of an organisation's newest events are looked at for the last one that was finished.
const scanned = 2000

// Stats counts, over all organisations unless the filter names one.
func (s *Store) Stats(ctx context.Context, f Filter) (Stats, error) {
	var stats Stats
	var oldest, finished *time.Time
	err := s.worker.CrossTenant(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, statsSQL, f.Org, f.Project).Scan(&stats.Unfinished, &oldest, &stats.DeadLetters); err != nil {
			return err
		}
		return tx.QueryRow(ctx, finishedSQL, f.Org, f.Project, scanned).Scan(&finished)
	})
	if oldest != nil {
		stats.Oldest = *oldest
	}
	if finished != nil {
		stats.Finished = *finished
	}
	return stats, err
}

// DeadLetterCount counts the dead letters of all organisations.
func (s *Store) DeadLetterCount(ctx context.Context) (int64, error) {
	var n int64
	err := s.worker.CrossTenant(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, "SELECT count(*) FROM event_state WHERE status = 5").Scan(&n)
	})
	return n, err
}
