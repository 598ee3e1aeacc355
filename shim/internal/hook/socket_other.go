//go:build unix && !linux

package hook

import (
	"errors"

	"golang.org/x/sys/unix"
)

// openSocket makes a unix socket that neither blocks nor passes to children.
func openSocket() (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return 0, err
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return 0, errors.Join(err, unix.Close(fd))
	}
	return fd, nil
}
