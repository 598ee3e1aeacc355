// Package record is the record as Postgres keeps it: its columns, its analysed terms, the hash of its content.
package record

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
)

// Columns are what Scan reads: of the table records under the alias r, and of projects under the alias p.
const Columns = `r.record_id, r.project_id, coalesce(p.name, ''), r.actor_id, r.visibility, r.title, r.summary, r.facts, r.concepts, r.files,
       r.observation_type, r.strategy, r.source_event_ids, r.session_id, r.confidence, r.valid_from, r.valid_to, r.supersedes,
       coalesce(r.superseded_by, ''), r.pinned, r.seen_count, r.created_at, r.updated_at`

// From joins the two tables that Columns names.
const From = `records r LEFT JOIN projects p ON p.org_id = r.org_id AND p.project_id = r.project_id`

// Scan reads one row of a query for Columns.
func Scan(row pgx.CollectableRow) (*recordv1.Record, error) {
	r := &recordv1.Record{}
	var visibility, observation int16
	var validFrom, created, updated time.Time
	var validTo *time.Time
	var confidence float32
	err := row.Scan(&r.RecordId, &r.ProjectId, &r.ProjectName, &r.ActorId, &visibility, &r.Title, &r.Summary, &r.Facts, &r.Concepts, &r.FilesTouched,
		&observation, &r.Strategy, &r.SourceEventIds, &r.SessionId, &confidence, &validFrom, &validTo, &r.Supersedes,
		&r.SupersededBy, &r.Pinned, &r.SeenCount, &created, &updated)
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	r.Visibility, r.ObservationType = recordv1.Visibility(visibility), recordv1.ObservationType(observation)
	r.Confidence = float64(confidence)
	r.ValidFrom, r.CreatedTime, r.UpdatedTime = timestamppb.New(validFrom), timestamppb.New(created), timestamppb.New(updated)
	if validTo != nil {
		r.ValidTo = timestamppb.New(*validTo)
	}
	return r, nil
}

// ContentHash tells whether two records say the same: case and blanks do not count, nor do sources, sessions and times. A preference is what its title
// says; the rest of it is the occasion on which it was said.
func ContentHash(r *recordv1.Record) []byte {
	parts := []string{r.GetObservationType().String(), r.GetTitle()}
	if r.GetObservationType() != recordv1.ObservationType_OBSERVATION_TYPE_PREFERENCE {
		parts = append(append(parts, r.GetSummary()), r.GetFacts()...)
	}
	h := sha256.New()
	for _, part := range parts {
		_, _ = h.Write([]byte(strings.ToLower(strings.Join(strings.Fields(part), " ")))) // a hash takes everything
		_, _ = h.Write([]byte{0})
	}
	return h.Sum(nil)
}
