//go:build !unix

package hook

import (
	"os"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

// onSignals has nothing to do where agents end their hooks without a signal.
func onSignals() func() bool { return func() bool { return false } }

// stdinSource reads in the background, because a pipe cannot be polled here.
type stdinSource struct{ chunks chan []byte }

func openStdin(func() bool) (source, bool) {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice != 0 {
		return nil, false
	}
	s := stdinSource{chunks: make(chan []byte)}
	go func() {
		defer close(s.chunks)
		for {
			chunk := make([]byte, firstChunk)
			n, err := os.Stdin.Read(chunk)
			if n > 0 {
				s.chunks <- chunk[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	return &bufferedSource{src: s}, true
}

// bufferedSource hands out chunks in the sizes that the reader asks for.
type bufferedSource struct {
	src  stdinSource
	rest []byte
}

func (b *bufferedSource) read(p []byte, wait time.Duration) (int, error) {
	if len(b.rest) == 0 {
		select {
		case b.rest = <-b.src.chunks:
		case <-time.After(wait):
			return 0, errTimeout
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// deliver leaves the event to the spool, from which the next relay takes it.
func deliver(*frame.Request, rundir.Paths, time.Time, func() bool) (frame.Answer, bool) {
	return frame.Answer{}, false
}

func printAnswer(text []byte) { _, _ = os.Stdout.Write(text) }

func getcwd() (string, error) { return os.Getwd() }
