package retrieval

import (
	"context"
	"errors"
	"time"

	"github.com/kiroku-dev/kiroku/services/retrieval/corpus"
	"github.com/kiroku-dev/kiroku/services/retrieval/recordstore"
)

const (
	// coldWait is how long a call waits for a project's index that is not in memory: small projects are whole by then.
	coldWait = 80 * time.Millisecond
	// coldReserve is what the wait leaves of the caller's deadline.
	coldReserve = 60 * time.Millisecond
	// coldRecords is how many of the newest records are read when there is no index at all in time.
	coldRecords = 500
)

// fresh searches a project and reads what was found; search returns the ids to read. When memory was behind the truth, it catches up and
// searches once more, so every change before the call is in the answer. state is ok, cold, or timed out when catching
// up took too long.
func (s *server) fresh(ctx context.Context, store *recordstore.Store, project string, given recordstore.SuppressionKey,
	search func(*corpus.Corpus) []string,
) (recordstore.Hydrated, string, error) {
	key := corpus.Key{Org: store.OrgID(), Project: project}
	c, err := s.corpus(ctx, store, key)
	if err != nil {
		return recordstore.Hydrated{}, "", err
	}
	for again := false; ; again = true {
		known := c.Seq()
		out, err := store.Hydrate(ctx, project, search(c), given)
		if err != nil {
			return out, "", err
		}
		if out.ChangeSeq < known && !again {
			// The truth is older than memory: the database was restored. What memory knows beyond it never was.
			s.cache.Forget(key, c)
			if c, err = s.corpus(ctx, store, key); err != nil {
				return out, "", err
			}
			continue
		}
		if out.ChangeSeq <= known || again {
			return out, stateOf(c), nil
		}
		if err := s.cache.CatchUp(ctx, key, c, out.ChangeSeq); err != nil {
			if isLane(err) {
				return out, failed(err), nil
			}
			return out, "", err
		}
	}
}

func stateOf(c *corpus.Corpus) string {
	if c.Whole() {
		return stateOK
	}
	return stateCold
}

// corpus is the project's index, as far as it is built within the wait; else one of the newest records that the caller may see.
func (s *server) corpus(ctx context.Context, store *recordstore.Store, key corpus.Key) (*corpus.Corpus, error) {
	wait := coldWait
	if until, ok := ctx.Deadline(); ok {
		wait = min(wait, max(time.Until(until)-coldReserve, time.Millisecond))
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	c, err := s.cache.Get(waiting, key)
	if err == nil || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return c, err
	}
	return store.Newest(ctx, key, coldRecords)
}
