// Package eventlog reads and writes the form in which events rest in Postgres and Redis: the protobuf of the scrubbed event,
// without what the server adds. What the server adds are columns beside it.
package eventlog

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kiroku-dev/kiroku/proto/event"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// Clear takes away what only the server may say of an event.
func Clear(ev *eventv1.Event) {
	ev.SequenceNumber, ev.Position, ev.ReceivedTime = 0, 0, nil
	if ev.GetFlags() != nil {
		ev.Flags.Late = false
	}
}

// Complete adds what the server says of a stored event, in place.
func Complete(ev *eventv1.Event, sequence, position int64, receivedAt time.Time, late bool) {
	ev.SequenceNumber, ev.Position, ev.ReceivedTime = sequence, position, timestamppb.New(receivedAt)
	if late {
		if ev.GetFlags() == nil {
			ev.Flags = &eventv1.Flags{}
		}
		ev.Flags.Late = true
	}
}

// Encode is the stored bytes of a scrubbed event that was cleared. Nothing but a scrubbed event can be stored.
func Encode(scrubbed event.Scrubbed) ([]byte, error) {
	b, err := proto.Marshal(scrubbed.Event())
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return b, nil
}

// Stored is an event's bytes with what the server added.
type Stored struct {
	Event      []byte
	Sequence   int64
	ReceivedAt time.Time
	Late       bool
}

// Decode makes the event that readers see.
func Decode(s Stored) (*eventv1.Event, error) {
	ev := &eventv1.Event{}
	if err := proto.Unmarshal(s.Event, ev); err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	Complete(ev, s.Sequence, 0, s.ReceivedAt, s.Late)
	return ev, nil
}

// Columns are the columns that Collect reads, of the table events under the alias e.
const Columns = "e.event, e.seq, e.received_at, e.late"

// Collect decodes the rows of a query for Columns.
func Collect(rows pgx.Rows) ([]*eventv1.Event, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*eventv1.Event, error) {
		var s Stored
		if err := row.Scan(&s.Event, &s.Sequence, &s.ReceivedAt, &s.Late); err != nil {
			return nil, fmt.Errorf("read event: %w", err)
		}
		return Decode(s)
	})
}
