package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	"github.com/kiroku-dev/kiroku/services/internal/record"
)

// Project makes up the records of a project: the same seed makes the same ones. Words follow the skewed frequencies of real
// ones, files a tree that grows with the project, times a year up to End.
type Project struct {
	ID   string
	Seed uint64
	End  time.Time

	random *rand.Rand
	words  *rand.Zipf
	files  *rand.Zipf
	tree   []string
}

// recordsOfFile is how many records a project has for each of its files, about as in real repositories.
const recordsOfFile = 8

// NewProject makes up a project that will hold about that many records.
func NewProject(id string, records int, seed uint64, end time.Time) *Project {
	p := &Project{ID: id, Seed: seed, End: end, random: rand.New(rand.NewPCG(seed, 0))}
	const skew, smoothing = 1.1, 8
	p.words = rand.NewZipf(p.random, skew, smoothing, uint64(len(stems)*len(endings)-1))
	for range max(records/recordsOfFile, 20) {
		p.tree = append(p.tree, fmt.Sprintf("%s/%s/%s_%s.go", p.pick(directories), p.pick(stems), p.pick(stems), p.pick(stems)))
	}
	p.files = rand.NewZipf(p.random, skew, smoothing, uint64(len(p.tree)-1))
	return p
}

func (p *Project) pick(from []string) string { return from[p.random.IntN(len(from))] }

// word is one of a few thousand, some written as identifiers.
func (p *Project) word() string {
	n := p.words.Uint64()
	word := stems[n%uint64(len(stems))] + endings[n/uint64(len(stems))]
	const oneIn = 12
	if p.random.IntN(oneIn) == 0 {
		return word + "_" + p.pick(stems)
	}
	return word
}

// Words are n words of the project, as a prompt has them.
func (p *Project) Words(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = p.word()
	}
	return strings.Join(words, " ")
}

// Record is the i-th of n records, the newest last.
func (p *Project) Record(i, n int) *recordv1.Record {
	const (
		sessionRecords = 12
		year           = 365 * 24 * time.Hour
		kinds          = 10
	)
	actor := fmt.Sprintf("dev-%d", i/sessionRecords%5)
	r := &recordv1.Record{
		RecordId: fmt.Sprintf("mr_%013d%013d", p.Seed, i), ProjectId: p.ID, ActorId: actor, SessionId: fmt.Sprintf("%s-s%d", p.ID, i/sessionRecords),
		Title: p.Words(9), Summary: p.Words(18) + ". " + p.Words(14) + ".", Facts: []string{p.Words(12) + ".", p.Words(10) + "."},
		Concepts: strings.Fields(p.Words(5)), Confidence: 0.7,
		ObservationType: recordv1.ObservationType(1 + i%kinds),
		SourceEventIds:  []string{fmt.Sprintf("01J%023d", i)},
		ValidFrom:       timestamppb.New(p.End.Add(-year / time.Duration(n) * time.Duration(n-1-i))),
	}
	for range 1 + p.random.IntN(4) {
		r.FilesTouched = append(r.FilesTouched, p.tree[p.files.Uint64()])
	}
	complete(r, p.ID)
	return r
}

var recordColumns = []string{
	"org_id", "record_id", "project_id", "record_key", "actor_id", "session_id", "visibility", "title", "summary", "facts", "concepts", "files",
	"observation_type", "strategy", "source_event_ids", "confidence", "valid_from", "content_hash", "terms", "change_seq", "created_at", "updated_at",
}

// Fill copies n records into an organisation's empty project and gathers statistics. The connection must be of a role that row-level security does not
// bind: it takes no COPY otherwise.
func (p *Project) Fill(ctx context.Context, owner *pgx.Conn, org string, n int) error {
	i := -1
	rows := pgx.CopyFromFunc(func() ([]any, error) {
		if i++; i == n {
			return nil, nil
		}
		r := p.Record(i, n)
		at := r.GetValidFrom().AsTime()
		return []any{
			org, r.GetRecordId(), p.ID, r.GetRecordId(), r.GetActorId(), r.GetSessionId(), int16(r.GetVisibility()), r.GetTitle(), r.GetSummary(),
			r.GetFacts(), r.GetConcepts(), r.GetFilesTouched(), int16(r.GetObservationType()), r.GetStrategy(), r.GetSourceEventIds(),
			float32(r.GetConfidence()), at, record.ContentHash(r), record.EncodeTerms(record.Analyse(r)), int64(i + 1), at, at,
		}, nil
	})
	if _, err := owner.CopyFrom(ctx, pgx.Identifier{"records"}, recordColumns, rows); err != nil {
		return fmt.Errorf("copy records: %w", err)
	}
	_, err := owner.Exec(ctx, "INSERT INTO project_state (org_id, project_id, change_seq) VALUES ($1, $2, $3)", org, p.ID, n)
	if err != nil {
		return fmt.Errorf("change sequence: %w", err)
	}
	_, err = owner.Exec(ctx, "ANALYZE records")
	return err
}

var directories = []string{
	"cmd/server", "cmd/client", "internal/auth", "internal/storage", "internal/queue", "internal/http", "internal/billing", "internal/search",
	"pkg/config", "pkg/metrics", "web/src/components", "web/src/pages", "deploy/helm", "tools/migrate", "services/orders", "services/users",
}

var stems = strings.Fields(`
	token retry cache login session parser index query worker queue stream schema column vector config secret client server socket timeout
	deadline budget limit quota metric counter gauge trace span logger error panic signal process thread channel mutex lock lease fence
	record event batch page cursor filter sort merge split join hash digest cipher key certificate header cookie route handler middleware
	request response payload body field message topic partition offset replica leader follower snapshot journal segment compaction backup
	restore migration table row view trigger function procedure transaction isolation savepoint rollback commit branch rebase conflict tag
	release version package module import vendor build test fixture mock bench profile heap stack frame pointer slice buffer reader writer
	pipe file folder path link archive image container volume network proxy gateway balancer firewall domain address port agent hook relay
	prompt context memory summary concept fact decision preference actor project organisation member invoice order customer payment refund`)

var endings = []string{"", "s", "er", "ing", "less", "able", "ment", "ness", "2", "v3", "set", "list", "map", "pool", "path", "size"}
