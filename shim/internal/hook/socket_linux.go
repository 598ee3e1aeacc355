package hook

import "golang.org/x/sys/unix"

// openSocket makes a unix socket that neither blocks nor passes to children.
func openSocket() (int, error) {
	return unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
}
