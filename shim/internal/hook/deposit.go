package hook

import (
	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/process"
	"github.com/kiroku-dev/kiroku/shim/internal/spool"
)

// spoolKeep is what a spooled payload keeps of each end when it is longer than twice that; the
// scrubber needs time for every byte, and the hook has little.
const spoolKeep = 1 << 20

// deposit leaves the event on disk for the next relay. Only scrubbed text is written.
func deposit(r *frame.Request, dirs []string, scrub func([]byte) []byte) {
	r.Ancestors = process.Lineage(r.PPID)
	if len(r.Payload) > 2*spoolKeep {
		r.Payload = cut(r.Payload, spoolKeep)
		r.Flags |= frame.Truncated
	}
	r.Payload = scrub(r.Payload)
	r.Event, r.Dir = string(scrub([]byte(r.Event))), string(scrub([]byte(r.Dir)))
	for i, arg := range r.Argv {
		r.Argv[i] = string(scrub([]byte(arg)))
	}
	for i, v := range r.Env {
		r.Env[i].Value = string(scrub([]byte(v.Value)))
	}
	r.Flags |= frame.Scrubbed
	r.Budget = 0
	// Nobody could be told about a failure; the spool counts what it loses.
	_, _ = spool.Write(dirs, r)
}
