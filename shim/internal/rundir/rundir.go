// Package rundir decides where the hook and the relay meet: the runtime directory with the
// socket and the lock, and the state directory with what outlives a reboot.
//
// Hook, relay and command line must come to the same answer from different environments, so
// the rule is one pure function of the environment, the user and what exists on disk.
package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
)

// Environment variables that override the rules.
const (
	// EnvRuntime names the runtime directory.
	EnvRuntime = "KIROKU_RUNTIME_DIR"
	// EnvState names the state directory.
	EnvState = "KIROKU_STATE_DIR"
	// EnvLockFD tells a relay which inherited descriptor holds relay.lock.
	EnvLockFD = "KIROKU_RELAY_LOCK_FD"
	// EnvRelayBin names the program that the hook starts as `<program> relay`.
	EnvRelayBin = "KIROKU_RELAY_BIN"
	// EnvInHook marks our own descendants: a hook that finds it leaves at once, so that an
	// agent started by us never feeds us.
	EnvInHook = "KIROKU_IN_HOOK"
	// EnvDisable switches the hook off.
	EnvDisable = "KIROKU_DISABLE"
)

// MaxSocketPath is the longest socket path in bytes that works on every system: the kernel's
// own limit is 104 bytes on macOS and 108 on Linux, the closing zero included.
const MaxSocketPath = 100

const (
	appName    = "kiroku"
	socketName = "relay.sock"
	lockName   = "relay.lock"
	spoolName  = "spool"
	dirMode    = 0o700
)

var (
	// ErrUnsafe means that a directory is not a private directory of this user.
	ErrUnsafe = errors.New("directory is not private to this user")
	// ErrNoDirectory means that the environment names no place, as without HOME.
	ErrNoDirectory = errors.New("no directory is known for it")
)

// Paths are the directories of one user. State is "" when the environment names none.
type Paths struct {
	Runtime string
	State   string
}

// Socket is the path of the relay's socket.
func (p Paths) Socket() string { return filepath.Join(p.Runtime, socketName) }

// Lock is the path of the file whose lock only a running relay holds. It is never removed.
func (p Paths) Lock() string { return filepath.Join(p.Runtime, lockName) }

// SpoolDirs lists where spooled frames may lie, in the order in which a hook tries them: the
// runtime directory first, because it is usually memory and works when the disk is full.
func (p Paths) SpoolDirs() []string {
	dirs := []string{filepath.Join(p.Runtime, spoolName)}
	if p.State != "" {
		dirs = append(dirs, filepath.Join(p.State, spoolName))
	}
	return dirs
}

// FromEnvironment returns the directories of the calling process. Nothing is created.
func FromEnvironment() Paths {
	return resolve(os.Getenv, os.Getuid(), ownedDir)
}

// Ensure makes the directory private to this user and creates it if it is missing. It fails
// with ErrUnsafe for a link, another user's directory or one that others may enter and that
// cannot be closed to them.
func Ensure(dir string) error {
	if dir == "" {
		return ErrNoDirectory
	}
	if err := Check(dir); err == nil || errors.Is(err, ErrUnsafe) {
		return err
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	return Check(dir)
}

// resolve is the rule. The state directory falls back to nothing rather than to a shared place.
func resolve(getenv func(string) string, uid int, owned func(dir string, uid int) bool) Paths {
	return Paths{Runtime: runtimeDir(getenv, uid, owned), State: stateDir(getenv)}
}

// fitsSocket reports whether the socket's path in dir stays within MaxSocketPath.
func fitsSocket(dir string) bool {
	return len(filepath.Join(dir, socketName)) <= MaxSocketPath
}

func fallbackDir(uid int) string {
	return "/tmp/" + appName + "-" + strconv.Itoa(uid)
}
