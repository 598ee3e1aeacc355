package rules

import (
	"fmt"
	"hash/fnv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
)

// Strategy is the name under which the records of this extractor go.
const Strategy = "rules"

// MaxRecords and MaxCharacters bound what one turn yields, and title, summary and facts of one record together.
const (
	MaxRecords    = 4
	MaxCharacters = 800
)

// mainKey is the key of a turn's main record, always the first.
const mainKey = "turn"

// Extractor makes records of turns. It keeps no state and may be used by many goroutines.
type Extractor struct{}

// New returns an Extractor.
func New() *Extractor { return &Extractor{} }

// Extract makes the records of one turn, the main record first; none when the turn says nothing. Everything is set but what
// the store gives: id, created and updated times. The same events give the same records.
func (x *Extractor) Extract(turn Turn) []*recordv1.Record {
	w := gather(turn)
	rules := w.statements()
	main, told := w.mainRecord()
	var out []*recordv1.Record
	if main != nil {
		out = append(out, main)
		for _, f := range w.lastingFixes(told, MaxRecords-1-len(rules)) {
			out = append(out, w.fixRecord(f, main))
		}
	}
	for _, r := range rules {
		out = append(out, w.statementRecord(r, main))
	}
	return out
}

// Key names the i-th record of what Extract returned for a turn. Extracting the same turn again, with more of its events or
// fewer, gives a record about the same thing the same key, so that it replaces the former one.
func (x *Extractor) Key(i int, r *recordv1.Record) string {
	switch {
	case i == 0:
		return mainKey
	case r.GetObservationType() == recordv1.ObservationType_OBSERVATION_TYPE_BUGFIX:
		return fmt.Sprintf("fix:%d", i)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(padded(r.GetTitle())))
	return fmt.Sprintf("preference:%016x", h.Sum64())
}

// newRecord fills what all records of the turn share.
func (w *work) newRecord(kind recordv1.ObservationType, sources map[string]bool) *recordv1.Record {
	r := &recordv1.Record{
		ProjectId:       w.turn.ProjectID,
		ActorId:         w.turn.ActorID,
		SessionId:       w.turn.SessionID,
		Visibility:      recordv1.Visibility_VISIBILITY_PROJECT,
		ObservationType: kind,
		Strategy:        Strategy,
		SeenCount:       1,
	}
	seen := map[string]bool{}
	for _, ev := range w.turn.Events {
		if r.GetProjectName() == "" {
			r.ProjectName = ev.GetProjectName()
		}
		id := ev.GetEventId()
		if !sources[id] || seen[id] {
			continue
		}
		seen[id] = true
		r.SourceEventIds = append(r.SourceEventIds, id)
		if at := eventTime(ev); at != nil && (r.GetValidFrom() == nil || at.AsTime().After(r.GetValidFrom().AsTime())) {
			r.ValidFrom = at
		}
	}
	return r
}

// eventTime is when the event happened, or when it was stored when the agent's time cannot be read.
func eventTime(ev *eventv1.Event) *timestamppb.Timestamp {
	if at, err := time.Parse(time.RFC3339Nano, ev.GetValidTime()); err == nil {
		return timestamppb.New(at)
	}
	return ev.GetReceivedTime()
}
