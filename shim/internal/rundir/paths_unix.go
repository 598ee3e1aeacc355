//go:build unix

package rundir

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// runtimeDir prefers the override, then the session's runtime directory, also when a login
// without session variables (cron, su) hides it, so that one user has one relay.
func runtimeDir(getenv func(string) string, uid int, owned func(string, int) bool) string {
	if dir := getenv(EnvRuntime); filepath.IsAbs(dir) && fitsSocket(dir) {
		return filepath.Clean(dir)
	}
	session := getenv("XDG_RUNTIME_DIR")
	if session == "" {
		session = "/run/user/" + strconv.Itoa(uid)
	}
	dir := filepath.Join(session, appName)
	if filepath.IsAbs(session) && fitsSocket(dir) && owned(session, uid) {
		return dir
	}
	return fallbackDir(uid)
}

func stateDir(getenv func(string) string) string {
	if dir := getenv(EnvState); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, appName)
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", appName)
	}
	return ""
}

// Check reports whether dir is a real directory that belongs to this user and that nobody
// else may enter. A directory of ours that is too open is closed first.
func Check(dir string) error {
	var st syscall.Stat_t
	if err := syscall.Lstat(dir, &st); err != nil {
		return &os.PathError{Op: "lstat", Path: dir, Err: err}
	}
	if uint32(st.Mode)&syscall.S_IFMT != syscall.S_IFDIR || int(st.Uid) != os.Getuid() { //nolint:unconvert // 16 bits on macOS
		return &os.PathError{Op: "check", Path: dir, Err: ErrUnsafe}
	}
	if st.Mode&0o077 == 0 {
		return nil
	}
	if err := syscall.Chmod(dir, dirMode); err != nil {
		return &os.PathError{Op: "chmod", Path: dir, Err: ErrUnsafe}
	}
	return nil
}

// ownedDir reports whether dir is an existing directory of this user.
func ownedDir(dir string, uid int) bool {
	var st syscall.Stat_t
	return syscall.Stat(dir, &st) == nil &&
		uint32(st.Mode)&syscall.S_IFMT == syscall.S_IFDIR && int(st.Uid) == uid //nolint:unconvert // 16 bits on macOS
}
