package corpus

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/kiroku-dev/kiroku/services/retrieval/index"
)

// FileWeights say how much each sign counts in a file's score. Every sign goes from 0 to 1.
type FileWeights struct {
	// Related is how well the records that touched the file match.
	Related float64
	// Path is how well the words of its path match.
	Path float64
	// Named is whether the text names it.
	Named float64
	// Working is whether the session works on it.
	Working float64
	// Popular is how many records touched it.
	Popular float64
	// Recent is how lately one did.
	Recent float64
}

// DefaultFileWeights are one choice from a flat plateau: a sweep over recorded sessions found no other that was clearly better.
var DefaultFileWeights = FileWeights{Related: 1, Path: 0.6, Named: 1.2, Working: 0.3, Popular: 0.2, Recent: 0.2}

const (
	// relatedHits is how many of the best records speak for files.
	relatedHits = 60
	// pathHits is how many files are found by the words of their paths.
	pathHits = 50
	// hitHalfLife is how soon a matching record speaks only half as loud for its files.
	hitHalfLife = 120 * 24 * time.Hour
	// touchHalfLife is how soon a file that is not touched any more is no longer recent.
	touchHalfLife = 14 * 24 * time.Hour
)

// FileHit is a file that is likely to matter.
type FileHit struct {
	Path  string
	Score float64
	// Related is how many of the matching records touched it.
	Related int
	// Named tells that the question names it, Matched that anything of the question speaks for it, beside habit.
	Named, Matched bool
	// Evidence is the id of a record that touched it: the best match, else the latest that everybody may see.
	Evidence string
}

// FileQuery asks for the files that matter to a question.
type FileQuery struct {
	// Terms are the question's, with what each counts, and Hits the records that match it, best first.
	Terms       []string
	TermWeights []float64
	Hits        []Hit
	// Named are files that the question names, with how sure that is.
	Named map[string]float64
	// Working are files that the session works on. Unknown ones count for nothing.
	Working []string
	// Filter is the one that found the hits.
	Filter Filter
	// Now is what recency counts from.
	Now time.Time
	// Limit is the most files to return.
	Limit int
	// Weights of the signs.
	Weights FileWeights
}

// fileSigns are what speaks for one file.
type fileSigns struct {
	related, path, named, working float64
	hits                          int
	evidence                      string
}

// Files ranks the project's files for a question: by score, then by path.
func (c *Corpus) Files(q FileQuery) []FileHit {
	signs := make(map[string]*fileSigns)
	of := func(path string) *fileSigns {
		s, ok := signs[path]
		if !ok {
			s = &fileSigns{}
			signs[path] = s
		}
		return s
	}
	q.addRelated(of)
	for _, hit := range c.paths.Search(index.Query{Terms: q.Terms, Weights: q.TermWeights, Limit: pathHits}) {
		of(hit.ID).path = hit.Score
	}
	for path, sure := range q.Named {
		of(path).named = sure
	}
	for _, path := range q.Working {
		of(path).working = 1
	}
	return c.withEvidence(rankFiles(signs, c.habitsFor(&q), q.Weights), q.Filter, q.Limit)
}

// addRelated lets every matching record speak for the files it touched: the better it matches the louder, and the more files
// it touched the less for each.
func (q *FileQuery) addRelated(of func(string) *fileSigns) {
	if len(q.Hits) == 0 {
		return
	}
	best := q.Hits[0].Score
	for _, hit := range q.Hits[:min(len(q.Hits), relatedHits)] {
		if hit.Score <= 0 || len(hit.Files) == 0 {
			continue
		}
		score := hit.Score / best
		loud := score * score / math.Sqrt(float64(len(hit.Files))) * halved(q.Now.Sub(hit.ValidFrom), hitHalfLife)
		for _, path := range hit.Files {
			s := of(path)
			s.related += loud
			s.hits++
			if s.evidence == "" {
				s.evidence = hit.ID
			}
		}
	}
}

// halved is 1 for no age, half after every half-life.
func halved(age, halfLife time.Duration) float64 {
	if age <= 0 {
		return 1
	}
	return math.Exp2(-float64(age) / float64(halfLife))
}

func rankFiles(signs map[string]*fileSigns, habits *habits, w FileWeights) []FileHit {
	var top fileSigns
	for _, s := range signs {
		top.related, top.path = max(top.related, s.related), max(top.path, s.path)
	}
	ranked := make([]FileHit, 0, len(signs)+len(habits.best))
	for path, s := range signs {
		score := habits.score(path, w) +
			w.Related*share(s.related, top.related) + w.Path*share(s.path, top.path) + w.Named*s.named + w.Working*s.working
		ranked = append(ranked, FileHit{
			Path: path, Score: score, Related: s.hits, Named: s.named > 0, Matched: true, Evidence: s.evidence,
		})
	}
	for _, path := range habits.best {
		if signs[path] == nil {
			ranked = append(ranked, FileHit{Path: path, Score: habits.score(path, w)})
		}
	}
	slices.SortFunc(ranked, func(a, b FileHit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Path, b.Path))
	})
	return ranked
}

// share is a part of the largest, 0 when there is none.
func share(part, largest float64) float64 {
	if largest <= 0 {
		return 0
	}
	return part / largest
}

// withEvidence takes the first limit files for which a record speaks that the filter passes, and names one for each. Others take no place: the
// session may work on many files that no record knows yet.
func (c *Corpus) withEvidence(ranked []FileHit, f Filter, limit int) []FileHit {
	kept := ranked[:0]
	for _, hit := range ranked {
		if len(kept) == limit {
			break
		}
		if hit.Evidence == "" {
			newest := c.Touching([]string{hit.Path}, f, 1)
			if len(newest) == 0 {
				continue
			}
			hit.Evidence = newest[0].ID
		}
		kept = append(kept, hit)
	}
	return kept
}
