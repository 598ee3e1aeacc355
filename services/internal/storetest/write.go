// Package storetest fills databases for tests and benchmarks: records as extraction writes them, and made-up projects of any size.
package storetest

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kiroku-dev/kiroku/proto/event"
	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/record"
)

const nextChangeSQL = `
INSERT INTO project_state AS s (org_id, project_id, change_seq) VALUES ($1, $2, 0)
    ON CONFLICT (org_id, project_id) DO UPDATE SET change_seq = s.change_seq RETURNING change_seq`

const writeRecordSQL = `
INSERT INTO records (org_id, record_id, project_id, record_key, actor_id, session_id, visibility, title, summary, facts, concepts, files,
                     observation_type, strategy, source_event_ids, confidence, valid_from, valid_to, superseded_by, pinned,
                     content_hash, terms, change_seq, created_at, updated_at)
VALUES ($1, $2, $3, $2, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, NULLIF($18, ''), $19, $20, $21, $22, $16, $16)
    ON CONFLICT (org_id, record_id) DO UPDATE SET visibility = EXCLUDED.visibility, title = EXCLUDED.title, summary = EXCLUDED.summary,
       facts = EXCLUDED.facts, concepts = EXCLUDED.concepts, files = EXCLUDED.files, valid_from = EXCLUDED.valid_from, valid_to = EXCLUDED.valid_to,
       superseded_by = EXCLUDED.superseded_by, pinned = EXCLUDED.pinned, content_hash = EXCLUDED.content_hash, terms = EXCLUDED.terms,
       change_seq = EXCLUDED.change_seq, deleted_at = NULL`

const bumpChangeSQL = `UPDATE project_state SET change_seq = $3 WHERE org_id = $1 AND project_id = $2`

// WriteRecords inserts records of one project, or replaces those that are there, in one transaction that advances the project's change sequence last.
// What a record lacks of id, type, time and strategy is filled in.
func WriteRecords(ctx context.Context, pool *postgres.Pool, org, project string, records ...*recordv1.Record) error {
	return change(ctx, pool, org, project, func(batch *pgx.Batch, next func() int64) {
		for _, r := range records {
			complete(r, project)
			batch.Queue(writeRecordSQL, org, r.GetRecordId(), project, r.GetActorId(), r.GetSessionId(), int16(r.GetVisibility()),
				r.GetTitle(), r.GetSummary(), orEmpty(r.GetFacts()), orEmpty(r.GetConcepts()), orEmpty(r.GetFilesTouched()),
				int16(r.GetObservationType()), r.GetStrategy(), orEmpty(r.GetSourceEventIds()), float32(r.GetConfidence()), r.GetValidFrom().AsTime(),
				validTo(r), r.GetSupersededBy(), r.GetPinned(), record.ContentHash(r), record.EncodeTerms(record.Analyse(r)), next())
		}
	})
}

const deleteRecordSQL = `UPDATE records SET deleted_at = now(), change_seq = $3 WHERE org_id = $1 AND record_id = $2`

// DeleteRecords deletes records as extraction does: they stay as rows that nothing finds.
func DeleteRecords(ctx context.Context, pool *postgres.Pool, org, project string, ids ...string) error {
	return change(ctx, pool, org, project, func(batch *pgx.Batch, next func() int64) {
		for _, id := range ids {
			batch.Queue(deleteRecordSQL, org, id, next())
		}
	})
}

func change(ctx context.Context, pool *postgres.Pool, org, project string, queue func(*pgx.Batch, func() int64)) error {
	tenant, err := pool.Tenant(auth.Service().ForOrg(org))
	if err != nil {
		return err
	}
	return tenant.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var seq int64
		if err := tx.QueryRow(ctx, nextChangeSQL, org, project).Scan(&seq); err != nil {
			return err
		}
		batch := &pgx.Batch{}
		queue(batch, func() int64 { seq++; return seq })
		batch.Queue(bumpChangeSQL, org, project, seq)
		return tx.SendBatch(ctx, batch).Close()
	})
}

const writeSessionSQL = `
INSERT INTO sessions (org_id, actor_id, session_id, project_id, surface, last_seq, min_event_id, max_event_id, started_at, last_event_at)
VALUES ($1, $2, $3, $4, 'claude-code', 1, '', '', $5, $6)
    ON CONFLICT (org_id, actor_id, session_id) DO UPDATE SET last_event_at = EXCLUDED.last_event_at`

// WriteSession makes a session, or moves the time of its last event.
func WriteSession(ctx context.Context, pool *postgres.Pool, org, project, actor, session string, started, last time.Time) error {
	tenant, err := pool.Tenant(auth.Service().ForOrg(org))
	if err != nil {
		return err
	}
	return tenant.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, writeSessionSQL, org, actor, session, project, started, last)
		return err
	})
}

// complete fills in what every record has.
func complete(r *recordv1.Record, project string) {
	r.ProjectId = project
	if r.GetValidFrom() == nil {
		r.ValidFrom = timestamppb.Now()
	}
	if r.GetRecordId() == "" {
		r.RecordId = "mr_" + event.NewID(r.GetValidFrom().AsTime())
	}
	if r.GetVisibility() == recordv1.Visibility_VISIBILITY_UNSPECIFIED {
		r.Visibility = recordv1.Visibility_VISIBILITY_PROJECT
	}
	if r.GetObservationType() == recordv1.ObservationType_OBSERVATION_TYPE_UNSPECIFIED {
		r.ObservationType = recordv1.ObservationType_OBSERVATION_TYPE_DISCOVERY
	}
	if r.GetStrategy() == "" {
		r.Strategy = "rules"
	}
}

func validTo(r *recordv1.Record) *time.Time {
	if r.GetValidTo() == nil {
		return nil
	}
	t := r.GetValidTo().AsTime()
	return &t
}

// orEmpty is an empty array for none: the columns take no NULL.
func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
