package recordstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Injection is one text that was put before a prompt or at the start of a session.
type Injection struct {
	InjectionID string
	ProjectID   string
	EventID     string
	Purpose     int16
	Key         SuppressionKey
	// Records and their scores, in order.
	Records []string
	Scores  []float32
	// Items are given with it beside the records: they are claimed, not logged.
	Items  []string
	Tokens int
	At     time.Time
}

// BriefItem is the claim of a session's start brief.
const BriefItem = "brief"

// A claim that is lost with the server's last moments only means that a record is given twice. So nobody waits for the disk.
const relaxSQL = `SET LOCAL synchronous_commit = off`

const claimSQL = `
INSERT INTO injection_claims (org_id, actor_id, session_id, compactions, item, claimed_at)
SELECT $1, $2, $3, $4, item, $6 FROM unnest($5::text[]) AS item ORDER BY item
    ON CONFLICT DO NOTHING RETURNING item`

func (s *Store) claim(ctx context.Context, tx pgx.Tx, in Injection, items []string, claimed map[string]bool) error {
	batch := &pgx.Batch{}
	batch.Queue(relaxSQL)
	batch.Queue(claimSQL, s.OrgID(), s.actor, in.Key.SessionID, in.Key.Compactions, items, in.At)
	results := tx.SendBatch(ctx, batch)
	_, err := results.Exec()
	if err == nil {
		var won []string
		won, err = collect(results, pgx.RowTo[string])
		for _, item := range won {
			claimed[item] = true
		}
	}
	return errors.Join(err, results.Close())
}

const logSQL = `
INSERT INTO injections (org_id, injection_id, project_id, actor_id, session_id, event_id, purpose, record_ids, scores, tokens, created_at)
VALUES ($1, $2, $3, $4, $5, NULLIF($6, ''), $7, $8, $9, $10, $11)`

// Give claims items for the session and logs the injection that render makes of those that were won, in one transaction. When render says that nothing is left to
// give, nothing is logged and the claims are given back. Without a session everything is won.
func (s *Store) Give(ctx context.Context, in Injection, items []string, render func(won map[string]bool) (Injection, bool)) error {
	err := s.tenant.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		won := make(map[string]bool, len(items))
		if in.Key.SessionID == "" {
			for _, item := range items {
				won[item] = true
			}
		} else if err := s.claim(ctx, tx, in, items, won); err != nil {
			return err
		}
		out, ok := render(won)
		if !ok {
			return errNothingLeft
		}
		_, err := tx.Exec(ctx, logSQL, s.OrgID(), out.InjectionID, out.ProjectID, s.actor, out.Key.SessionID, out.EventID, out.Purpose,
			orEmpty(out.Records), orEmpty(out.Scores), out.Tokens, out.At)
		return err
	})
	if errors.Is(err, errNothingLeft) {
		return nil
	}
	return err
}

// errNothingLeft rolls back.
var errNothingLeft = errors.New("everything was given before")
