package rundir

import (
	"os"
	"path/filepath"
)

// runtimeDir lies in the local profile, which only its user may enter.
func runtimeDir(getenv func(string) string, uid int, _ func(string, int) bool) string {
	if dir := getenv(EnvRuntime); filepath.IsAbs(dir) && fitsSocket(dir) {
		return filepath.Clean(dir)
	}
	if local := getenv("LOCALAPPDATA"); filepath.IsAbs(local) {
		return filepath.Join(local, appName, "run")
	}
	return filepath.Join(os.TempDir(), appName)
}

func stateDir(getenv func(string) string) string {
	if dir := getenv(EnvState); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	if local := getenv("LOCALAPPDATA"); filepath.IsAbs(local) {
		return filepath.Join(local, appName, "state")
	}
	return ""
}

// Check reports whether dir is a real directory. Its access list is that of the profile.
func Check(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &os.PathError{Op: "check", Path: dir, Err: ErrUnsafe}
	}
	return nil
}

func ownedDir(string, int) bool { return true }
