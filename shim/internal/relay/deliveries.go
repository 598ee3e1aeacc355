package relay

import (
	"strings"
	"sync"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/agent/payload"
	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

const (
	// repeatWindow is how close two deliveries of one event come, when the agent has been given
	// the same hook twice.
	repeatWindow = 5 * time.Second
	// maxDeliveries bounds what is remembered.
	maxDeliveries = 4096
)

// deliveries recognises an event that an agent delivers twice: the same bytes from the same
// agent process. A tool call without an id is only a repeat while the first hook still runs,
// because an agent may well do the same thing twice in a row.
type deliveries struct {
	mu   sync.Mutex
	seen map[string]delivery
	// taken holds the keys of calls that are in the journal: the spool may have a copy.
	taken map[string]bool
}

type delivery struct {
	started time.Time
	// ended is when the hook got its answer; zero while it waits.
	ended time.Time
}

func newDeliveries() *deliveries {
	return &deliveries{seen: map[string]delivery{}, taken: map[string]bool{}}
}

// begin reports whether the call is new, and remembers it.
func (d *deliveries) begin(surface string, r *frame.Request, now time.Time) bool {
	key := deliveryKey(surface, r)
	d.mu.Lock()
	defer d.mu.Unlock()
	first, known := d.seen[key]
	if known && isRepeat(r, first) || d.taken[r.Key()] {
		return false
	}
	if len(d.seen) >= maxDeliveries {
		d.forget(now)
	}
	d.seen[key] = delivery{started: r.Time}
	return true
}

// end notes when a call was answered; one that was not kept is forgotten, since it comes again.
func (d *deliveries) end(surface string, r *frame.Request, now time.Time, kept bool) {
	key := deliveryKey(surface, r)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !kept {
		delete(d.seen, key)
		return
	}
	if len(d.taken) >= maxDeliveries {
		clear(d.taken)
	}
	d.taken[r.Key()] = true
	if first, known := d.seen[key]; known {
		first.ended = now
		d.seen[key] = first
	}
}

func isRepeat(r *frame.Request, first delivery) bool {
	if r.Time.Sub(first.started).Abs() > repeatWindow {
		return false
	}
	return first.ended.IsZero() || !r.Time.After(first.ended) || !repeatable(r)
}

// repeatable reports whether the same bytes may mean another event: a tool call that carries no
// id of its own.
func repeatable(r *frame.Request) bool {
	o, _, _ := payload.DecodeObject(r.Payload)
	isTool := o.Text("tool_name", "toolName") != "" || strings.Contains(strings.ToLower(r.Event), "tool")
	return isTool && o.Text("tool_use_id", "toolUseId", "tool_call_id") == ""
}

// deliveryKey is the same for two deliveries of one event. The command line counts only where it
// carries the event: two hook files may name us differently.
func deliveryKey(surface string, r *frame.Request) string {
	parts := []string{surface, processKey(r), r.Dir, string(r.Payload)}
	if payload.Blank(r.Payload) {
		parts = append(parts, r.Argv...)
		prompt, _ := r.Lookup("USER_PROMPT")
		parts = append(parts, prompt)
	}
	return string(digest(parts...))
}

// forget drops what is too old to be repeated, or everything when that is not enough.
func (d *deliveries) forget(now time.Time) {
	for key, seen := range d.seen {
		if now.Sub(seen.started) > repeatWindow {
			delete(d.seen, key)
		}
	}
	if len(d.seen) >= maxDeliveries {
		clear(d.seen)
	}
}
