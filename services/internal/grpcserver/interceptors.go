package grpcserver

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kiroku-dev/kiroku/proto/event"
	errorv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/error/v1"
	"github.com/kiroku-dev/kiroku/services/internal/requestid"
	"github.com/kiroku-dev/kiroku/services/internal/rpcerr"
)

const (
	// defaultDeadline bounds a call whose caller set no deadline; above the longest long poll.
	defaultDeadline = 90 * time.Second
	// answerReserve is kept of the caller's deadline, so that the service can still say what it waited for.
	answerReserve = 5 * time.Millisecond
	// hopeless is too little time to begin anything.
	hopeless = 2 * time.Millisecond
)

// requestID takes the caller's request id or makes one, and sends it back in the trailer.
func requestID(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	id := first(ctx, requestid.Header)
	if !requestid.Valid(id) {
		id = event.NewID(time.Now())
	}
	_ = grpc.SetTrailer(ctx, metadata.Pairs(requestid.Header, id)) // fails only outside of a call
	return handler(requestid.With(ctx, id), req)
}

func logCalls(logger *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		start := time.Now()
		resp, err := handler(ctx, req)
		code := status.Code(err)
		level := slog.LevelDebug
		switch code {
		case codes.OK:
		case codes.Internal, codes.Unknown, codes.DataLoss:
			level = slog.LevelError
		case codes.Unavailable, codes.ResourceExhausted:
			if rpcerr.Reason(err) != errorv1.ErrorReason_ERROR_REASON_STOPPING {
				level = slog.LevelWarn
			}
		default:
			if !exempt(info.FullMethod) {
				level = slog.LevelInfo
			}
		}
		logger.Log(ctx, level, "call", "rpc", info.FullMethod, "code", code.String(),
			"duration", time.Since(start), "request_id", requestid.From(ctx))
		return resp, err
	}
}

func deadline(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	until, ok := ctx.Deadline()
	if !ok {
		ctx, cancel := context.WithTimeout(ctx, defaultDeadline)
		defer cancel()
		return handler(ctx, req)
	}
	if time.Until(until) < hopeless && !exempt(info.FullMethod) {
		return nil, rpcerr.New(codes.DeadlineExceeded, errorv1.ErrorReason_ERROR_REASON_DEADLINE, "the deadline leaves no time to begin")
	}
	if left := time.Until(until); left > 4*answerReserve {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until.Add(-answerReserve))
		defer cancel()
	}
	return handler(ctx, req)
}

// mapErrors is the one edge: what the handler returned stays in the log when it may not leave.
func mapErrors(logger *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		resp, err := handler(ctx, req)
		mapped := rpcerr.Edge(err)
		stopping := rpcerr.Reason(mapped) == errorv1.ErrorReason_ERROR_REASON_STOPPING // every poller is told so at every stop
		if code := status.Code(mapped); (code == codes.Internal || code == codes.Unavailable) && !stopping {
			logger.ErrorContext(ctx, "call failed", "rpc", info.FullMethod, "err", err, "request_id", requestid.From(ctx))
		}
		return resp, mapped
	}
}

// panicError keeps a panic's place for the log; its text may hold payloads and is left out.
type panicError struct{ stack string }

func (e *panicError) Error() string { return "panic at " + e.stack }

// recoverPanic is innermost, so that metrics and logs see a panic as the error it is.
func recoverPanic(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{stack: string(debug.Stack())}
		}
	}()
	return handler(ctx, req)
}

func recoverStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = rpcerr.Edge(fmt.Errorf("stream: %w", &panicError{stack: string(debug.Stack())}))
		}
	}()
	return handler(srv, stream)
}

func first(ctx context.Context, header string) string {
	values := metadata.ValueFromIncomingContext(ctx, header)
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
