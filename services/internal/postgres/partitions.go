package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/oklog/ulid/v2"
)

// monthsAhead is how many monthly partitions of events exist beyond the current month after a migration.
const monthsAhead = 24

// ensurePartitions makes the partitions of events: events_old for ids before the first month, one for each month, and
// events_future for ids of clocks that run wild. There is no DEFAULT partition, since a partition cannot be detached
// concurrently beside one. Rows that lie in events_future and belong to a new month move to it.
func ensurePartitions(ctx context.Context, conn *pgx.Conn) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('kiroku.partitions'))"); err != nil {
			return err
		}
		var now time.Time
		var newest *string
		const stateSQL = `SELECT now(), (SELECT max(relname) FROM pg_class
			WHERE relnamespace = 'public'::regnamespace AND relispartition AND relkind = 'r' AND relname ~ '^events_[0-9]{4}_[0-9]{2}$')`
		if err := tx.QueryRow(ctx, stateSQL).Scan(&now, &newest); err != nil {
			return err
		}
		last := firstOfMonth(now).AddDate(0, monthsAhead, 0)
		if newest == nil {
			return createPartitions(ctx, tx, firstOfMonth(now).AddDate(0, -1, 0), last)
		}
		have, err := time.Parse("events_2006_01", *newest)
		if err != nil {
			return fmt.Errorf("partition %s: %w", *newest, err)
		}
		if next := have.AddDate(0, 1, 0); !next.After(last) {
			return extendPartitions(ctx, tx, next, last)
		}
		return nil
	})
}

func createPartitions(ctx context.Context, tx pgx.Tx, first, last time.Time) error {
	if _, err := tx.Exec(ctx, fmt.Sprintf(
		"CREATE TABLE events_old PARTITION OF events FOR VALUES FROM (MINVALUE) TO ('%s')", idBound(first))); err != nil {
		return err
	}
	if err := createMonths(ctx, tx, first, last); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, fmt.Sprintf(
		"CREATE TABLE events_future PARTITION OF events FOR VALUES FROM ('%s') TO (MAXVALUE)", idBound(last.AddDate(0, 1, 0))))
	return err
}

func extendPartitions(ctx context.Context, tx pgx.Tx, first, last time.Time) error {
	if _, err := tx.Exec(ctx, "ALTER TABLE events DETACH PARTITION events_future"); err != nil {
		return err
	}
	if err := createMonths(ctx, tx, first, last); err != nil {
		return err
	}
	bound := idBound(last.AddDate(0, 1, 0))
	// The row's policy would hide every row from a forced owner: the detached table is lifted out of it for the move.
	for _, stmt := range []string{
		"ALTER TABLE events NO FORCE ROW LEVEL SECURITY",
		fmt.Sprintf("WITH moved AS (DELETE FROM events_future WHERE event_id < '%s' RETURNING *) INSERT INTO events SELECT * FROM moved", bound),
		"ALTER TABLE events FORCE ROW LEVEL SECURITY",
		fmt.Sprintf("ALTER TABLE events ATTACH PARTITION events_future FOR VALUES FROM ('%s') TO (MAXVALUE)", bound),
	} {
		if _, err := tx.Exec(ctx, stmt); err != nil {
			return err
		}
	}
	return nil
}

func createMonths(ctx context.Context, tx pgx.Tx, first, last time.Time) error {
	for month := first; !month.After(last); month = month.AddDate(0, 1, 0) {
		stmt := fmt.Sprintf("CREATE TABLE %s PARTITION OF events FOR VALUES FROM ('%s') TO ('%s')",
			month.Format("events_2006_01"), idBound(month), idBound(month.AddDate(0, 1, 0)))
		if _, err := tx.Exec(ctx, stmt); err != nil {
			return err
		}
	}
	return nil
}

func firstOfMonth(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// idBound is the smallest ULID of a time.
func idBound(t time.Time) string {
	var id ulid.ULID
	_ = id.SetTime(ulid.Timestamp(t)) // fails only beyond the year 10889
	return id.String()
}
