// Package recordstore reads records from Postgres for retrieval, and keeps the log of what was injected. What it gives to a caller is read
// under that caller's row-level security; corpora are built under the services' own right and never leave the process unread.
package recordstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/record"
)

// Store is the records of one caller.
type Store struct {
	tenant postgres.Tenant
	actor  string
}

// New makes the store of a principal. It fails for nobody.
func New(pool *postgres.Pool, p auth.Principal) (*Store, error) {
	tenant, err := pool.Tenant(p)
	if err != nil {
		return nil, err
	}
	return &Store{tenant: tenant, actor: p.ActorID()}, nil
}

// OrgID is the caller's organisation.
func (s *Store) OrgID() string { return s.tenant.OrgID() }

// Actor is who asks.
func (s *Store) Actor() string { return s.actor }

// Hydrated is what Hydrate found.
type Hydrated struct {
	// ChangeSeq is the project's change sequence; every change up to it is in Records.
	ChangeSeq int64
	// Records by id: those of the asked ids that the caller may see now.
	Records map[string]*recordv1.Record
	// Given are the items that the session was given before.
	Given map[string]bool
}

// SuppressionKey names what a session was given since its last compaction. Without a session nothing is suppressed.
type SuppressionKey struct {
	SessionID   string
	Compactions int32
}

const changeSeqSQL = `SELECT change_seq FROM project_state WHERE org_id = $1 AND project_id = $2`

const hydrateSQL = `SELECT ` + record.Columns + ` FROM ` + record.From + `
 WHERE r.org_id = $1 AND r.project_id = $2 AND r.record_id = ANY($3) AND r.deleted_at IS NULL`

const givenSQL = `
SELECT item FROM injection_claims
 WHERE org_id = $1 AND actor_id = $2 AND session_id = $3 AND compactions = $4`

// Hydrate reads records of a project by id and the project's change sequence, and, when a session is named, what that was given before: one round
// trip. The sequence is read first, so that a change after it can only be seen, never missed.
func (s *Store) Hydrate(ctx context.Context, project string, ids []string, key SuppressionKey) (Hydrated, error) {
	out := Hydrated{Records: make(map[string]*recordv1.Record, len(ids)), Given: make(map[string]bool)}
	err := s.tenant.Read(ctx, func(b *pgx.Batch) {
		b.Queue(changeSeqSQL, s.OrgID(), project)
		b.Queue(hydrateSQL, s.OrgID(), project, ids)
		if key.SessionID != "" {
			b.Queue(givenSQL, s.OrgID(), s.actor, key.SessionID, key.Compactions)
		}
	}, func(results pgx.BatchResults) error {
		err := scanChangeSeq(results, &out.ChangeSeq)
		if err != nil {
			return err
		}
		records, err := collectRecords(results)
		if err != nil {
			return err
		}
		for _, r := range records {
			out.Records[r.GetRecordId()] = r
		}
		if key.SessionID == "" {
			return nil
		}
		items, err := collect(results, pgx.RowTo[string])
		for _, item := range items {
			out.Given[item] = true
		}
		return err
	})
	return out, err
}

// scanChangeSeq leaves 0 for a project that has never had a record.
func scanChangeSeq(results pgx.BatchResults, seq *int64) error {
	if err := results.QueryRow().Scan(seq); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("change sequence: %w", err)
	}
	return nil
}

func collectRecords(results pgx.BatchResults) ([]*recordv1.Record, error) {
	return collect(results, record.Scan)
}

func collect[T any](results pgx.BatchResults, scan pgx.RowToFunc[T]) ([]T, error) {
	rows, err := results.Query()
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	return pgx.CollectRows(rows, scan)
}

const getSQL = `SELECT ` + record.Columns + ` FROM ` + record.From + `
 WHERE r.org_id = $1 AND r.record_id = ANY($2) AND r.deleted_at IS NULL`

// Get reads records of any project by id, in the order of the ids; those that the caller may not see are left out.
func (s *Store) Get(ctx context.Context, ids []string) ([]*recordv1.Record, error) {
	found := make(map[string]*recordv1.Record, len(ids))
	err := s.tenant.Read(ctx, func(b *pgx.Batch) { b.Queue(getSQL, s.OrgID(), ids) }, func(results pgx.BatchResults) error {
		records, err := collectRecords(results)
		for _, r := range records {
			found[r.GetRecordId()] = r
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	ordered := make([]*recordv1.Record, 0, len(found))
	for _, id := range ids {
		if r, ok := found[id]; ok {
			ordered = append(ordered, r)
			delete(found, id) // an id that was named twice is answered once
		}
	}
	return ordered, nil
}

// ListFilter narrows a list. Empty parts let everything pass.
type ListFilter struct {
	Actors []string
	Types  []int16
	// FilesPattern is a regular expression that a path must match, written for both Go and Postgres.
	FilesPattern string
	// From and Before bound the time from which a record holds; Before is excluded.
	From, Before time.Time
	// Superseded lists replaced records, too.
	Superseded bool
}

// ListCursor is a place in a list: the last record before it.
type ListCursor struct {
	ValidFrom time.Time `json:"t"`
	RecordID  string    `json:"id"`
}

const listSQL = `SELECT ` + record.Columns + ` FROM ` + record.From + `
 WHERE r.org_id = $1 AND r.project_id = $2 AND r.deleted_at IS NULL
   AND ($3::timestamptz IS NULL OR (r.valid_from, r.record_id) < ($3, $4))
   AND (cardinality($5::text[]) = 0 OR r.actor_id = ANY($5))
   AND (cardinality($6::smallint[]) = 0 OR r.observation_type = ANY($6))
   AND ($7 = '' OR EXISTS (SELECT FROM unnest(r.files) AS f WHERE f ~ $7))
   AND ($8::timestamptz IS NULL OR r.valid_from >= $8)
   AND ($9::timestamptz IS NULL OR r.valid_from < $9)
   AND ($10 OR r.superseded_by IS NULL)
 ORDER BY r.valid_from DESC, r.record_id DESC LIMIT $11`

// List reads records, the newest first, after the cursor when there is one.
func (s *Store) List(ctx context.Context, project string, f ListFilter, after *ListCursor, limit int) ([]*recordv1.Record, error) {
	var at *time.Time
	var id string
	if after != nil {
		at, id = &after.ValidFrom, after.RecordID
	}
	var records []*recordv1.Record
	err := s.tenant.Read(ctx, func(b *pgx.Batch) {
		b.Queue(listSQL, s.OrgID(), project, at, id, orEmpty(f.Actors), orEmpty(f.Types), f.FilesPattern,
			orNull(f.From), orNull(f.Before), f.Superseded, limit)
	}, func(results pgx.BatchResults) (err error) {
		records, err = collectRecords(results)
		return err
	})
	return records, err
}

// orEmpty is an empty array for none: NULL would compare with nothing.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// orNull is NULL for the zero time.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
