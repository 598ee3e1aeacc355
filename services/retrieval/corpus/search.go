package corpus

import (
	"slices"
	"time"

	"github.com/kiroku-dev/kiroku/services/retrieval/index"
)

// Filter says which records a search may return. Empty parts let everything pass.
type Filter struct {
	// Actor asks: private records of others are not found.
	Actor string
	// Actors and Types pass the records of any of theirs.
	Actors []string
	Types  []int16
	// Files passes records that touched a path for which it is true.
	Files func(path string) bool
	// From passes what began to hold at this moment or later, Before what did so earlier.
	From, Before time.Time
	// Superseded passes records that others have replaced, too.
	Superseded bool
	// AsOf, when set, looks back: records that were replaced later than it pass as well.
	AsOf time.Time
	// WithoutSessions leaves out the records of these sessions.
	WithoutSessions []Session
}

// Session names a session of an actor.
type Session struct{ Actor, ID string }

// Hit is a record that was found.
type Hit struct {
	index.Hit
	// Type, Pinned and ValidFrom are the record's.
	Type      int16
	Pinned    bool
	ValidFrom time.Time
	// Files are the paths it touched.
	Files []string
}

// Search returns the best limit records for the terms, best first; weights scale the terms position by position, explain also splits
// the scores by field.
func (c *Corpus) Search(terms []string, weights []float64, f Filter, limit int, explain bool) []Hit {
	q := index.Query{Terms: terms, Weights: weights, Actor: f.Actor, Limit: limit, Explain: explain, Filter: index.Filter{
		Actors: f.Actors, CreatedAfter: f.From, CreatedBefore: f.Before,
	}}
	for _, t := range f.Types {
		q.Filter.Types = append(q.Filter.Types, typeName(t))
	}
	pass := c.passer(f)
	for {
		found := c.records.Search(q)
		hits := c.enrich(found, pass, limit)
		// What the index cannot filter is dropped after it, so fewer than wanted may be left while there are more to find.
		if len(hits) == limit || len(found) < q.Limit {
			return hits
		}
		q.Limit *= 4
	}
}

// passer makes the part of the filter that the index does not know. What it makes is called under the lock.
func (c *Corpus) passer(f Filter) func(*doc) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	without := make(map[uint32]bool, len(f.WithoutSessions))
	for _, s := range f.WithoutSessions {
		if number, ok := c.names[sessionName(s.Actor, s.ID)]; ok {
			without[number] = true
		}
	}
	asOf := unixNano(f.AsOf)
	matches := make(map[uint32]bool) // paths are judged once
	return func(d *doc) bool {
		if d.is(flagDeleted) || without[d.session] {
			return false
		}
		if d.is(flagSuperseded) && !f.Superseded && (asOf == 0 || d.validTo <= asOf) {
			return false
		}
		return f.Files == nil || slices.ContainsFunc(d.files, func(number uint32) bool {
			match, judged := matches[number]
			if !judged {
				match = f.Files(c.files[number].path)
				matches[number] = match
			}
			return match
		})
	}
}

// visible makes the part of the filter that a search leaves to the index: who may see a document, whose it is, its type and time.
// What it makes is called under the lock.
func (c *Corpus) visible(f Filter) func(*doc) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	asking, known := c.names[f.Actor]
	actors := make(map[uint32]bool, len(f.Actors))
	for _, actor := range f.Actors {
		if number, ok := c.names[actor]; ok {
			actors[number] = true
		}
	}
	from, before := unixNano(f.From), unixNano(f.Before)
	return func(d *doc) bool {
		return (!d.is(flagPrivate) || (known && d.actor == asking)) &&
			(len(f.Actors) == 0 || actors[d.actor]) &&
			(len(f.Types) == 0 || slices.Contains(f.Types, d.typ)) &&
			(from == 0 || d.validFrom >= from) && (before == 0 || d.validFrom < before)
	}
}

func (c *Corpus) enrich(found []index.Hit, pass func(*doc) bool, limit int) []Hit {
	c.mu.RLock()
	defer c.mu.RUnlock()
	hits := make([]Hit, 0, min(len(found), limit))
	for _, h := range found {
		ordinal, ok := c.byID[h.ID]
		if !ok || len(hits) == limit {
			continue
		}
		d := &c.docs[ordinal]
		if !pass(d) {
			continue
		}
		hit := c.hit(d)
		hit.Hit = h
		hits = append(hits, hit)
	}
	return hits
}

// hit is a document as a hit without a score.
func (c *Corpus) hit(d *doc) Hit {
	at := time.Unix(0, d.validFrom).UTC()
	hit := Hit{Hit: index.Hit{ID: d.id, CreatedAt: at}, Type: d.typ, Pinned: d.is(flagPinned), ValidFrom: at}
	hit.Files = make([]string, len(d.files))
	for i, number := range d.files {
		hit.Files[i] = c.files[number].path
	}
	return hit
}
