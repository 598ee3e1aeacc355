// Package corpus keeps in memory what the searches of one project need: the lexical index of its records, and the table of the
// files that they touched. It holds no text; what it finds is read again from Postgres under the caller's rights.
package corpus

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/kiroku-dev/kiroku/services/internal/analysis"
	"github.com/kiroku-dev/kiroku/services/retrieval/index"
)

// Corpus is one project's. All methods may be called at the same time.
type Corpus struct {
	// records and paths have their own locks. Documents of records are the records, those of paths the files that shared
	// records touched: a path that only a private record knows is nobody's suggestion.
	records *index.Index
	paths   *index.Index

	// applying lets one change in at a time, so that tables and index take two versions of a record in the same order.
	applying sync.Mutex

	mu     sync.RWMutex
	seq    int64
	whole  bool
	docs   []doc
	byID   map[string]uint32
	files  []file
	byPath map[string]uint32
	byBase map[string][]uint32
	// names numbers the actors, and the sessions as actor, NUL, session: session ids of two actors are two sessions.
	names map[string]uint32
	bytes int
	// changes counts the versions that were applied; known are the files' habits at one of those counts.
	changes int64
	known   *knownHabits
}

// file is a path and the documents that touched it, tombstones among them.
type file struct {
	path string
	// docs are the ordinals of the documents, oldest change first.
	docs []uint32
	// shared counts the living documents that everybody in the project may see.
	shared int
	// last is the latest time of a shared one, kept when that is deleted: it only orders files.
	last int64
}

// New makes an empty corpus with the change sequence of an empty project.
func New() *Corpus {
	return &Corpus{
		records: index.New(index.Options{}),
		paths:   index.New(index.Options{Weights: pathWeights}),
		byID:    make(map[string]uint32),
		byPath:  make(map[string]uint32),
		byBase:  make(map[string][]uint32),
		names:   make(map[string]uint32),
	}
}

// Seq is the change sequence up to which the corpus knows every change.
func (c *Corpus) Seq() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.seq
}

// Advance says that every change up to seq has been applied. It never goes back.
func (c *Corpus) Advance(seq int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq = max(c.seq, seq)
}

// Whole tells whether all records have been applied; before that a search may miss some.
func (c *Corpus) Whole() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.whole
}

// MarkWhole says that all records have been applied.
func (c *Corpus) MarkWhole() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole = true
}

// Apply takes a record's version, in any order: an older one than is known changes nothing. A deleted one is remembered, so
// that a load that still sees the record cannot bring it back.
func (c *Corpus) Apply(d Document) {
	c.applying.Lock()
	defer c.applying.Unlock()
	if !c.file(&d) {
		return
	}
	if d.Deleted {
		c.records.Delete(d.ID)
		return
	}
	c.records.Upsert(index.Document{
		ID: d.ID, Actor: d.Actor, Private: d.Private, CreatedAt: d.ValidFrom, Type: typeName(d.Type), Fields: d.Terms,
	})
}

// typeName is a type as the index knows it.
func typeName(t int16) string { return strconv.Itoa(int(t)) }

// file enters a version in the tables and reports whether it is news.
func (c *Corpus) file(d *Document) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ordinal, known := c.byID[d.ID]
	if known {
		if c.docs[ordinal].seq >= d.Seq {
			return false
		}
		c.unlink(ordinal)
	} else {
		ordinal = uint32(len(c.docs)) //nolint:gosec // memory ends long before 2³² documents
		c.docs = append(c.docs, doc{id: strings.Clone(d.ID)})
		c.byID[c.docs[ordinal].id] = ordinal
		c.bytes += docBytes + len(d.ID)
	}
	c.changes++
	entry := &c.docs[ordinal]
	*entry = doc{
		id: entry.id, seq: d.Seq, validFrom: unixNano(d.ValidFrom), validTo: unixNano(d.ValidTo),
		actor: c.name(d.Actor), session: c.name(sessionName(d.Actor, d.Session)), typ: d.Type, flags: flagsOf(d),
	}
	if !d.Deleted {
		c.link(ordinal, d.Files)
	}
	return true
}

