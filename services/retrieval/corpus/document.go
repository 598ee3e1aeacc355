package corpus

import (
	"time"

	"github.com/kiroku-dev/kiroku/services/retrieval/index"
)

// Document is what a corpus takes of a record at one of its versions.
type Document struct {
	// ID is the record id.
	ID string
	// Seq is the change sequence number of this version. An older version never replaces a newer one.
	Seq int64
	// Deleted tells that the record is not to be found any more. The rest may be empty then.
	Deleted bool
	// Actor made the record, in Session.
	Actor, Session string
	// Private documents are found by their actor alone.
	Private bool
	// Pinned ones were put in front by a person.
	Pinned bool
	// Superseded ones were replaced by another record, at ValidTo when that is known.
	Superseded bool
	// Type is the observation type.
	Type int16
	// ValidFrom is when it began to hold; ValidTo when it ceased, zero while it holds.
	ValidFrom, ValidTo time.Time
	// Files are the repository-relative paths that the record touched.
	Files []string
	// Terms are the analysed terms of each field.
	Terms [index.NumFields][]string
}

// doc is a document as it is kept. Text is in the record's row and nowhere else.
type doc struct {
	id        string
	seq       int64
	validFrom int64 // Unix nanoseconds
	validTo   int64 // Unix nanoseconds; 0 while it holds
	files     []uint32
	actor     uint32
	session   uint32
	typ       int16
	flags     flags
}

type flags uint8

const (
	flagDeleted flags = 1 << iota
	flagPrivate
	flagPinned
	flagSuperseded
)

func (d *doc) is(f flags) bool { return d.flags&f != 0 }

func flagsOf(d *Document) flags {
	var f flags
	for _, part := range []struct {
		set  bool
		flag flags
	}{{d.Deleted, flagDeleted}, {d.Private, flagPrivate}, {d.Pinned, flagPinned}, {d.Superseded, flagSuperseded}} {
		if part.set {
			f |= part.flag
		}
	}
	return f
}
