package hook

import (
	"crypto/sha256"
	"errors"
	"hash"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

// errTimeout means that a source had no bytes within the wait.
var errTimeout = errors.New("no input in time")

// source is standard input with a bounded wait.
type source interface {
	// read returns the bytes at hand, 0 without an error at the end of input, or errTimeout.
	// Any other error ends the input.
	read(p []byte, wait time.Duration) (int, error)
}

// limits bound the reading of standard input, all measured from its start but quiet.
type limits struct {
	first time.Duration // until the first byte
	total time.Duration // altogether
	quiet time.Duration // without a byte, once it is clear that the end cannot be seen
	bytes int           // kept whole; of more, only head and tail
	keep  int           // bytes of head and of tail each
}

const (
	firstChunk = 16 << 10
	maxChunk   = 1 << 20
	// silentStdin is how long an agent that gives its prompt in the environment may take to
	// begin writing to stdin.
	silentStdin = 100 * time.Millisecond
)

func defaultLimits() limits {
	return limits{
		first: 900 * time.Millisecond,
		total: 900 * time.Millisecond,
		quiet: 100 * time.Millisecond,
		bytes: frame.MaxPayload,
		keep:  1 << 20,
	}
}

// input is what standard input held.
type input struct {
	payload []byte
	event   string
	flags   frame.Flags
	size    int64
	digest  []byte
}

// reader collects one JSON value.
type reader struct {
	src    source
	limits limits
	now    func() time.Time

	scan  scanner
	order byteOrder
	known bool // the leading marks are past
	buf   []byte
	fed   int // bytes of buf that the scanner has seen

	over *overflow
	size int64
}

// readInput reads one value and stops at its end, without waiting for the end of input.
func readInput(src source, l limits, now func() time.Time) input {
	r := &reader{src: src, limits: l, now: now, buf: make([]byte, 0, firstChunk)}
	r.collect()
	return r.result()
}

func (r *reader) collect() {
	started := r.now()
	last := started
	for !r.scan.done {
		chunk := r.room()
		n, err := r.src.read(chunk, r.wait(started, last))
		if n <= 0 || err != nil {
			return
		}
		last = r.now()
		r.take(chunk[:n])
	}
}

// wait is the time left for the next byte.
func (r *reader) wait(started, last time.Time) time.Duration {
	end := started.Add(r.limits.total)
	switch {
	case r.size == 0:
		end = earlier(end, started.Add(r.limits.first))
	case r.scan.bare:
		end = earlier(end, last.Add(r.limits.quiet))
	}
	return end.Sub(r.now())
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// room returns where the next bytes go: behind the ones kept, or into a buffer of the overflow.
func (r *reader) room() []byte {
	if r.over != nil {
		return r.over.room()
	}
	if len(r.buf) == cap(r.buf) {
		grown := make([]byte, len(r.buf), min(2*cap(r.buf), r.limits.bytes+1))
		copy(grown, r.buf)
		r.buf = grown
	}
	return r.buf[len(r.buf):min(cap(r.buf), len(r.buf)+maxChunk)]
}

// take accounts for bytes that were read into room.
func (r *reader) take(chunk []byte) {
	r.size += int64(len(chunk))
	if r.over != nil {
		state := r.scan
		n := r.feed(chunk)
		r.over.add(chunk[:n], &state)
		r.size -= int64(len(chunk) - n)
		return
	}
	r.buf = r.buf[:len(r.buf)+len(chunk)]
	r.skipMarks()
	if !r.known {
		return
	}
	state := r.scan
	from := r.fed
	r.fed += r.feed(r.buf[r.fed:])
	if r.scan.done {
		r.size -= int64(len(r.buf) - r.fed)
		r.buf = r.buf[:r.fed]
	}
	if len(r.buf) > r.limits.bytes {
		r.over = newOverflow(r.buf, from, &state, r.limits.keep)
	}
}

func (r *reader) skipMarks() {
	if r.known {
		return
	}
	skip, order, known := leadingMarks(r.buf)
	r.buf = r.buf[skip:]
	r.size -= int64(skip)
	r.order, r.known = order, known
}

func (r *reader) feed(b []byte) int {
	if r.order != utf8Bytes {
		return r.scan.feedUTF16(b, r.order)
	}
	return r.scan.feed(b)
}

func (r *reader) result() input {
	in := input{payload: r.buf, event: r.scan.event, size: r.size}
	if r.scan.started && !r.scan.done {
		in.flags |= frame.Incomplete
	}
	if r.over != nil {
		in.flags |= frame.Truncated
		in.digest = r.over.digest.Sum(nil)
		in.payload = r.over.join(r.order)
	}
	return in
}

// overflow keeps head and tail of an input that is too long to be kept whole.
type overflow struct {
	head   []byte
	tail   []piece
	held   int // bytes in tail
	keep   int
	digest hash.Hash
	spare  []byte
}

// piece is a chunk of the tail with the state of the scanner before it.
type piece struct {
	data  []byte
	state scanner
}

func newOverflow(buf []byte, from int, state *scanner, keep int) *overflow {
	o := &overflow{head: buf[:min(keep, len(buf))], keep: keep, digest: sha256.New()}
	o.digest.Write(buf[:from])
	o.add(buf[from:], state)
	return o
}

func (o *overflow) room() []byte {
	o.spare = make([]byte, 64<<10)
	return o.spare
}

func (o *overflow) add(chunk []byte, state *scanner) {
	o.digest.Write(chunk)
	o.tail = append(o.tail, piece{data: chunk, state: *state})
	o.held += len(chunk)
	for len(o.tail) > 1 && o.held-len(o.tail[0].data) >= o.keep {
		o.held -= len(o.tail[0].data)
		o.tail = o.tail[1:]
	}
}

// join returns the head and the tail as one payload. Only UTF-8 is joined; what cannot be
// understood keeps its head alone, because nobody could tell what its tail belongs to.
func (o *overflow) join(order byteOrder) []byte {
	first := o.tail[0].state
	if order != utf8Bytes || first.bare {
		return trimWord(o.head)
	}
	tail := make([]byte, 0, o.held)
	for _, p := range o.tail {
		tail = append(tail, p.data...)
	}
	return joinCut(o.head, tail, &first)
}
