//go:build unix

package relayserver

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes the lock without waiting. A descriptor that inherited the lock gets it again.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrRunning
	}
	return err
}

func closeOnExec(fd int) { unix.CloseOnExec(fd) }
