// Package rules makes memory records of events by fixed rules: no model, no network, the same records for the same
// events every time.
//
// The unit is the turn: one prompt and everything that followed it until the next. Each turn becomes one main record that
// says what was asked, what was done, which errors were met and what mended them, which commands work and what was
// decided and why. Beside it stand, at most, records of lasting things: a standing rule in the user's words, an error with its
// remedy. A turn never yields more than four records, and one that says nothing yields none.
//
// The package reads the canonical body and the tool facts of an event alone. What an agent did not say stays unknown: a
// command without an outcome is never claimed to work. Words that the harness put into a prompt are not the user's.
package rules
