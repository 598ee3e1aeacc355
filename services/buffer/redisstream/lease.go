package redisstream

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// maxLeaseBytes bounds the payload of one batch; a single larger event is a batch of its own.
const maxLeaseBytes = 4 << 20

// Entry names one event in a stream: what acknowledging it needs.
type Entry struct {
	// ID is the entry's id in the stream.
	ID string
	// Bytes is the size of its payload.
	Bytes int
	// EventID is the event's.
	EventID string
}

// Leased is an entry with its payload.
type Leased struct {
	Entry
	Payload []byte
}

// Lease is a batch of one project, held by one worker until it expires.
type Lease struct {
	Project Project
	// Token grows with every lease of the project.
	Token int64
	// Expiry is on Redis's clock.
	Expiry time.Time
	// DueBy is what made the project due.
	DueBy string
	// Regrouped tells that the consumer group had been destroyed and was made anew.
	Regrouped bool
	// LostAlone is how many leases of this one event expired in a row; 0 for a batch of several.
	LostAlone int
	// Entries are the events, oldest first.
	Entries []Leased
}

// LeaseLimits bound a lease.
type LeaseLimits struct {
	Duration  time.Duration
	MaxEvents int
}

// Lease takes the project's next batch. It returns nil when the project is not due or has a running lease.
func (s *Store) Lease(ctx context.Context, p Project, limits LeaseLimits) (*Lease, error) {
	reply, found, err := s.run(ctx, leaseScript, "lease", p, limits.Duration.Milliseconds(), limits.MaxEvents, maxLeaseBytes, 0)
	if err != nil || !found {
		return nil, err
	}
	values, err := list(reply, 6)
	if err != nil {
		return nil, err
	}
	head, err := texts(values[:3])
	if err != nil {
		return nil, err
	}
	flags, err := numbers(values[3:5], 2)
	if err != nil {
		return nil, err
	}
	lease := &Lease{Project: p, DueBy: head[2], Regrouped: flags[0] == 1, LostAlone: int(flags[1])}
	if lease.Token, err = strconv.ParseInt(head[0], 10, 64); err != nil {
		return nil, fmt.Errorf("%w: token: %w", errMalformed, err)
	}
	if lease.Expiry, err = parseMillis(head[1]); err != nil {
		return nil, err
	}
	lease.Entries, err = leasedEntries(values[5])
	return lease, err
}

func leasedEntries(reply any) ([]Leased, error) {
	flat, err := texts(reply)
	if err != nil {
		return nil, err
	}
	entries := make([]Leased, 0, len(flat)/3)
	for i := 0; i+2 < len(flat); i += 3 {
		entries = append(entries, Leased{
			Entry:   Entry{ID: flat[i], EventID: flat[i+1], Bytes: len(flat[i+2])},
			Payload: []byte(flat[i+2]),
		})
	}
	return entries, nil
}

func parseMillis(text string) (time.Time, error) {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: time: %w", errMalformed, err)
	}
	return time.UnixMilli(ms), nil
}

// Extend moves the lease's end to duration from now. ErrLeaseLost when it is over.
func (s *Store) Extend(ctx context.Context, p Project, token int64, duration time.Duration) (time.Time, error) {
	reply, found, err := s.run(ctx, extendScript, "extend", p, token, duration.Milliseconds())
	if err != nil {
		return time.Time{}, err
	}
	if !found {
		return time.Time{}, ErrLeaseLost
	}
	text, ok := reply.(string)
	if !ok {
		return time.Time{}, fmt.Errorf("%w: %T", errMalformed, reply)
	}
	return parseMillis(text)
}

// Retoken gives a running lease a token above the floor, for when Redis's clock is behind what Postgres has seen.
// ErrLeaseLost when the lease is over.
func (s *Store) Retoken(ctx context.Context, p Project, token, floor int64) (int64, error) {
	reply, found, err := s.run(ctx, retokenScript, "retoken", p, token, floor)
	if err != nil {
		return 0, err
	}
	if !found {
		return 0, ErrLeaseLost
	}
	text, _ := reply.(string)
	renewed, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: token: %w", errMalformed, err)
	}
	return renewed, nil
}

// Hold tells whether the lease is running. ErrLeaseLost when it is over.
func (s *Store) Hold(ctx context.Context, p Project, token int64) error {
	_, found, err := s.run(ctx, holdScript, "hold", p, token)
	if err == nil && !found {
		return ErrLeaseLost
	}
	return err
}
