package extraction

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kiroku-dev/kiroku/proto/event"
)

// writer writes the records of one transaction, numbering their changes.
type writer struct {
	tx           pgx.Tx
	org, project string
	now          time.Time
	changeSeq    int64
	written      int
}

// stored is what the project already has, as far as it matters to the drafts.
type stored struct {
	recordID string
	key      string
	hash     []byte
	sources  []string
	pinned   bool
	// deleted records of a turn come back when the turn says so again, forgotten ones never.
	deleted, forgotten bool
}

// Records of the same turns, by key, and living records that say the same, by content. Extraction works for everybody and sees private records
// too: one of those must not take in what the whole project may know, and one that was superseded is not found any more.
const relatedSQL = `
SELECT record_id, record_key, content_hash, source_event_ids, pinned, deleted_at IS NOT NULL, forgotten FROM records
 WHERE org_id = $1 AND project_id = $2 AND content_hash = ANY($3) AND deleted_at IS NULL AND visibility = 1 AND superseded_by IS NULL
UNION
SELECT r.record_id, r.record_key, r.content_hash, r.source_event_ids, r.pinned, r.deleted_at IS NOT NULL, r.forgotten
  FROM unnest($4::text[]) AS prefix JOIN records r ON r.org_id = $1 AND r.project_id = $2 AND r.record_key >= prefix AND r.record_key < prefix || '~'`

func (w *writer) write(ctx context.Context, d *drafts) error {
	hashes := make([][]byte, len(d.records))
	for i, r := range d.records {
		hashes[i] = r.hash
	}
	rows, err := w.tx.Query(ctx, relatedSQL, w.org, w.project, hashes, d.prefixes)
	if err != nil {
		return fmt.Errorf("related records: %w", err)
	}
	related, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (stored, error) {
		var s stored
		err := row.Scan(&s.recordID, &s.key, &s.hash, &s.sources, &s.pinned, &s.deleted, &s.forgotten)
		return s, err
	})
	if err != nil {
		return fmt.Errorf("related records: %w", err)
	}
	statements := &pgx.Batch{}
	w.queue(statements, d, related)
	if statements.Len() == 0 {
		return nil
	}
	if err := w.tx.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("write records: %w", err)
	}
	return nil
}

// queue decides for every draft: the same as before changes nothing, a record of the same key is replaced, a record of another
// turn that says the same is confirmed, anything else is new. Records of the turns that were not made again go, unless another turn
// confirmed them.
func (w *writer) queue(statements *pgx.Batch, d *drafts, related []stored) {
	byKey := make(map[string]stored, len(related))
	for _, s := range related {
		byKey[s.key] = s
	}
	byHash := d.lasting(related)
	kept := make(map[string]bool, len(d.records))
	for _, draft := range d.records {
		kept[draft.key] = true
		if old, ok := byKey[draft.key]; ok {
			own, others := d.split(old.sources)
			same := bytes.Equal(old.hash, draft.hash)
			if !old.forgotten && !old.pinned && (old.deleted || !same || !slices.Equal(own, draft.GetSourceEventIds())) {
				sources := draft.GetSourceEventIds()
				if same { // confirmations are of what it says
					sources = slices.Concat(sources, others)
				}
				w.replace(statements, draft, old.recordID, sources)
			}
			continue
		}
		if same, ok := byHash[string(draft.hash)]; ok && same.key != draft.key {
			w.confirm(statements, draft, same)
			continue
		}
		id := w.insert(statements, draft)
		byHash[string(draft.hash)] = stored{recordID: id, key: draft.key, hash: draft.hash, sources: draft.GetSourceEventIds()}
	}
	for _, s := range related {
		if _, others := d.split(s.sources); d.ofTheseTurns(s) && !kept[s.key] && !s.pinned && !s.deleted && len(others) == 0 {
			w.remove(statements, s.recordID)
		}
	}
}

// split tells a record's sources in the drafts' turns from those in others, which confirmed it.
func (d *drafts) split(sources []string) (own, others []string) {
	for _, id := range sources {
		if d.events[id] {
			own = append(own, id)
		} else {
			others = append(others, id)
		}
	}
	return own, others
}

// lasting are the living records that will still say what they say when the drafts are written, by their content: those of other turns,
// and those of these turns that are made again with the same content. Others are about to be replaced or removed, and what was
// confirmed in them would be lost.
func (d *drafts) lasting(related []stored) map[string]stored {
	again := make(map[string][]byte, len(d.records))
	for _, draft := range d.records {
		again[draft.key] = draft.hash
	}
	byHash := make(map[string]stored, len(related))
	for _, s := range related {
		if !s.deleted && (!d.ofTheseTurns(s) || bytes.Equal(again[s.key], s.hash)) {
			byHash[string(s.hash)] = s
		}
	}
	return byHash
}