// docBytes is about what a document takes beside its id and files: its entry and its share of the map.
const docBytes = int(unsafe.Sizeof(doc{})) + 40

// name numbers an actor or a session.
func (c *Corpus) name(text string) uint32 {
	if number, ok := c.names[text]; ok {
		return number
	}
	number := uint32(len(c.names)) //nolint:gosec // memory ends long before 2³² names
	c.names[strings.Clone(text)] = number
	c.bytes += len(text) + nameBytes
	return number
}

func sessionName(actor, session string) string { return actor + "\x00" + session }

// nameBytes is about what a name takes beside its text.
const nameBytes = 48

// link enters a document at its files.
func (c *Corpus) link(ordinal uint32, paths []string) {
	entry := &c.docs[ordinal]
	entry.files = make([]uint32, 0, len(paths))
	for _, path := range paths {
		number := c.fileNumber(path)
		entry.files = append(entry.files, number)
		f := &c.files[number]
		f.docs = append(f.docs, ordinal)
		if entry.is(flagPrivate) {
			continue
		}
		f.last = max(f.last, entry.validFrom)
		if f.shared++; f.shared == 1 {
			c.paths.Upsert(pathDocument(f.path))
		}
	}
	c.bytes += len(paths) * linkBytes
}

// linkBytes is about what a file of a document takes: a number on either side, with the slack of growing slices.
const linkBytes = 12

// unlink takes a document's former version out of the files' counts. Its ordinal stays in their lists, where readers check it.
func (c *Corpus) unlink(ordinal uint32) {
	entry := &c.docs[ordinal]
	for _, number := range entry.files {
		f := &c.files[number]
		f.remove(ordinal)
		if entry.is(flagPrivate) {
			continue
		}
		if f.shared--; f.shared == 0 {
			c.paths.Delete(f.path)
		}
	}
	c.bytes -= len(entry.files) * linkBytes
	entry.files = nil
}

// remove takes one entry of a document out, looking from the end: what changes is mostly young.
func (f *file) remove(ordinal uint32) {
	for i := len(f.docs) - 1; i >= 0; i-- {
		if f.docs[i] == ordinal {
			f.docs = append(f.docs[:i], f.docs[i+1:]...)
			return
		}
	}
}

func (c *Corpus) fileNumber(path string) uint32 {
	if number, ok := c.byPath[path]; ok {
		return number
	}
	path = strings.Clone(path)
	number := uint32(len(c.files)) //nolint:gosec // memory ends long before 2³² files
	c.files = append(c.files, file{path: path})
	c.byPath[path] = number
	base := strings.ToLower(baseName(path))
	c.byBase[base] = append(c.byBase[base], number)
	c.bytes += len(path) + len(base) + 3*nameBytes
	return number
}

// The fields of a path in the index of paths.
const (
	pathFieldBase = index.FieldTitle
	pathFieldAll  = index.FieldSummary
)

// pathWeights count a file's own name more than the directories above it.
var pathWeights = index.Weights{pathFieldBase: 2, pathFieldAll: 1}

func pathDocument(path string) index.Document {
	d := index.Document{ID: path}
	d.Fields[pathFieldBase] = analysis.Terms(baseName(path))
	d.Fields[pathFieldAll] = analysis.Terms(path)
	return d
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// unixNano is 0 for the zero time, and the ends of its range for times beyond.
func unixNano(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Before(earliest):
		return math.MinInt64
	case t.After(latest):
		return math.MaxInt64
	}
	return t.UnixNano()
}

var earliest, latest = time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)

// corpusBytes is about what an empty corpus takes: asking for many projects that do not exist must not go unnoticed.
const corpusBytes = 8 << 10

// Bytes is about what the corpus takes of memory.
func (c *Corpus) Bytes() int {
	own := c.records.Stats().Bytes + c.paths.Stats().Bytes
	c.mu.RLock()
	defer c.mu.RUnlock()
	return corpusBytes + own + c.bytes
}

// Records is how many records can be found.
func (c *Corpus) Records() int { return c.records.Stats().Documents }
