//go:build unix

package hook

import (
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

const relayProgram = "kiroku"

// starter starts the relay at most once per hook, so a relay that cannot live is not started
// in a loop.
type starter struct {
	paths    rundir.Paths
	launched bool
}

// start reports whether a relay is coming up: started by us, or by whoever holds the lock.
func (s *starter) start() bool {
	if s.launched {
		return true
	}
	fd, err := unix.Open(s.paths.Lock(), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return true
	}
	if err != nil {
		return false
	}
	program := findRelay()
	if program == "" {
		return false
	}
	s.launched = launch(program, fd) == nil
	return s.launched
}

// launch runs the relay in its own session with null streams, so that it outlives the agent's
// process group and holds none of the agent's pipes. The lock passes to it by inheritance and
// is never free in between.
func launch(program string, lock int) error {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(null) }()
	//nolint:gosec // findRelay takes no program from the project or from the payload
	_, err = syscall.ForkExec(program, []string{program, "relay"}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   relayEnviron(os.Environ()),
		Files: []uintptr{uintptr(null), uintptr(null), uintptr(null), uintptr(lock)},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	return err
}

// findRelay looks where the environment says, beside this program, then on the path.
func findRelay() string {
	if named := os.Getenv(rundir.EnvRelayBin); named != "" {
		if filepath.IsAbs(named) && executable(named) {
			return named
		}
		return ""
	}
	if self, err := os.Executable(); err == nil {
		if beside := filepath.Join(filepath.Dir(self), relayProgram); executable(beside) {
			return beside
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		// A relative entry would run whatever the project's directory holds.
		if path := filepath.Join(dir, relayProgram); filepath.IsAbs(dir) && executable(path) {
			return path
		}
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path) //nolint:gosec // the user's own environment says where to look
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
