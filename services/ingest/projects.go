package ingest

import (
	"context"
	"sort"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/kiroku-dev/kiroku/proto/event"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
)

// maxNamed bounds how many projects are remembered as named; the memory is emptied when full.
const maxNamed = 100_000

// projectNames keeps the display names of projects. A name that was given once is not written again by this process.
type projectNames struct {
	mu    sync.Mutex
	named map[[3]string]struct{}
}

func newProjectNames() *projectNames { return &projectNames{named: make(map[[3]string]struct{})} }

const nameProjectSQL = `
INSERT INTO projects AS p (org_id, project_id, name) SELECT $1, u.id, u.name FROM unnest($2::text[], $3::text[]) AS u (id, name)
    ON CONFLICT (org_id, project_id) DO UPDATE SET name = EXCLUDED.name WHERE EXCLUDED.name <> '' AND p.name <> EXCLUDED.name`

// Name writes the names of projects that were not seen with that name before.
func (n *projectNames) Name(ctx context.Context, store postgres.Tenant, events []event.Scrubbed) error {
	var ids, names []string
	fresh := make(map[[3]string]struct{})
	n.mu.Lock()
	for _, scrubbed := range events {
		namespace, err := event.ParseNamespace(scrubbed.Event().GetNamespace())
		if err != nil {
			continue // validated before
		}
		key := [3]string{store.OrgID(), namespace.Project, scrubbed.Event().GetProjectName()}
		if _, ok := n.named[key]; ok {
			continue
		}
		if _, ok := fresh[[3]string{namespace.Project}]; ok {
			continue // one statement cannot touch a row twice
		}
		fresh[key], fresh[[3]string{namespace.Project}] = struct{}{}, struct{}{}
		ids, names = append(ids, namespace.Project), append(names, key[2])
	}
	n.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	sort.Sort(byID{ids, names}) // calls that name the same projects lock them in one order
	err := store.Tx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, nameProjectSQL, store.OrgID(), ids, names)
		return err
	})
	if err != nil {
		return err
	}
	n.remember(store.OrgID(), ids, names)
	return nil
}

// byID sorts ids, and their names along with them.
type byID struct{ ids, names []string }

// Len implements sort.Interface.
func (b byID) Len() int { return len(b.ids) }

// Less implements sort.Interface.
func (b byID) Less(i, j int) bool { return b.ids[i] < b.ids[j] }

// Swap implements sort.Interface.
func (b byID) Swap(i, j int) {
	b.ids[i], b.ids[j] = b.ids[j], b.ids[i]
	b.names[i], b.names[j] = b.names[j], b.names[i]
}

func (n *projectNames) remember(org string, ids, names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.named) >= maxNamed {
		clear(n.named)
	}
	for i, id := range ids {
		n.named[[3]string{org, id, names[i]}] = struct{}{}
	}
}
