package event

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// ErrID is returned for a text that is not an event id.
var ErrID = errors.New("id is not a ULID of 26 upper-case Crockford characters")

// entropy makes ids of one millisecond ascend. It is not safe for concurrent use by itself.
var entropy = struct {
	sync.Mutex
	*ulid.MonotonicEntropy
}{MonotonicEntropy: ulid.Monotonic(rand.Reader, 0)}

// NewID makes an event id for that time, with 80 bits of cryptographic entropy. Ids made one after another for the same
// millisecond ascend within the process. It is safe for concurrent use. Times before 1970 are read as 1970.
func NewID(at time.Time) string {
	ms := uint64(max(at.UnixMilli(), 0))
	ms = min(ms, ulid.MaxTime())
	entropy.Lock()
	defer entropy.Unlock()
	id, err := ulid.New(ms, entropy.MonotonicEntropy)
	if errors.Is(err, ulid.ErrMonotonicOverflow) {
		// All 80 bits are used up within this millisecond: start again from fresh entropy rather than fail.
		entropy.MonotonicEntropy = ulid.Monotonic(rand.Reader, 0)
		id, err = ulid.New(ms, entropy.MonotonicEntropy)
	}
	if err != nil {
		// The system's entropy source ends the process itself when it fails, and the time is in range.
		panic(fmt.Sprintf("event: make id: %v", err))
	}
	return id.String()
}

// ValidID reports whether id is a ULID in the only spelling that the wire has: 26 characters of upper-case Crockford
// base32, the first 0 to 7 so that it fits 128 bits.
func ValidID(id string) bool {
	if len(id) != ulid.EncodedSize || id[0] > '7' {
		return false
	}
	for i := range len(id) {
		if !crockford(id[i]) {
			return false
		}
	}
	return true
}

// crockford reports whether c is one of the 32 digits: no I, L, O or U.
func crockford(c byte) bool {
	if c >= '0' && c <= '9' {
		return true
	}
	return c >= 'A' && c <= 'Z' && c != 'I' && c != 'L' && c != 'O' && c != 'U'
}

// IDTime returns the time in an event id, in UTC and milliseconds. It is what the client's clock said. A text that is
// not an event id gives ErrID.
func IDTime(id string) (time.Time, error) {
	if !ValidID(id) {
		return time.Time{}, ErrID
	}
	parsed, err := ulid.ParseStrict(id)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %w", ErrID, err)
	}
	return ulid.Time(parsed.Time()).UTC(), nil
}
