package extraction

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kiroku-dev/kiroku/services/internal/postgres"
)

// health tells whether extraction makes progress: not whether it runs, but whether what came in comes out.
type health struct {
	worker  *postgres.Pool
	metrics *metrics
	limit   time.Duration
	now     func() time.Time
}

const oldestSQL = `SELECT min(received_at) FROM event_state WHERE status < 3`

// Check implements the server's health: an error when the oldest pending event is older than the limit.
func (h *health) Check(ctx context.Context) error {
	var oldest *time.Time
	err := h.worker.CrossTenant(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, oldestSQL).Scan(&oldest)
	})
	if err != nil {
		return err
	}
	if oldest == nil {
		h.metrics.oldest.Set(0)
		return nil
	}
	age := h.now().Sub(*oldest)
	h.metrics.oldest.Set(age.Seconds())
	if age > h.limit {
		return fmt.Errorf("the oldest pending event is %s old, the limit is %s", age.Round(time.Second), h.limit)
	}
	return nil
}
