// Package index is the in-memory lexical index of one project: it answers which
// records share terms with a query, ranked by BM25 over weighted fields.
//
// It is our own rather than a search library's because of what it must not hold
// and what it must do. It has postings only and no text: whatever it finds is
// read again from Postgres under the caller's row-level security, so that
// forgetting, fresh writes and tenancy never depend on process memory, and a
// record costs a few hundred bytes. It takes single writes without blocking
// readers, is thrown away and rebuilt at will, needs no files, no scorer
// plug-ins and no query language, and its answers must be the same whether it
// was filled at once or change by change. Libraries bring stored fields,
// segment files and merge threads for needs that we do not have.
//
// # Shape
//
// Documents have ordinals in order of arrival. A term has one byte string of
// postings (ordinal gaps, fields and frequencies), which only ever grows at its
// end; so do all other parts that searches read. A search therefore copies the
// slice headers it needs under a short lock and then works without one, on the
// index as it was at that moment. A replaced or deleted document stays behind as
// a tombstone until the dead outnumber the living; then everything is rewritten
// beside the old state, which readers keep until they are done.
package index

import (
	"hash/maphash"
	"sync"
	"time"
)

// Field is a part of a record whose terms have their own weight.
type Field uint8

// The fields of a record.
const (
	FieldTitle Field = iota
	FieldSummary
	FieldFacts
	FieldConcepts
	FieldFiles

	// NumFields counts the fields. At most 7 fit into a posting's head.
	NumFields = 5
)

var fieldNames = [NumFields]string{"title", "summary", "facts", "concepts", "files"}

// String returns the field's name as explanations show it.
func (f Field) String() string {
	if int(f) < len(fieldNames) {
		return fieldNames[f]
	}
	return "unknown"
}

// Document is what the index takes of a record.
type Document struct {
	// ID is the record id. A document replaces the one with the same id.
	ID string
	// Actor made the record.
	Actor string
	// Private documents are found by their actor only.
	Private bool
	// CreatedAt orders equal scores and is what time filters look at. It is kept
	// to the nanosecond, in UTC; times outside 1678 to 2261 are moved to the end
	// of that span.
	CreatedAt time.Time
	// Type is the observation type.
	Type string
	// Fields hold the analysed terms of each field, repeats included.
	Fields [NumFields][]string
	// Files are the repository-relative paths that the record touched.
	Files []string
}

// Defaults of Options.
const (
	// DefaultK1 is how soon further repeats of a term stop to count.
	DefaultK1 = 0.9
	// DefaultB is how much long fields are held against a document.
	DefaultB = 0.4
	// DefaultMaxQueryTerms is how many terms of a query are scored: the rarest.
	DefaultMaxQueryTerms = 24

	// queryTermLimit is the most that one search can tell apart.
	queryTermLimit = 32
)

// Weights say how much one occurrence counts, by field.
type Weights [NumFields]float64

// DefaultWeights favour what a person would scan first: the title, the paths and
// the concepts.
var DefaultWeights = Weights{
	FieldTitle:    2.0,
	FieldSummary:  1.0,
	FieldFacts:    1.0,
	FieldConcepts: 1.5,
	FieldFiles:    1.5,
}

// Options tune an index. The zero value means the defaults.
type Options struct {
	// Weights of the fields; all zero means DefaultWeights. One below 0 counts as
	// 0: the field is not searched.
	Weights Weights
	// K1 (above 0) and B (0 to 1) are BM25's constants. Nil means DefaultK1 and
	// DefaultB; what is out of range is brought into it.
	K1, B *float64
	// MaxQueryTerms is at most 32; 0 means DefaultMaxQueryTerms.
	MaxQueryTerms int
}

// Index is the lexical index of one project. All methods may be called at the
// same time.
type Index struct {
	weights  Weights
	k1, b    float64
	maxTerms int

	// writing lets one writer in at a time. It is held through a rewrite, which
	// readers do not notice.
	writing sync.Mutex
	// publishing guards everything below. Writers hold it while they append,
	// readers while they copy slice headers.
	publishing sync.RWMutex
	state      *state
	// version counts the changes; tombstones carry it.
	version uint64
	// names numbers actors, types and files.
	names map[string]uint32
	// nameBytes is the text in names.
	nameBytes int
}

// hashSeed makes term hashes unpredictable, so that nobody can craft texts whose
// terms collide.
var hashSeed = maphash.MakeSeed()

// New makes an empty index.
func New(opts Options) *Index {
	ix := &Index{
		weights:  opts.Weights,
		k1:       DefaultK1,
		b:        DefaultB,
		maxTerms: opts.MaxQueryTerms,
		state:    newState(),
		names:    make(map[string]uint32),
	}
	if ix.weights == (Weights{}) {
		ix.weights = DefaultWeights
	}
	for field, weight := range ix.weights {
		ix.weights[field] = max(weight, 0)
	}
	if opts.K1 != nil {
		const smallest = 1e-3 // 0 would divide 0 by 0 for a field of no weight
		ix.k1 = max(*opts.K1, smallest)
	}
	if opts.B != nil {
		ix.b = min(max(*opts.B, 0), 1)
	}
	if ix.maxTerms <= 0 {
		ix.maxTerms = DefaultMaxQueryTerms
	}
	ix.maxTerms = min(ix.maxTerms, queryTermLimit)
	return ix
}
