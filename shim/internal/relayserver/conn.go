package relayserver

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

// readBuffer takes most frames in one read.
const readBuffer = 16 << 10

// serve takes one frame from the connection and answers it.
func (s *server) serve(ctx context.Context, conn *net.UnixConn) {
	other, err := peerOf(conn)
	if err != nil || other.uid != os.Getuid() {
		s.Logger.WarnContext(ctx, "connection of another user refused", "uid", other.uid, "err", err)
		return
	}
	if err := conn.SetDeadline(time.Now().Add(s.ReadTimeout)); err != nil {
		return
	}
	request, release, err := s.read(ctx, conn)
	defer release()
	switch {
	case errors.Is(err, frame.ErrVersion):
		// The hook of another build keeps its event for the relay of that build.
		s.answer(conn, frame.Answer{Status: frame.Unavailable})
		return
	case err != nil:
		s.Logger.DebugContext(ctx, "connection without a frame", "err", err)
		return
	}
	request.Peer = other.pid
	if len(request.Ancestors) == 0 {
		request.Ancestors = s.processes.Ancestors(other.pid)
	}
	s.answer(conn, s.handle(ctx, request))
}

// read takes the frame. Large payloads wait for their turn before memory is taken for them.
func (s *server) read(ctx context.Context, conn net.Conn) (frame.Request, func(), error) {
	release := func() {}
	ctx, cancel := context.WithTimeout(ctx, s.ReadTimeout)
	defer cancel()
	request, err := frame.Read(bufio.NewReaderSize(conn, readBuffer), func(size int) error {
		if size <= largeFrame {
			return nil
		}
		select {
		case s.large <- struct{}{}:
			release = func() { <-s.large }
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return request, release, err
}

// handle shields the relay from a panic over one payload; the hook then keeps the event.
func (s *server) handle(ctx context.Context, r frame.Request) (answer frame.Answer) {
	defer func() {
		if p := recover(); p != nil {
			s.Logger.LogAttrs(ctx, slog.LevelError, "handler failed",
				slog.String("event", r.Event), slog.String("stack", string(debug.Stack())))
			answer = frame.Answer{Status: frame.Unavailable}
		}
	}()
	return s.handler(ctx, r)
}

func (s *server) answer(conn net.Conn, a frame.Answer) {
	if err := conn.SetDeadline(time.Now().Add(s.ReadTimeout)); err != nil {
		return
	}
	if _, err := conn.Write(frame.AppendAnswer(nil, a)); err != nil {
		s.Logger.Debug("hook left before its answer", "err", err)
	}
}
