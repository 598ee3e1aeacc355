package event

import (
	"github.com/kiroku-dev/kiroku/proto/eventtype"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// SchemaVersion is the version of the wire contract.
const SchemaVersion = 1

// firstTypeVersion is the version of an event whose writer named none.
const firstTypeVersion = "1.0"

// Normalize fills in place what the contract lets a writer leave empty: the schema version, the event type (by kind and
// lifecycle, see eventtype.Default), its version and the metadata's source. It takes out what only the server may set:
// sequence number, position, received time and the flag late. It sets the flags newer_version and truncated from the
// event itself. The actor is not its matter: an empty one is filled from the credential. A nil event is left alone.
func Normalize(ev *eventv1.Event) {
	if ev == nil {
		return
	}
	if ev.GetSchemaVersion() == 0 {
		ev.SchemaVersion = SchemaVersion
	}
	if ev.GetEventType() == "" {
		ev.EventType = eventtype.Default(ev.GetKind(), ev.GetLifecycle().GetType())
	}
	if ev.GetTypeVersion() == "" {
		ev.TypeVersion = firstTypeVersion
	}
	if ev.GetMetadata().GetSource() == "" && ev.GetSource().GetSurface() != "" {
		if ev.GetMetadata() == nil {
			ev.Metadata = &eventv1.Metadata{}
		}
		ev.Metadata.Source = ev.GetSource().GetSurface()
	}
	ev.SequenceNumber, ev.Position, ev.ReceivedTime = 0, 0, nil
	normalizeFlags(ev)
}

func normalizeFlags(ev *eventv1.Event) {
	newer := newerVersion(ev)
	truncated := ev.GetFlags().GetTruncated() || Truncated(ev.GetBody())
	if ev.GetFlags() == nil {
		if !newer && !truncated {
			return
		}
		ev.Flags = &eventv1.Flags{}
	}
	ev.Flags.Late = false
	ev.Flags.NewerVersion = newer
	ev.Flags.Truncated = truncated
}

// newerVersion reports whether the event is of a writer ahead of this build: its type's major version is not known here.
func newerVersion(ev *eventv1.Event) bool {
	version, err := eventtype.ParseVersion(ev.GetTypeVersion())
	return err == nil && eventtype.Newer(ev.GetEventType(), version)
}
