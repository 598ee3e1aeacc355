package postgres

import (
	"errors"
	"io"
	"syscall"
)

// isBrokenPipe tells whether the connection ended under a statement, as when the server is killed.
func isBrokenPipe(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
