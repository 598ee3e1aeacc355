package event_test

import (
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
)

// goodEvent is an event with nothing wrong and nothing left out that a writer must give.
func goodEvent() *eventv1.Event {
	return &eventv1.Event{
		EventId: "01J9ZQ8X3T5W7Y9ABCDEFGHJKM", Kind: eventv1.Kind_KIND_PROMPT, EventType: "ui.user.input", TypeVersion: "1.0",
		Body:      textBody("use the write-ahead log in the store"),
		Namespace: "/actor/mika/project/p_5f2c/", ActorId: "mika", SessionId: "sess_7d1f", ValidTime: "2031-05-01T12:00:00.123+02:00",
		Source:        &eventv1.Source{Surface: "kiro-cli", Version: "0.1.0", ProjectPath: "/home/mika/app", ClientId: "laptop"},
		SchemaVersion: 1, ProjectName: "app",
	}
}
