package privatestore

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

const (
	postgresPort   = "5432" // only part of the socket's name
	postgresSocket = ".s.PGSQL." + postgresPort
	redisSocket    = "redis.sock"

	// maxSocketPath is in bytes. The system's own limit is 107 on Linux and 103
	// on macOS, and a longer path is cut or refused late, with odd messages.
	maxSocketPath = 99
)

// prepareRuntimeDir makes the directory of the sockets of one data directory.
// A directory for each, because two data directories may be in use at once.
func prepareRuntimeDir(explicit, dataDir string, acc account) (string, error) {
	sum := sha256.Sum256([]byte(dataDir))
	id := hex.EncodeToString(sum[:4])
	var problems []error
	for _, dir := range runtimeCandidates(explicit, id) {
		err := checkSocketPath(dir)
		if err == nil {
			err = makeRuntimeDir(dir, acc)
		}
		if err == nil {
			removeSockets(dir)
			return dir, nil
		}
		problems = append(problems, err)
	}
	return "", fmt.Errorf("no directory for sockets: %w", errors.Join(problems...))
}

// runtimeCandidates lists socket directories in the order of preference.
func runtimeCandidates(explicit, id string) []string {
	if explicit != "" {
		return []string{filepath.Join(explicit, id)}
	}
	var dirs []string
	if os.Geteuid() == 0 && runtime.GOOS == "linux" {
		dirs = append(dirs, filepath.Join("/run/kiroku", id))
	}
	if base := os.Getenv("XDG_RUNTIME_DIR"); os.Geteuid() != 0 && filepath.IsAbs(base) {
		dirs = append(dirs, filepath.Join(base, "kiroku", id))
	}
	// Not os.TempDir: on macOS that is too long for a socket.
	return append(dirs, filepath.Join("/tmp", "kiroku-"+strconv.Itoa(os.Geteuid())+"-"+id))
}

func checkSocketPath(dir string) error {
	if n := len(filepath.Join(dir, postgresSocket)); n > maxSocketPath {
		return fmt.Errorf("%s is too long: a socket in it would have a path of %d bytes, the limit is %d", dir, n, maxSocketPath)
	}
	return nil
}

func makeRuntimeDir(dir string, acc account) error {
	//nolint:gosec // the servers' user has to pass through; dir itself is private
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("create socket directory: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create socket directory: %w", err)
	}
	// In /tmp anybody could have made it, or a link of that name.
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("socket directory: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || (int(stat.Uid) != os.Geteuid() && int(stat.Uid) != acc.uid) {
		return fmt.Errorf("%s belongs to somebody else", dir)
	}
	if err := acc.own(dir); err != nil {
		return fmt.Errorf("socket directory: %w", err)
	}
	//nolint:gosec // 0700 is what keeps others from the sockets
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("socket directory: %w", err)
	}
	return nil
}

// removeSockets clears what a killed server left. The lock on the data
// directory guarantees that nobody uses these names now.
func removeSockets(dir string) {
	for _, name := range []string{postgresSocket, postgresSocket + ".lock", redisSocket} {
		_ = os.Remove(filepath.Join(dir, name)) // a server that cannot replace it will say so
	}
}
