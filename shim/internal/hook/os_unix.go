//go:build unix

package hook

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// slice is the longest uninterrupted wait: after it, a signal to stop is looked for.
const slice = 20 * time.Millisecond

// onSignals keeps the signals that end a process from cutting the hook off half-way: its event
// is stored and its exit code stays 0. A quick hook just ignores them. The returned question
// is asked only when something is slow; from then on a signal makes the hook stop waiting.
// Listening from the start would cost every call a thread.
func onSignals() func() bool {
	ending := []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}
	signal.Ignore(ending...)
	var asked chan os.Signal
	stopped := false
	return func() bool {
		if asked == nil {
			asked = make(chan os.Signal, 1)
			signal.Notify(asked, ending...)
		}
		select {
		case <-asked:
			stopped = true
		default:
		}
		return stopped
	}
}

// pollFD waits until fd is ready for events, the wait is over (errTimeout) or stop says so.
func pollFD(fd int, events int16, wait time.Duration, stop func() bool) error {
	end := time.Now().Add(wait)
	for {
		left := min(time.Until(end), slice)
		if left <= 0 {
			left = 0
		}
		fds := [1]unix.PollFd{{Fd: int32(fd), Events: events}} //nolint:gosec // a descriptor is a small number
		n, err := unix.Poll(fds[:], int((left+time.Millisecond-1)/time.Millisecond))
		switch {
		case n > 0:
			return nil
		case err != nil && err != unix.EINTR && err != unix.EAGAIN:
			return err
		case stop() || time.Now().After(end):
			return errTimeout
		}
	}
}

type stdinSource struct{ stop func() bool }

// openStdin refuses a terminal, a null device and a closed descriptor: no agent is behind them.
func openStdin(stop func() bool) (source, bool) {
	var st unix.Stat_t
	if err := unix.Fstat(0, &st); err != nil || uint32(st.Mode)&unix.S_IFMT == unix.S_IFCHR { //nolint:unconvert // 16 bits on macOS
		return nil, false
	}
	return stdinSource{stop: stop}, true
}

func (s stdinSource) read(p []byte, wait time.Duration) (int, error) {
	end := time.Now().Add(wait)
	for {
		if err := pollFD(0, unix.POLLIN, time.Until(end), s.stop); err != nil {
			return 0, err
		}
		n, err := unix.Read(0, p)
		// Another process may have taken the bytes, and stdin may be set not to block.
		if err == unix.EINTR || err == unix.EAGAIN {
			if s.stop() || time.Now().After(end) {
				return 0, errTimeout
			}
			continue
		}
		return n, err
	}
}

// printWait bounds the writing to an agent that does not read.
const printWait = 100 * time.Millisecond

// printAnswer writes to stdout without ever blocking: a pipe that polls writable takes at least
// a page.
func printAnswer(text []byte) {
	const page = 4096
	// A write to a closed stdout would otherwise kill the process with a signal.
	signal.Ignore(syscall.SIGPIPE)
	never := func() bool { return false }
	for len(text) > 0 {
		if err := pollFD(1, unix.POLLOUT, printWait, never); err != nil {
			return
		}
		n, err := unix.Write(1, text[:min(len(text), page)])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		text = text[n:]
	}
}

func getcwd() (string, error) { return syscall.Getwd() }
