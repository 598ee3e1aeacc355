package event

import (
	"google.golang.org/protobuf/proto"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// Scrubbed is an event without anything private. Only Scrub makes one, so that a store which takes nothing else cannot
// be given an event that was not scrubbed. Its zero value holds no event.
type Scrubbed struct {
	ev        *eventv1.Event
	canonical []byte
}

// Event returns the event. It must not be changed.
func (s Scrubbed) Event() *eventv1.Event { return s.ev }

// Canonical returns the canonical JSON of the body, over which the event's content hash is made. It is nil when the body
// has none (see CanonicalBody); such an event does not pass Validate. It must not be changed.
func (s Scrubbed) Canonical() []byte { return s.canonical }

// Size returns the length of Canonical in bytes. A placeholder may be longer than what it stands for, so it can be over
// the size that was validated.
func (s Scrubbed) Size() int { return len(s.canonical) }

// Valid reports whether there is an event whose body has canonical JSON. It is false for the zero value.
func (s Scrubbed) Valid() bool { return s.ev != nil && s.canonical != nil }

// Truncate cuts the body to limit bytes (see Truncate) and every other part of the event to the limits that Validate
// holds, sets the flag truncated when something is missing, and makes the hash again.
func (s Scrubbed) Truncate(limit int) Scrubbed {
	if s.ev == nil {
		return s
	}
	body, cut := Truncate(s.ev.GetBody(), limit)
	fits := envelopeFits(s.ev)
	if fits && body == s.ev.GetBody() && cut == s.ev.GetFlags().GetTruncated() {
		return s
	}
	ev := clone(s.ev)
	ev.Body = body
	if !fits {
		cutEnvelope(ev)
	}
	if cut || !fits {
		if ev.GetFlags() == nil {
			ev.Flags = &eventv1.Flags{}
		}
		ev.Flags.Truncated = true
	}
	return sealed(ev)
}

// Scrub returns a deep copy of the event in which redact.String went over every string of every field: also keys of maps
// and objects, roles, labels and paths. Two keys that become the same both stay, the later one with a number. Fields that
// this build does not know are left out, since it cannot look into them. The content hash is made again; flags stay.
//
// Values that machines compare (ids, the namespace, hashes) keep their form: only NUL and invalid UTF-8 are repaired, and
// a session id with a private tag becomes an opaque id of its own, the same one each time. Scrubbing twice is scrubbing once.
func Scrub(ev *eventv1.Event) Scrubbed {
	if ev == nil {
		return Scrubbed{}
	}
	ev = clone(ev)
	scrubMessage(ev.ProtoReflect())
	return sealed(ev)
}

// sealed gives the event the hash of its body. The event becomes the Scrubbed's own.
func sealed(ev *eventv1.Event) Scrubbed {
	ev.ContentHash = ""
	canonical, err := CanonicalBody(ev.GetBody())
	if err != nil {
		return Scrubbed{ev: ev}
	}
	ev.ContentHash = ContentHash(canonical)
	return Scrubbed{ev: ev, canonical: canonical}
}

func clone(ev *eventv1.Event) *eventv1.Event { return proto.CloneOf(ev) }
