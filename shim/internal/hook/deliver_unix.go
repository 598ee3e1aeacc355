//go:build unix

package hook

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

const (
	// retryPause is the wait between attempts to reach a relay that is starting.
	retryPause = 4 * time.Millisecond
	// maxBroken is how many connections may break before the relay counts as ill.
	maxBroken = 3
)

// errClosed means that the relay closed the connection before its answer was whole.
var errClosed = errors.New("relay closed the connection")

// courier brings one request to the relay.
type courier struct {
	request  *frame.Request
	paths    rundir.Paths
	deadline time.Time
	stop     func() bool
	starter  starter
}

// deliver hands the request to the relay, starting one when none is there. It reports false
// when the event is still ours to keep.
func deliver(r *frame.Request, paths rundir.Paths, deadline time.Time, stop func() bool) (frame.Answer, bool) {
	// A directory that others could write to would let them read our events.
	if rundir.Ensure(paths.Runtime) != nil {
		return frame.Answer{}, false
	}
	c := &courier{request: r, paths: paths, deadline: deadline, stop: stop, starter: starter{paths: paths}}
	return c.run()
}

func (c *courier) run() (frame.Answer, bool) {
	for broken := 0; broken < maxBroken; time.Sleep(retryPause) {
		answer, err := c.attempt()
		// The question about signals also has to come before a start: a signal that is merely
		// ignored would be ignored by the relay too.
		switch {
		case err == nil:
			return answer, answer.Status == frame.Accepted || answer.Status == frame.Rejected
		case c.stop() || errors.Is(err, errTimeout) || time.Now().After(c.deadline):
			return frame.Answer{}, false
		case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ECONNREFUSED):
			if !c.starter.start() {
				return frame.Answer{}, false
			}
		case errors.Is(err, unix.EAGAIN): // the relay's queue is full
		default:
			broken++
		}
	}
	return frame.Answer{}, false
}

// attempt makes one connection, sends the frame and reads the answer.
func (c *courier) attempt() (frame.Answer, error) {
	fd, err := openSocket()
	if err != nil {
		return frame.Answer{}, err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: c.paths.Socket()}); err != nil {
		return frame.Answer{}, err
	}
	c.request.Budget = time.Until(c.deadline)
	if err := c.send(fd); err != nil {
		return frame.Answer{}, err
	}
	return c.readAnswer(fd)
}

// send writes a small frame at once and a large one without copying its payload.
func (c *courier) send(fd int) error {
	const small = 64 << 10
	if len(c.request.Payload) <= small {
		return c.write(fd, frame.Append(nil, c.request))
	}
	if err := c.write(fd, frame.AppendHead(nil, c.request)); err != nil {
		return err
	}
	return c.write(fd, c.request.Payload)
}

func (c *courier) write(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := unix.Write(fd, data)
		switch {
		case err == nil:
			data = data[n:]
		case err == unix.EAGAIN:
			if err := pollFD(fd, unix.POLLOUT, time.Until(c.deadline), c.stop); err != nil {
				return err
			}
		case err != unix.EINTR:
			return err
		}
	}
	return nil
}

// readAnswer reads until the answer is whole; a part of one is never returned.
func (c *courier) readAnswer(fd int) (frame.Answer, error) {
	buf := make([]byte, 0, 4096)
	for {
		if err := pollFD(fd, unix.POLLIN, time.Until(c.deadline), c.stop); err != nil {
			return frame.Answer{}, err
		}
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, 4*cap(buf)), buf...)
		}
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		switch {
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return frame.Answer{}, err
		case n == 0:
			return frame.Answer{}, errClosed
		}
		buf = buf[:len(buf)+n]
		answer, err := frame.DecodeAnswer(buf)
		if !errors.Is(err, frame.ErrShort) {
			return answer, err
		}
	}
}
