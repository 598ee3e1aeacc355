package extraction

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	recordv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/record/v1"
	"github.com/kiroku-dev/kiroku/services/extraction/rules"
	"github.com/kiroku-dev/kiroku/services/internal/record"
)

// draft is a record that is not committed yet.
type draft struct {
	*recordv1.Record
	key   string
	hash  []byte
	terms []byte
}

// drafts is what one batch makes: the records of its turns, the turns themselves by the prefix of their keys, and the
// entries by what became of them.
type drafts struct {
	records  []draft
	prefixes []string
	done     []*bufferv1.LeasedEvent
	failed   []*bufferv1.LeasedEvent
	reason   string
	sources  map[string]bool
	// events are those of the turns.
	events map[string]bool
}

// extract makes the drafts of a batch. A turn on which the extractor breaks fails its own entries and nobody else's. The only error is the context's.
func extract(ctx context.Context, x *rules.Extractor, works []*work) (*drafts, error) {
	d := &drafts{sources: make(map[string]bool), events: make(map[string]bool)}
	for _, w := range works {
		broken := make(map[string]bool)
		for _, turn := range w.turns {
			if err := ctx.Err(); err != nil {
				return d, err
			}
			if err := d.addTurn(x, turn); err != nil {
				d.reason = err.Error()
				for _, ev := range turn.Events {
					broken[ev.GetEventId()] = true
				}
			}
		}
		for _, entry := range w.entries {
			if broken[entry.GetEvent().GetEventId()] {
				d.failed = append(d.failed, entry)
			} else {
				d.done = append(d.done, entry)
			}
		}
	}
	slices.SortFunc(d.records, func(a, b draft) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
	return d, nil
}

func (d *drafts) addTurn(x *rules.Extractor, turn rules.Turn) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("extractor broke at %s", firstFrame(debug.Stack()))
		}
	}()
	prefix := turnPrefix(turn)
	for i, r := range x.Extract(turn) {
		d.records = append(d.records, draft{
			Record: r, key: prefix + x.Key(i, r), hash: record.ContentHash(r), terms: record.EncodeTerms(record.Analyse(r)),
		})
		for _, id := range r.GetSourceEventIds() {
			d.sources[id] = true
		}
	}
	for _, ev := range turn.Events {
		d.events[ev.GetEventId()] = true
	}
	d.prefixes = append(d.prefixes, prefix)
	return nil
}

// turnPrefix begins the keys of a turn's records: the id of its prompt, or of its first event when it has none.
func turnPrefix(turn rules.Turn) string {
	first := turn.Prompt
	if first == nil {
		first = turn.Events[0]
	}
	return first.GetEventId() + "/"
}

// statuses tells for each finished entry whether a record names it as a source.
func (d *drafts) statuses() (ids []string, extracted []bool) {
	for _, entry := range d.done {
		ids = append(ids, entry.GetEvent().GetEventId())
		extracted = append(extracted, d.sources[entry.GetEvent().GetEventId()])
	}
	return ids, extracted
}

// firstFrame is the place of a panic, without its text, which may hold payloads.
func firstFrame(stack []byte) string {
	lines := bytes.Split(stack, []byte("\n"))
	for i, line := range lines {
		if bytes.HasPrefix(line, []byte("panic(")) && i+3 < len(lines) {
			return string(bytes.TrimSpace(lines[i+3]))
		}
	}
	return "an unknown place"
}
