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
SELECT $1, $2, $3, $4, item, $6 FROM unnest($5::text[]) AS item WHERE $3 <> '' ORDER BY item
    ON CONFLICT DO NOTHING RETURNING item`

const logSQL = `
INSERT INTO injections (org_id, injection_id, project_id, actor_id, session_id, event_id, purpose, record_ids, scores, tokens, created_at)
VALUES ($1, $2, $3, $4, $5, NULLIF($6, ''), $7, $8, $9, $10, $11)`

const correctSQL = `UPDATE injections SET record_ids = $3, scores = $4, tokens = $5 WHERE org_id = $1 AND injection_id = $2`

// Give logs an injection and claims its items for the session, in one transaction. When some of the items were claimed before,
// on any replica, fewer is called with those that were won and says what is left of the injection; when nothing is, nothing is kept. It
// tells whether the injection may be given. Without a session everything is won.
func (s *Store) Give(ctx context.Context, in Injection, items []string, fewer func(won map[string]bool) (Injection, bool)) (given bool, err error) {
	err = s.tenant.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		won, err := s.claim(ctx, tx, in, items)
		if err != nil || in.Key.SessionID == "" || len(won) == len(items) {
			return err
		}
		left, ok := fewer(won)
		if !ok {
			return errNothingLeft
		}
		_, err = tx.Exec(ctx, correctSQL, s.OrgID(), left.InjectionID, orEmpty(left.Records), orEmpty(left.Scores), left.Tokens)
		return err
	})
	if errors.Is(err, errNothingLeft) {
		return false, nil
	}
	return err == nil, err
}

// errNothingLeft rolls back.
var errNothingLeft = errors.New("everything was given before")

// claim claims the items and logs the injection as if all were won, which is the rule: one round trip.
func (s *Store) claim(ctx context.Context, tx pgx.Tx, in Injection, items []string) (map[string]bool, error) {
	batch := &pgx.Batch{}
	batch.Queue(relaxSQL)
	batch.Queue(claimSQL, s.OrgID(), s.actor, in.Key.SessionID, in.Key.Compactions, items, in.At)
	batch.Queue(logSQL, s.OrgID(), in.InjectionID, in.ProjectID, s.actor, in.Key.SessionID, in.EventID, in.Purpose,
		orEmpty(in.Records), orEmpty(in.Scores), in.Tokens, in.At)
	results := tx.SendBatch(ctx, batch)
	won := make(map[string]bool, len(items))
	_, err := results.Exec()
	if err == nil {
		var claimed []string
		claimed, err = collect(results, pgx.RowTo[string])
		for _, item := range claimed {
			won[item] = true
		}
	}
	return won, errors.Join(err, results.Close())
}
