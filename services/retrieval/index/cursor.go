package index

import (
	"math/bits"
	"sort"
)

// skipBytes is how far apart the entry points of a list of postings are.
const skipBytes = 256

// skip is an entry point: the next posting begins at offset, and its gap counts
// from last.
type skip struct{ last, offset uint32 }

// cursor looks single documents up in a list of postings, in ascending order.
type cursor struct {
	data    []byte
	skips   []skip
	next    int    // where the next posting begins
	ordinal uint32 // of the current posting, or of the one before next
	head    int    // where the current posting's head is; 0 before the first
}

// seek moves to the document's posting and reports whether there is one.
func (c *cursor) seek(ordinal uint32) bool {
	c.jump(ordinal)
	for c.head == 0 || c.ordinal < ordinal {
		i := c.next
		if i >= len(c.data) {
			return false
		}
		gap, shift := uint32(0), 0
		for ; c.data[i] >= 0x80; i++ {
			gap |= uint32(c.data[i]&0x7f) << shift
			shift += 7
		}
		c.ordinal += gap | uint32(c.data[i])<<shift
		c.head, c.next = i+1, i+2
		if head := c.data[c.head]; head&repeated != 0 {
			c.next += bits.OnesCount8(head &^ repeated)
		}
	}
	return c.ordinal == ordinal
}

// jump moves to the last entry point before the document, if that is ahead.
func (c *cursor) jump(ordinal uint32) {
	if len(c.skips) == 0 || c.skips[0].last >= ordinal {
		return
	}
	ahead := sort.Search(len(c.skips), func(i int) bool { return c.skips[i].last >= ordinal })
	entry := c.skips[ahead-1]
	c.skips = c.skips[ahead:]
	if int(entry.offset) > c.next {
		c.next, c.ordinal, c.head = int(entry.offset), entry.last, int(entry.offset)
	}
}

// posting decodes what seek found.
func (c *cursor) posting() posting {
	head := c.data[c.head]
	p := posting{ordinal: c.ordinal, fields: head &^ repeated}
	if head&repeated != 0 {
		p.freqs = c.data[c.head+1 : c.next]
	}
	return p
}
