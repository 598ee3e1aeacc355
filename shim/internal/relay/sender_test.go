package relay_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/journal"
	"github.com/kiroku-dev/kiroku/shim/internal/relay/servertest"
)

func TestServerDownThenEverythingArrivesInOrder(t *testing.T) {
	t.Parallel()
	server := servertest.Unstarted(t)
	g := newRig(t, server.Addr)
	g.start()
	for i := range 20 {
		require.Empty(t, g.fire("kiro-cli", fmt.Sprintf(`{"hook_event_name":"userPromptSubmit","cwd":"/srv/shop","prompt":"%d"}`, i)).Stdout)
	}
	require.EqualValues(t, 20, g.status().Queue.Pending)
	g.stop()
	g.start()
	server.Start(t)
	for i, ev := range server.Await(t, 20) {
		require.Equal(t, fmt.Sprint(i), ev.GetBody().GetText().GetContent())
	}
}

func TestHungServerNeverHoldsAHook(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	server.Change(func(s *servertest.Server) {
		s.Context = func(ctx context.Context, _ *retrievalv1.BuildContextRequest) (string, error) {
			select {
			case <-ctx.Done():
			case <-release:
			}
			return "too late", nil
		}
	})
	g := newRig(t, server.Addr)
	g.start()
	r := request("kiro-cli", `{"hook_event_name":"userPromptSubmit","cwd":"/srv/shop","prompt":"x"}`)
	r.Budget = 150 * time.Millisecond
	answer := g.send(r)
	require.Equal(t, frame.Answer{Status: frame.Accepted, Stdout: []byte{}}, answer)
	server.Await(t, 1)
	require.EqualValues(t, 1, g.status().Context.Failed)
}

func TestRefusedEventsBlockNothing(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	var failures int
	server.Change(func(s *servertest.Server) {
		s.Refuse = func(ev *eventv1.Event) *errorv1.ItemError {
			switch text := ev.GetBody().GetText().GetContent(); {
			case strings.HasPrefix(text, "bad"):
				return &errorv1.ItemError{
					Code: int32(codes.InvalidArgument), Reason: errorv1.ErrorReason_ERROR_REASON_INVALID_FIELD,
					Message: "secret content", Violations: []*errorv1.FieldViolation{{Field: "body", Description: "is odd"}},
				}
			case text == "taken":
				return &errorv1.ItemError{Code: int32(codes.AlreadyExists), Reason: errorv1.ErrorReason_ERROR_REASON_EVENT_ID_TAKEN}
			case text == "later" && failures < 3:
				failures++
				return &errorv1.ItemError{Code: int32(codes.Unavailable)}
			}
			return nil
		}
	})
	g := newRig(t, server.Addr)
	g.start()
	for _, text := range []string{"bad 1", "good 1", "taken", "later", "good 2", "bad 2", "good 3"} {
		g.fire("kiro-cli", fmt.Sprintf(`{"hook_event_name":"stop","cwd":"/srv/shop","assistant_response":%q}`, text))
	}
	var got []string
	for _, ev := range server.Await(t, 4) {
		got = append(got, ev.GetBody().GetText().GetContent())
	}
	require.ElementsMatch(t, []string{"good 1", "later", "good 2", "good 3"}, got)
	require.Eventually(t, func() bool { return g.status().Queue.Pending == 0 }, 10*time.Second, 10*time.Millisecond)
	refused, err := journal.OpenQuarantine(filepath.Join(g.paths.State, "quarantine"), 0).List()
	require.NoError(t, err)
	require.Len(t, refused, 3)
	require.Equal(t, "InvalidArgument", refused[0].Code)
	require.Equal(t, "ERROR_REASON_INVALID_FIELD; body: is odd", refused[0].Reason)
	require.Equal(t, 3, g.status().Queue.Quarantined)
}

func TestBatchThatIsRefusedAsAWholeIsHalved(t *testing.T) {
	t.Parallel()
	server := servertest.Unstarted(t)
	server.Change(func(s *servertest.Server) {
		s.RefuseBatch = func(events []*eventv1.Event) error {
			for _, ev := range events {
				if ev.GetBody().GetText().GetContent() == "3" {
					return status.Error(codes.InvalidArgument, "no")
				}
			}
			return nil
		}
	})
	g := newRig(t, server.Addr)
	g.start()
	for i := range 8 {
		g.fire("kiro-cli", fmt.Sprintf(`{"hook_event_name":"stop","cwd":"/srv/shop","assistant_response":"%d"}`, i))
	}
	server.Start(t)
	var got []string
	for _, ev := range server.Await(t, 7) {
		got = append(got, ev.GetBody().GetText().GetContent())
	}
	require.Equal(t, []string{"0", "1", "2", "4", "5", "6", "7"}, got)
	require.Eventually(t, func() bool { return g.status().Queue.Quarantined == 1 }, 10*time.Second, 10*time.Millisecond)
}

func TestTokenIsReadAgainWhenItIsNotGood(t *testing.T) {
	t.Parallel()
	server := servertest.New(t)
	g := newRig(t, server.Addr)
	require.NoError(t, os.WriteFile(g.config.TokenFile, []byte("kk_old"), 0o600))
	g.start()
	g.fire("kiro-cli", `{"hook_event_name":"stop","cwd":"/srv/shop","assistant_response":"x"}`)
	require.Eventually(t, func() bool { return g.status().Server.State == "Unauthenticated" }, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, os.WriteFile(g.config.TokenFile, []byte(servertest.Token), 0o600))
	server.Await(t, 1)
	require.Equal(t, "ok", g.status().Server.State)
	require.Equal(t, "ana", g.status().Server.Actor)
}
