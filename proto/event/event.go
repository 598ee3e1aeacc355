// Package event holds the rules of the event envelope that both sides of the wire share: ids, namespaces, the canonical
// JSON of a body and its hash, truncation, the scrub before anything durable, defaults and validation.
//
// The usual order on a developer's machine is Scrub, then Scrubbed.Truncate; on the server Normalize, Validate, Scrub.
// The scrub comes before the cut, since a cut may separate a private tag from its end.
package event

// Limits of the wire, in UTF-8 bytes of a body's canonical JSON unless it says otherwise.
const (
	// RelayBodyLimit is what the relay cuts a body to.
	RelayBodyLimit = 512 << 10
	// IngestBodyLimit is what ingest refuses a body above.
	IngestBodyLimit = 1 << 20
	// MinBodyLimit is the smallest limit that every body can be cut to.
	MinBodyLimit = 256
	// MaxBodyDepth is the number of nested lists and objects that a json body may have. Decoders of the wire and of the
	// store have limits of their own; this one lies below all of them.
	MaxBodyDepth = 256
	// MaxBatchEvents is the number of events in one batch.
	MaxBatchEvents = 500
	// MaxBatchBytes is the size of one batch in wire bytes.
	MaxBatchBytes = 8 << 20
)
