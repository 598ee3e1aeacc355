package ingest

import (
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/kiroku-dev/kiroku/proto/event"
	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/services/internal/auth"
	"github.com/kiroku-dev/kiroku/services/internal/eventlog"
)

// admit judges one event: its identity against the credential, its fields, its size as received and scrubbed. It returns the scrubbed event or
// the refusal. The caller's message is changed only by defaults.
func admit(ev *eventv1.Event, principal auth.Principal) (event.Scrubbed, *errorv1.ItemError) {
	if ev == nil {
		return event.Scrubbed{}, invalid(&errorv1.FieldViolation{Field: "event", Description: "is missing"})
	}
	event.Normalize(ev)
	eventlog.Clear(ev)
	if refusal := takeIdentity(ev, principal); refusal != nil {
		return event.Scrubbed{}, refusal
	}
	if size := event.BodySize(ev.GetBody()); size > event.IngestBodyLimit {
		return event.Scrubbed{}, tooLarge(size)
	}
	if violations := event.Validate(ev); len(violations) > 0 {
		return event.Scrubbed{}, invalid(violations...)
	}
	scrubbed := event.Scrub(ev)
	if !scrubbed.Valid() {
		return event.Scrubbed{}, invalid(&errorv1.FieldViolation{Field: "body", Description: "cannot be written as JSON once it is scrubbed"})
	}
	if scrubbed.Size() > event.IngestBodyLimit { // placeholders can be longer than what they stand for
		return event.Scrubbed{}, tooLarge(scrubbed.Size())
	}
	return scrubbed, nil
}

func tooLarge(size int) *errorv1.ItemError {
	return &errorv1.ItemError{
		Code: int32(codes.InvalidArgument), Reason: errorv1.ErrorReason_ERROR_REASON_EVENT_TOO_LARGE,
		Message: fmt.Sprintf("body: its JSON has %d bytes, at most %d are taken", size, event.IngestBodyLimit),
	}
}

// takeIdentity fills an actor that is not given and refuses one that is not the credential's, unless the token may act
// as others.
func takeIdentity(ev *eventv1.Event, principal auth.Principal) *errorv1.ItemError {
	namespace, err := event.ParseNamespace(ev.GetNamespace())
	if err != nil {
		return invalid(&errorv1.FieldViolation{Field: "namespace", Description: err.Error()})
	}
	if ev.GetActorId() == "" {
		ev.ActorId = namespace.Actor
	}
	if ev.GetActorId() == "" {
		ev.ActorId = principal.ActorID()
	}
	if namespace.Actor == "" {
		namespace.Actor = ev.GetActorId()
		ev.Namespace = namespace.String()
	}
	for _, actor := range []string{ev.GetActorId(), namespace.Actor} {
		if actor != principal.ActorID() && !principal.Has(auth.ScopeActAs) {
			return &errorv1.ItemError{
				Code: int32(codes.PermissionDenied), Reason: errorv1.ErrorReason_ERROR_REASON_FOREIGN_ACTOR,
				Message: "actor_id: is not the credential's, and the token may not act_as others",
			}
		}
	}
	return nil
}

func invalid(violations ...*errorv1.FieldViolation) *errorv1.ItemError {
	message := "the event is not valid"
	if len(violations) == 1 {
		message = violations[0].GetField() + ": " + violations[0].GetDescription()
	}
	return &errorv1.ItemError{
		Code: int32(codes.InvalidArgument), Reason: errorv1.ErrorReason_ERROR_REASON_INVALID_FIELD, Message: message, Violations: violations,
	}
}
