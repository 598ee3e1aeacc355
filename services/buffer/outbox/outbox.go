// Package outbox is the buffer's side of the table event_state: which events are pending, leased or dead. Ingest inserts the rows and extraction
// finishes them; what is between is moved here. The rows are the truth, of which the buffer in Redis is a copy that may be lost.
package outbox

import (
	"time"

	"github.com/kiroku-dev/kiroku/services/internal/postgres"
)

// statusDead is the value of event_state.status of a dead letter.
const statusDead = 5

// MaxReason bounds a reason, in bytes.
const MaxReason = 500

// Store moves events between states. It is safe for concurrent use.
type Store struct {
	app    *postgres.Pool
	worker *postgres.Pool
}

// New makes a store: administrators' calls go through the app pool, which sees one organisation, the buffer's own work through the
// worker pool.
func New(app, worker *postgres.Pool) *Store { return &Store{app: app, worker: worker} }

// Unfinished is what Postgres knows of one project's events that are pending or leased.
type Unfinished struct {
	// Org and Project name the project.
	Org, Project string
	// Events are pending or leased; Settled of them came before the grace period, within which ingest hands events over itself.
	Events, Settled int64
	// Oldest is when the first of them was received.
	Oldest time.Time
}
