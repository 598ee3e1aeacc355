// Package eventstore appends events to the log in Postgres: the events, their numbers in their sessions, their positions in the
// organisation and the outbox rows, all in one transaction of a constant number of round trips.
package eventstore

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/kiroku-dev/kiroku/proto/event"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/services/internal/eventlog"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
)

// Outcome is what became of one event.
type Outcome struct {
	// Stored is true when this call stored it, false when it was there before.
	Stored bool
	// Differs is true when the stored event has another body.
	Differs bool
	// Taken is true when the id belongs to another actor or session; nothing else is set then.
	Taken      bool
	Sequence   int64
	Position   int64
	Late       bool
	ReceivedAt time.Time
}

// attempts bounds how often a transaction is tried that lost a race for ids or was chosen as a deadlock's victim.
const attempts = 5

// Append stores events in the order given and answers with one outcome for each. All of them are stored, or none and
// an error is returned; repeating the call is safe.
func Append(ctx context.Context, store postgres.Tenant, events []event.Scrubbed, now time.Time) ([]Outcome, error) {
	a, err := newAppend(store.OrgID(), events, now)
	if err != nil {
		return nil, err
	}
	err = store.Tx(ctx, a.optimistic)
	for try := 1; err != nil && try < attempts; try++ {
		if !errors.Is(err, errRepeats) && !postgres.IsRetryable(err) && !postgres.IsUniqueViolation(err) {
			break
		}
		err = store.TxCustomPlans(ctx, a.careful)
	}
	if err != nil {
		return nil, err
	}
	return a.outcomes, nil
}

// errRepeats ends the optimistic transaction when an id is there already.
var errRepeats = errors.New("some events are stored already")

// entry is one distinct event of a call with the places at which the call gave it.
type entry struct {
	scrubbed event.Scrubbed
	ev       *eventv1.Event
	bytes    []byte
	hash     []byte
	project  string
	validAt  time.Time
	session  *session
	at       []place
	// stored is the hash of the body that is stored under the id.
	stored  []byte
	outcome Outcome
}

// place is where a call gave an event, and the hash of the body it had there.
type place struct {
	index int
	hash  []byte
}

// session is one session of a call. Events are numbered from base + 1.
type session struct {
	actor, id, project, surface string
	minID, maxID                string
	startedAt, lastAt           time.Time
	key, base                   int64
	state, newState             int16
	entries                     []*entry
}

type appending struct {
	org      string
	now      time.Time
	entries  []*entry
	sessions []*session // sorted by actor and id: the order in which they are locked
	outcomes []Outcome
}

func newAppend(org string, events []event.Scrubbed, now time.Time) (*appending, error) {
	a := &appending{org: org, now: now.UTC().Truncate(time.Microsecond), outcomes: make([]Outcome, len(events))}
	byID := make(map[string]*entry, len(events))
	for i, scrubbed := range events {
		ev := scrubbed.Event()
		if e, ok := byID[ev.GetEventId()]; ok && sameOwner(e.ev, ev) {
			e.at = append(e.at, place{index: i, hash: hashBytes(ev.GetContentHash())})
			continue
		} else if ok {
			a.outcomes[i] = Outcome{Taken: true}
			continue
		}
		e, err := newEntry(scrubbed, i)
		if err != nil {
			return nil, err
		}
		byID[ev.GetEventId()] = e
		a.entries = append(a.entries, e)
	}
	a.groupSessions()
	return a, nil
}

func newEntry(scrubbed event.Scrubbed, at int) (*entry, error) {
	ev := scrubbed.Event()
	b, err := eventlog.Encode(scrubbed)
	if err != nil {
		return nil, err
	}
	validAt, err := time.Parse(time.RFC3339Nano, ev.GetValidTime())
	if err != nil {
		return nil, err
	}
	namespace, err := event.ParseNamespace(ev.GetNamespace())
	if err != nil {
		return nil, err
	}
	hash := hashBytes(ev.GetContentHash())
	return &entry{
		scrubbed: scrubbed, ev: ev, bytes: b, hash: hash, stored: hash,
		project: namespace.Project, validAt: validAt, at: []place{{index: at, hash: hash}},
	}, nil
}

func sameOwner(a, b *eventv1.Event) bool {
	return a.GetActorId() == b.GetActorId() && a.GetSessionId() == b.GetSessionId()
}

// settle copies the entries' outcomes to the places at which the call gave them. The second place of a repeated id is
// a repeat even when the first was stored, and each is compared with what is stored.
func (a *appending) settle() {
	for _, e := range a.entries {
		for n, at := range e.at {
			outcome := e.outcome
			outcome.Stored = outcome.Stored && n == 0
			outcome.Differs = !outcome.Taken && !bytes.Equal(e.stored, at.hash)
			a.outcomes[at.index] = outcome
		}
	}
}
