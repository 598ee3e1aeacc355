package redisstream

import (
	"context"
	"time"
)

const (
	// maxAppendEvents and maxAppendBytes bound one run of the script, during which Redis serves nobody else.
	maxAppendEvents = 500
	maxAppendBytes  = 4 << 20
)

// Event is an event on its way into a stream.
type Event struct {
	ID      string
	Payload []byte
}

// Appending is what to append, all of one project.
type Appending struct {
	Events []Event
	// Feeding is set for events that come from Postgres: they go in also while the project is known to have overflowed.
	Feeding bool
	// DueBy, when not empty, makes the project due after DueAfter.
	DueBy    string
	DueAfter time.Duration
	// First and Last say when the oldest and newest of the events came; zero means now.
	First, Last time.Time
}

// Appended is what became of it.
type Appended struct {
	// Held is how many of the events the stream now holds, whether they were new to it or not.
	Held int
	// Overflow tells that the ceiling was reached, or Redis's memory: the others must wait in Postgres.
	Overflow bool
	// DueIn is when the project is due; negative when a lease is running.
	DueIn time.Duration
}

// Append adds the events that the stream does not hold yet, in the given order.
func (s *Store) Append(ctx context.Context, p Project, a Appending) (Appended, error) {
	total := Appended{DueIn: -1}
	for events := a.Events; len(events) > 0; {
		n := chunk(events)
		part, err := s.appendChunk(ctx, p, a, events[:n])
		if err != nil {
			return total, err
		}
		total = Appended{Held: total.Held + part.Held, Overflow: part.Overflow, DueIn: part.DueIn}
		if part.Overflow {
			return total, nil
		}
		events = events[n:]
	}
	return total, nil
}

func chunk(events []Event) int {
	size := 0
	for i, e := range events {
		size += len(e.Payload)
		if i == maxAppendEvents || (i > 0 && size > maxAppendBytes) {
			return i
		}
	}
	return len(events)
}

func (s *Store) appendChunk(ctx context.Context, p Project, a Appending, events []Event) (Appended, error) {
	delay := int64(-1)
	if a.DueBy != "" {
		delay = a.DueAfter.Milliseconds()
	}
	feeding := 0
	if a.Feeding {
		feeding = 1
	}
	args := append(make([]any, 0, 7+2*len(events)), s.policy.DueBytes, s.policy.CeilingBytes, feeding, delay, a.DueBy,
		millis(a.First), millis(a.Last))
	for _, e := range events {
		args = append(args, e.ID, e.Payload)
	}
	reply, _, err := s.run(ctx, appendScript, "append", p, args...)
	if err != nil {
		return Appended{}, err
	}
	n, err := numbers(reply, 3)
	if err != nil {
		return Appended{}, err
	}
	return Appended{Held: int(n[0]), Overflow: n[1] == 1, DueIn: time.Duration(n[2]) * time.Millisecond}, nil
}

// millis is the Unix time in milliseconds, 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Fed notes that Postgres holds nothing more that the project lacks: appends are taken again.
func (s *Store) Fed(ctx context.Context, p Project) error {
	return wrap("fed", s.client.HDel(ctx, s.keys(p)[1], "over").Err())
}

// Missing are those of the event ids that the project's stream does not hold.
func (s *Store) Missing(ctx context.Context, p Project, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	members := make([]any, len(ids))
	for i, id := range ids {
		members[i] = id
	}
	held, err := s.client.SMIsMember(ctx, s.keys(p)[2], members...).Result()
	if err != nil {
		return nil, wrap("missing", err)
	}
	var missing []string
	for i, id := range ids {
		if !held[i] {
			missing = append(missing, id)
		}
	}
	return missing, nil
}
