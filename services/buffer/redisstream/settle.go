package redisstream

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Acked is what an acknowledgement did.
type Acked struct {
	// Removed entries.
	Removed int
	// DueIn is when the project is due again; negative when nothing waits or the lease goes on.
	DueIn time.Duration
	// Refill tells that events wait in Postgres and that there is room for them now.
	Refill bool
}

// Ack removes entries of a lease, and ends it when end is set. ErrLeaseLost when it is over.
func (s *Store) Ack(ctx context.Context, p Project, token int64, entries []Entry, end bool) (Acked, error) {
	ending := 0
	if end {
		ending = 1
	}
	args := appendEntries([]any{token, ending, len(entries)}, entries)
	reply, found, err := s.run(ctx, ackScript, "ack", p, args...)
	if err != nil {
		return Acked{}, err
	}
	if !found {
		return Acked{}, ErrLeaseLost
	}
	n, err := numbers(reply, 4)
	if err != nil {
		return Acked{}, err
	}
	return Acked{
		Removed: int(n[0]), DueIn: time.Duration(n[1]) * time.Millisecond,
		Refill: n[2] == 1 && n[3] <= s.policy.CeilingBytes/2,
	}, nil
}

func appendEntries(args []any, entries []Entry) []any {
	for _, e := range entries {
		args = append(args, e.ID, e.Bytes, e.EventID)
	}
	return args
}

// Returned is a lease that ended without its events being done.
type Returned struct {
	// Token of the lease.
	Token int64
	// DueIn is when the project is due again.
	DueIn time.Duration
	// EventIDs are pending again.
	EventIDs []string
}

// Nacking says how to give a lease back.
type Nacking struct {
	// Dead entries are removed.
	Dead []Entry
	// Blamed entries are tried again apart from all others.
	Blamed []Entry
	// NotBefore holds the blamed entries back, or the whole project when there are none; zero: at once.
	NotBefore time.Time
}

// Nack ends a lease whose events are not done. ErrLeaseLost when it is over.
func (s *Store) Nack(ctx context.Context, p Project, token int64, n Nacking) (Returned, error) {
	args := []any{token, millis(n.NotBefore), len(n.Dead), len(n.Blamed)}
	args = appendEntries(appendEntries(args, n.Dead), n.Blamed)
	reply, found, err := s.run(ctx, nackScript, "nack", p, args...)
	if err != nil {
		return Returned{}, err
	}
	if !found {
		return Returned{}, ErrLeaseLost
	}
	values, err := list(reply, 2)
	if err != nil {
		return Returned{}, err
	}
	return returned(token, values[0], values[1])
}

// Reclaim ends a lease that expired. It returns nil when there is none.
func (s *Store) Reclaim(ctx context.Context, p Project) (*Returned, error) {
	reply, found, err := s.run(ctx, reclaimScript, "reclaim", p)
	if err != nil || !found {
		return nil, err
	}
	values, err := list(reply, 3)
	if err != nil {
		return nil, err
	}
	text, _ := values[0].(string)
	token, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%w: token: %w", errMalformed, err)
	}
	r, err := returned(token, values[1], values[2])
	return &r, err
}

func returned(token int64, dueIn, events any) (Returned, error) {
	wait, ok := dueIn.(int64)
	if !ok {
		return Returned{}, fmt.Errorf("%w: %T", errMalformed, dueIn)
	}
	ids, err := texts(events)
	return Returned{Token: token, DueIn: time.Duration(wait) * time.Millisecond, EventIDs: ids}, err
}

// MakeDue makes what waits in the project due at once, or after the running lease. It returns how many events wait.
func (s *Store) MakeDue(ctx context.Context, p Project) (int, error) {
	reply, _, err := s.run(ctx, makeDueScript, "make due", p)
	if err != nil {
		return 0, err
	}
	n, err := numbers(reply, 2)
	if err != nil {
		return 0, err
	}
	return int(n[0]), nil
}

// Audit compares the project's stream with its index and forgets both when they disagree, so that the project can be fed
// again. It returns how many events were forgotten.
func (s *Store) Audit(ctx context.Context, p Project) (int, error) {
	reply, _, err := s.run(ctx, auditScript, "audit", p)
	if err != nil {
		return 0, err
	}
	forgotten, ok := reply.(int64)
	if !ok {
		return 0, fmt.Errorf("%w: %T", errMalformed, reply)
	}
	return int(forgotten), nil
}