// ofTheseTurns tells whether a record was made of one of the drafts' turns.
func (d *drafts) ofTheseTurns(s stored) bool {
	return slices.ContainsFunc(d.prefixes, func(prefix string) bool { return strings.HasPrefix(s.key, prefix) })
}

const insertRecordSQL = `
INSERT INTO records (org_id, record_id, project_id, record_key, actor_id, session_id, visibility, title, summary, facts, concepts, files,
                     observation_type, strategy, source_event_ids, confidence, valid_from, content_hash, terms, change_seq, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $21)`

func (w *writer) insert(statements *pgx.Batch, d draft) string {
	id := "mr_" + event.NewID(w.now)
	statements.Queue(insertRecordSQL, w.org, id, w.project, d.key, d.GetActorId(), d.GetSessionId(), int16(d.GetVisibility()), //nolint:gosec // a small enum
		d.GetTitle(), d.GetSummary(), orEmpty(d.GetFacts()), orEmpty(d.GetConcepts()), orEmpty(d.GetFilesTouched()),
		int16(d.GetObservationType()), d.GetStrategy(), d.GetSourceEventIds(), float32(d.GetConfidence()), d.GetValidFrom().AsTime(), //nolint:gosec // a small enum
		d.hash, d.terms, w.change(), w.now)
	w.link(statements, id, d.GetSourceEventIds())
	return id
}

const replaceRecordSQL = `
UPDATE records SET title = $3, summary = $4, facts = $5, concepts = $6, files = $7, observation_type = $8, source_event_ids = $9, confidence = $10,
       valid_from = $11, content_hash = $12, terms = $13, change_seq = $14, updated_at = $15, deleted_at = NULL
 WHERE org_id = $1 AND record_id = $2`

func (w *writer) replace(statements *pgx.Batch, d draft, id string, sources []string) {
	statements.Queue(replaceRecordSQL, w.org, id, d.GetTitle(), d.GetSummary(), orEmpty(d.GetFacts()), orEmpty(d.GetConcepts()), orEmpty(d.GetFilesTouched()),
		int16(d.GetObservationType()), sources, float32(d.GetConfidence()), d.GetValidFrom().AsTime(), d.hash, d.terms, w.change(), w.now) //nolint:gosec // a small enum
	w.link(statements, id, d.GetSourceEventIds())
}

// A draft whose sources the record already has was confirmed before: a batch that comes again must not count twice.
const confirmRecordSQL = `
UPDATE records SET seen_count = seen_count + 1, change_seq = $4, updated_at = $5,
       source_event_ids = source_event_ids || ARRAY(SELECT u FROM unnest($3::text[]) AS u WHERE u <> ALL (source_event_ids))
 WHERE org_id = $1 AND record_id = $2 AND NOT source_event_ids @> $3`

func (w *writer) confirm(statements *pgx.Batch, d draft, same stored) {
	statements.Queue(confirmRecordSQL, w.org, same.recordID, d.GetSourceEventIds(), w.change(), w.now)
	w.link(statements, same.recordID, d.GetSourceEventIds())
}

const removeRecordSQL = `UPDATE records SET deleted_at = $3, change_seq = $4, updated_at = $3 WHERE org_id = $1 AND record_id = $2`

func (w *writer) remove(statements *pgx.Batch, id string) {
	statements.Queue(removeRecordSQL, w.org, id, w.now, w.change())
}

const linkSourcesSQL = `
INSERT INTO record_sources (org_id, event_id, record_id)
SELECT $1, u, $2 FROM unnest($3::text[]) AS u ON CONFLICT DO NOTHING`

// A part of a turn that said nothing by itself may be a source of what the whole turn says.
const sourcesExtractedSQL = `UPDATE event_state SET status = 3, updated_at = $3 WHERE org_id = $1 AND event_id = ANY($2) AND status = 4`

func (w *writer) link(statements *pgx.Batch, id string, sources []string) {
	statements.Queue(linkSourcesSQL, w.org, id, sources)
	statements.Queue(sourcesExtractedSQL, w.org, sources, w.now)
}

// change numbers one change of a record.
func (w *writer) change() int64 {
	w.changeSeq++
	w.written++
	return w.changeSeq
}

// orEmpty is an empty array for none: the columns take no NULL.
func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
