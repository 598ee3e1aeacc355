package ingest

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	bufferv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/buffer/v1"
	eventv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/event/v1"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

// hungBuffer answers when it is let go.
type hungBuffer struct {
	bufferv1.BufferServiceClient
	asked, free chan struct{}
	events      int
}

func (h *hungBuffer) Append(_ context.Context, req *bufferv1.AppendRequest, _ ...grpc.CallOption) (*bufferv1.AppendResponse, error) {
	h.asked <- struct{}{}
	<-h.free
	h.events += len(req.GetEvents())
	return &bufferv1.AppendResponse{}, nil
}

func TestWhatWaitsForAHungBufferIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	buffer := &hungBuffer{asked: make(chan struct{}, 100), free: make(chan struct{})}
	f, err := newFeeder(buffer, testenv.Logger(t), prometheus.NewRegistry())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()

	const size = 1 << 20
	f.Feed("o", "p", &eventv1.Event{}, feedBytes)
	<-buffer.asked
	for range 3 * feedWaiting / size {
		f.Feed("o", "p", &eventv1.Event{}, size)
	}
	require.LessOrEqual(t, f.waiting.Load(), int64(feedWaiting))
	require.InDelta(t, 2*feedWaiting/size, testutil.ToFloat64(f.dropped), 0)
	stop()
	close(buffer.free)
	<-done
	require.Zero(t, f.waiting.Load())
	require.Equal(t, 1+feedWaiting/size, buffer.events, "what waited is handed over at the end")
}
