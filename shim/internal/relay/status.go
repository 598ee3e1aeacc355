package relay

import (
	"encoding/json"
	"maps"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/journal"
)

const (
	// ControlName is the agent's name in frames that are for the relay itself.
	ControlName = "kiroku"
	// ControlStatus asks for the Status, as JSON.
	ControlStatus = "status"
	// ControlStop makes the relay end.
	ControlStop = "stop"

	statusFile = "status.json"
)

// Status is what a relay tells about itself. It holds no content of events.
type Status struct {
	// Version, PID and Started describe the relay's process.
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	// Saved is when this was written.
	Saved time.Time `json:"saved"`
	// Server is what is known of the server.
	Server ServerStatus `json:"server"`
	// Queue is the journal.
	Queue QueueStatus `json:"queue"`
	// Agents tells of each agent when it was last heard of.
	Agents map[string]AgentStatus `json:"agents"`
	// Context counts the questions for context.
	Context ContextStatus `json:"context"`
	// Ignored counts calls that said nothing that could be understood, Duplicates those that
	// had been delivered before.
	Ignored    int64 `json:"ignored"`
	Duplicates int64 `json:"duplicates"`
}

// ServerStatus is what the relay knows of the server.
type ServerStatus struct {
	// Ingest and Retrieval are the addresses.
	Ingest    string `json:"ingest"`
	Retrieval string `json:"retrieval"`
	// State is "ok", the name of the status code of the last failure, or "" before any call.
	State string `json:"state"`
	// Since is when State became what it is.
	Since time.Time `json:"since,omitzero"`
	// Actor, Organisation and Version are what WhoAmI told.
	Actor        string `json:"actor,omitempty"`
	Organisation string `json:"organisation,omitempty"`
	Version      string `json:"version,omitempty"`
	// Skew is how far this machine's clock is ahead of the server's.
	Skew time.Duration `json:"skew_ns,omitempty"`
}

// QueueStatus is the journal's state and what has come of it since the relay began.
type QueueStatus struct {
	Pending     int64     `json:"pending"`
	Bytes       int64     `json:"bytes"`
	Oldest      time.Time `json:"oldest,omitzero"`
	Dropped     int64     `json:"dropped"`
	LastDrop    time.Time `json:"last_drop,omitzero"`
	Sent        int64     `json:"sent"`
	Refused     int64     `json:"refused"`
	Quarantined int       `json:"quarantined"`
	LastSent    time.Time `json:"last_sent,omitzero"`
}

// AgentStatus is what was last heard of an agent.
type AgentStatus struct {
	Events    int64     `json:"events"`
	LastEvent time.Time `json:"last_event"`
	LastHook  string    `json:"last_hook"`
	Project   string    `json:"project"`
}

// ContextStatus counts questions for context.
type ContextStatus struct {
	Asked  int64 `json:"asked"`
	Given  int64 `json:"given"`
	Failed int64 `json:"failed"`
	// LastMillis is how long the last one took.
	LastMillis int64 `json:"last_ms"`
}

// statusBoard collects the status.
type statusBoard struct {
	path string
	now  func() time.Time

	mu     sync.Mutex
	status Status
}

// loadStatusBoard begins with what the relay before knew of the agents.
func loadStatusBoard(path string, now func() time.Time) *statusBoard {
	b := &statusBoard{path: path, now: now}
	if before, err := ReadStatus(path); err == nil {
		b.status.Agents = before.Agents
	}
	if b.status.Agents == nil {
		b.status.Agents = map[string]AgentStatus{}
	}
	b.status.PID, b.status.Started = os.Getpid(), now()
	return b
}

// ReadStatus reads the status that a relay left in its state directory.
func ReadStatus(path string) (Status, error) {
	var s Status
	data, err := os.ReadFile(path) //nolint:gosec // in our state directory
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	return s, err
}

func (b *statusBoard) change(f func(*Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.status)
}

func (b *statusBoard) ignored()   { b.change(func(s *Status) { s.Ignored++ }) }
func (b *statusBoard) duplicate() { b.change(func(s *Status) { s.Duplicates++ }) }

func (b *statusBoard) event(surface string, ev *eventv1.Event, at time.Time) {
	b.change(func(s *Status) {
		a := s.Agents[surface]
		a.Events++
		if at.After(a.LastEvent) {
			a.LastEvent, a.LastHook, a.Project = at, ev.GetMetadata().GetLabels()["hook_event"], ev.GetProjectName()
		}
		s.Agents[surface] = a
	})
}

func (b *statusBoard) context(err error, given bool, took time.Duration) {
	b.change(func(s *Status) {
		s.Context.Asked++
		s.Context.LastMillis = took.Milliseconds()
		switch {
		case err != nil:
			s.Context.Failed++
		case given:
			s.Context.Given++
		}
	})
}

func (b *statusBoard) sent(stored, refused int) {
	b.change(func(s *Status) {
		s.Queue.Sent += int64(stored)
		s.Queue.Refused += int64(refused)
		s.Queue.LastSent = b.now()
		b.setState(s, "ok")
	})
}

func (b *statusBoard) unreachable(code codes.Code) {
	b.change(func(s *Status) { b.setState(s, code.String()) })
}

func (b *statusBoard) setState(s *Status, state string) {
	if s.Server.State != state {
		s.Server.State, s.Server.Since = state, b.now()
	}
}

// identified notes what WhoAmI told. The server read its clock about half-way through the call.
func (b *statusBoard) identified(who *ingestv1.WhoAmIResponse, sent, received time.Time) {
	b.change(func(s *Status) {
		b.setState(s, "ok")
		s.Server.Actor, s.Server.Organisation, s.Server.Version = who.GetActorId(), who.GetOrgName(), who.GetServerVersion()
		if who.GetServerTime() != nil {
			s.Server.Skew = sent.Add(received.Sub(sent) / 2).Sub(who.GetServerTime().AsTime())
		}
	})
}

// snapshot returns the status as it is now.
func (b *statusBoard) snapshot(queue journal.Stats, quarantined int) Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.status
	s.Agents = maps.Clone(s.Agents)
	s.Saved = b.now()
	s.Queue.Pending, s.Queue.Bytes, s.Queue.Oldest = queue.Pending, queue.Bytes, queue.Oldest
	s.Queue.Dropped, s.Queue.LastDrop, s.Queue.Quarantined = queue.Dropped, queue.LastDrop, quarantined
	return s
}

// save leaves the status for those who ask when no relay runs; best effort.
func (b *statusBoard) save(queue journal.Stats, quarantined int) {
	if data, err := json.Marshal(b.snapshot(queue, quarantined)); err == nil {
		_ = replaceFile(b.path, data)
	}
}

// control answers a frame that is for the relay itself.
func (r *Relay) control(args []string) frame.Answer {
	if len(args) != 1 {
		return frame.Answer{Status: frame.Rejected}
	}
	switch args[0] {
	case ControlStatus:
		s := r.status.snapshot(r.journal.Stats(), r.quarantine.Count())
		data, err := json.Marshal(s)
		if err != nil {
			return frame.Answer{Status: frame.Unavailable}
		}
		return frame.Answer{Status: frame.Accepted, Stdout: data}
	case ControlStop:
		r.stop()
		return frame.Answer{Status: frame.Accepted}
	}
	return frame.Answer{Status: frame.Rejected}
}
