package corpus

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// habits are what is known of files without a question: how many shared records touched them, and how lately.
type habits struct {
	of map[string]habit
	// most are the largest of both signs.
	most habit
	// best are the files that habit alone puts first. A file that nothing else speaks for is among the best of all only if it is here.
	best []string
}

type habit struct{ popular, recent float64 }

// score is what habit is worth for a file.
func (h *habits) score(path string, w FileWeights) float64 {
	of := h.of[path]
	return w.Popular*share(of.popular, h.most.popular) + w.Recent*share(of.recent, h.most.recent)
}

// knownHabits are the habits of everything, as they were when they were made.
type knownHabits struct {
	habits
	change  int64
	at      time.Time
	limit   int
	weights FileWeights
}

// habitsLast is how long habits are kept while nothing changes: recency moves slowly.
const habitsLast = time.Hour

// habitsFor are the habits that a query may go by. Looking back they are counted anew; else they are kept until a record changes.
func (c *Corpus) habitsFor(q *FileQuery) *habits {
	if !q.Filter.AsOf.IsZero() {
		h := c.makeHabits(c.touches(q.Filter), q)
		return &h
	}
	c.mu.RLock()
	change := c.changes
	known := c.known
	c.mu.RUnlock()
	age := time.Duration(0)
	if known != nil {
		age = q.Now.Sub(known.at)
	}
	if known == nil || known.change != change || known.limit != q.Limit || known.weights != q.Weights || age.Abs() > habitsLast {
		known = &knownHabits{habits: c.makeHabits(c.touched(), q), change: change, at: q.Now, limit: q.Limit, weights: q.Weights}
		c.mu.Lock()
		c.known = known
		c.mu.Unlock()
	}
	return &known.habits
}

// touch is how often a file was touched, and when last.
type touch struct {
	path  string
	count int
	last  int64
}

// touched are the files that shared records touched.
func (c *Corpus) touched() []touch {
	c.mu.RLock()
	defer c.mu.RUnlock()
	touches := make([]touch, 0, len(c.files))
	for i := range c.files {
		if f := &c.files[i]; f.shared > 0 {
			touches = append(touches, touch{path: f.path, count: f.shared, last: f.last})
		}
	}
	return touches
}

// touches counts the shared records that a filter passes, one by one.
func (c *Corpus) touches(f Filter) []touch {
	pass, visible := c.passer(f), c.visible(f)
	c.mu.RLock()
	defer c.mu.RUnlock()
	byFile := make([]touch, len(c.files))
	for i := range c.docs {
		d := &c.docs[i]
		if d.is(flagPrivate) || !visible(d) || !pass(d) {
			continue
		}
		for _, number := range d.files {
			t := &byFile[number]
			t.path, t.count, t.last = c.files[number].path, t.count+1, max(t.last, d.validFrom)
		}
	}
	return slices.DeleteFunc(byFile, func(t touch) bool { return t.count == 0 })
}

func (c *Corpus) makeHabits(touches []touch, q *FileQuery) habits {
	h := habits{of: make(map[string]habit, len(touches))}
	for _, t := range touches {
		of := habit{popular: math.Log1p(float64(t.count)), recent: halved(q.Now.Sub(time.Unix(0, t.last)), touchHalfLife)}
		h.of[t.path] = of
		h.most = habit{popular: max(h.most.popular, of.popular), recent: max(h.most.recent, of.recent)}
	}
	slices.SortFunc(touches, func(a, b touch) int {
		return cmp.Or(cmp.Compare(h.score(b.path, q.Weights), h.score(a.path, q.Weights)), cmp.Compare(a.path, b.path))
	})
	for _, t := range touches[:min(len(touches), q.Limit)] {
		h.best = append(h.best, t.path)
	}
	return h
}
