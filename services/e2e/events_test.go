package e2e_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/kiroku-dev/kiroku/proto/event"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	extractionv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/extraction/v1"
	ingestv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/ingest/v1"
)

// eventsPerTurn is how many events turn makes.
const eventsPerTurn = 10

// turn is the events of one turn of work, whose words are its own: no two turns say the same.
func turn(project, session string, number int) []*eventv1.Event {
	file := fmt.Sprintf("worker/%s_%d.go", session, number)
	prompt := newEvent(project, session, eventv1.Kind_KIND_PROMPT)
	prompt.Body = text(fmt.Sprintf("Make the retry limit of %s number %d configurable, it is a constant.", session, number))
	prompt.Lifecycle = &eventv1.Lifecycle{Type: eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_START}
	events := []*eventv1.Event{prompt}
	for step := range eventsPerTurn - 2 {
		use := newEvent(project, session, eventv1.Kind_KIND_TOOL_USE)
		use.ParentEventId = prompt.GetEventId()
		success := true
		if step%2 == 0 {
			use.Tool = &eventv1.ToolFacts{Name: "Edit", Class: eventv1.ToolClass_TOOL_CLASS_EDIT, Files: []string{file}, Success: &success}
			use.Body = data(map[string]any{"tool_name": "Edit", "tool_input": map[string]any{"file_path": file}, "tool_response": "edited"})
		} else {
			command := fmt.Sprintf("go test ./worker/ -run Test_%s_%d_%d", session, number, step)
			use.Tool = &eventv1.ToolFacts{Name: "Bash", Class: eventv1.ToolClass_TOOL_CLASS_TEST, Command: command, Success: &success}
			use.Body = data(map[string]any{"tool_name": "Bash", "tool_input": map[string]any{"command": command}, "tool_response": "ok"})
		}
		events = append(events, use)
	}
	summary := newEvent(project, session, eventv1.Kind_KIND_SESSION_SUMMARY)
	summary.ParentEventId = prompt.GetEventId()
	summary.Body = text(fmt.Sprintf("The retry limit of %s number %d is read from the configuration now.", session, number))
	summary.Lifecycle = &eventv1.Lifecycle{Type: eventv1.LifecycleType_LIFECYCLE_TYPE_TURN_END}
	return append(events, summary)
}

func newEvent(project, session string, kind eventv1.Kind) *eventv1.Event {
	now := time.Now()
	return &eventv1.Event{
		EventId: event.NewID(now), Kind: kind, SessionId: session, Namespace: "/actor//project/" + project + "/",
		ProjectName: "acme/" + project, ValidTime: now.Format(time.RFC3339Nano),
		Source: &eventv1.Source{Surface: "claude-code"}, SchemaVersion: event.SchemaVersion,
	}
}

func text(content string) *eventv1.Body {
	return &eventv1.Body{Body: &eventv1.Body_Text{Text: &eventv1.TextBody{Content: content}}}
}

func data(value map[string]any) *eventv1.Body {
	s, err := structpb.NewStruct(value)
	if err != nil {
		panic(err) // a literal above
	}
	return &eventv1.Body{Body: &eventv1.Body_Json{Json: &eventv1.JsonBody{Data: structpb.NewStructValue(s)}}}
}

func idsOf(events []*eventv1.Event) []string {
	ids := make([]string, len(events))
	for i, ev := range events {
		ids[i] = ev.GetEventId()
	}
	return ids
}

// ingest stores events, trying again while the service cannot be reached, and returns how many this call stored.
func ingest(ctx context.Context, client ingestv1.IngestServiceClient, events []*eventv1.Event) (stored int, err error) {
	resp, err := persistently(ctx, func(ctx context.Context) (*ingestv1.IngestEventsResponse, error) {
		return client.IngestEvents(ctx, &ingestv1.IngestEventsRequest{Events: events})
	})
	if err != nil {
		return 0, err
	}
	for _, result := range resp.GetResults() {
		if result.GetError() != nil {
			return stored, fmt.Errorf("event %s was refused: %v", result.GetEventId(), result.GetError())
		}
		if result.GetStored() {
			stored++
		}
	}
	return stored, nil
}

// settle waits until extraction has nothing left to do in an organisation's project, or in all of them.
func settle(ctx context.Context, client extractionv1.ExtractionServiceClient, project string) error {
	for {
		resp, err := persistently(ctx, func(ctx context.Context) (*extractionv1.ExtractNowResponse, error) {
			return client.ExtractNow(ctx, &extractionv1.ExtractNowRequest{ProjectId: project, MaxWait: durationpb.New(5 * time.Second)})
		})
		switch {
		case err != nil:
			return err
		case resp.GetDeadLetters() > 0:
			return fmt.Errorf("extraction gave up on %d events", resp.GetDeadLetters())
		case resp.GetSettled():
			return nil
		}
	}
}

// persistently calls again what a service that is gone, or going, did not answer.
func persistently[T any](ctx context.Context, try func(context.Context) (T, error)) (T, error) {
	for {
		calling, cancel := context.WithTimeout(ctx, 15*time.Second)
		resp, err := try(calling)
		cancel()
		switch status.Code(err) {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
			if ctx.Err() == nil {
				pause := time.NewTimer(50 * time.Millisecond)
				select {
				case <-pause.C:
				case <-ctx.Done():
					pause.Stop()
				}
				continue
			}
		}
		return resp, err
	}
}

// mustSettle is settle for tests whose servers stay up.
func mustSettle(t *testing.T, client extractionv1.ExtractionServiceClient, project string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, settle(ctx, client, project))
}
