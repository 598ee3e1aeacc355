package recordstore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/record"
	"github.com/kiroku-dev/kiroku/services/retrieval/corpus"
)

// Source builds corpora. It reads everything, private records too, under the services' own right.
type Source struct {
	Pool   *postgres.Pool
	Logger *slog.Logger
}

var _ corpus.Source = Source{}

const documentColumns = `record_id, change_seq, deleted_at IS NOT NULL, actor_id, session_id, visibility, pinned, superseded_by IS NOT NULL,
       observation_type, valid_from, valid_to, files, terms`

const loadSQL = `SELECT ` + documentColumns + ` FROM records
 WHERE org_id = $1 AND project_id = $2 AND deleted_at IS NULL ORDER BY valid_from DESC, record_id DESC`

// Load implements corpus.Source.
func (s Source) Load(ctx context.Context, key corpus.Key, begin func(int64), each func(corpus.Document)) error {
	_, err := s.read(ctx, key, begin, each, loadSQL, key.Org, key.Project)
	return err
}

const changesSQL = `SELECT ` + documentColumns + ` FROM records
 WHERE org_id = $1 AND project_id = $2 AND change_seq > $3 ORDER BY change_seq`

// Changes implements corpus.Source.
func (s Source) Changes(ctx context.Context, key corpus.Key, after int64, each func(corpus.Document)) (int64, error) {
	return s.read(ctx, key, func(int64) {}, each, changesSQL, key.Org, key.Project, after)
}

func (s Source) read(ctx context.Context, key corpus.Key, begin func(int64), each func(corpus.Document), query string, args ...any) (int64, error) {
	tenant, err := s.Pool.Tenant(auth.Service().ForOrg(key.Org))
	if err != nil {
		return 0, err
	}
	return s.readAs(ctx, tenant, key, begin, each, query, args...)
}

// readAs reads the change sequence, then rows: each statement sees what is committed when it begins, so the rows hold at least
// every change up to the sequence.
func (s Source) readAs(ctx context.Context, tenant postgres.Tenant, key corpus.Key, begin func(int64), each func(corpus.Document),
	query string, args ...any,
) (int64, error) {
	var seq int64
	err := tenant.Read(ctx, func(b *pgx.Batch) {
		b.Queue(changeSeqSQL, key.Org, key.Project)
		b.Queue(query, args...)
	}, func(results pgx.BatchResults) error {
		if err := scanChangeSeq(results, &seq); err != nil {
			return err
		}
		begin(seq)
		rows, err := results.Query()
		if err != nil {
			return fmt.Errorf("documents: %w", err)
		}
		return s.eachDocument(ctx, key, rows, each)
	})
	return seq, err
}

// eachDocument decodes row by row: a project's terms need not be in memory twice. A record whose terms are damaged cannot be found by them, which
// is no reason to find nothing else.
func (s Source) eachDocument(ctx context.Context, key corpus.Key, rows pgx.Rows, each func(corpus.Document)) error {
	defer rows.Close()
	for rows.Next() {
		var d corpus.Document
		var visibility int16
		var validTo *time.Time
		var terms []byte
		err := rows.Scan(&d.ID, &d.Seq, &d.Deleted, &d.Actor, &d.Session, &visibility, &d.Pinned, &d.Superseded,
			&d.Type, &d.ValidFrom, &validTo, &d.Files, &terms)
		if err != nil {
			return fmt.Errorf("document: %w", err)
		}
		d.Private = visibility != visibilityProject
		if validTo != nil {
			d.ValidTo = *validTo
		}
		if d.Terms, err = record.DecodeTerms(terms); err != nil {
			s.Logger.WarnContext(ctx, "a record's terms are damaged", "org_id", key.Org, "record_id", d.ID, "err", err)
		}
		each(d)
	}
	return rows.Err()
}

// visibilityProject is kiroku.record.v1.VISIBILITY_PROJECT: anything else is its actor's alone.
const visibilityProject = 1

const newestDocumentsSQL = loadSQL + ` LIMIT $3`

// Newest is a corpus of the newest records that the caller may see: what can be had at once of a project whose own is not there
// yet. It is not whole.
func (s *Store) Newest(ctx context.Context, key corpus.Key, limit int) (*corpus.Corpus, error) {
	c := corpus.New()
	source := Source{Logger: slog.New(slog.DiscardHandler)} // damage is told where the whole is loaded
	_, err := source.readAs(ctx, s.tenant, key, c.Advance, c.Apply, newestDocumentsSQL, key.Org, key.Project, limit)
	return c, err
}
