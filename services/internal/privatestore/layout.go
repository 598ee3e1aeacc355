package privatestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	lockName     = "lock"
	passwordName = "postgres.password"
)

// layout names what lies in a data directory. All paths are absolute and free
// of symbolic links, so that they compare with what the system says of a process.
type layout struct {
	root         string
	postgres     string // the cluster
	postgresInit string // a cluster being made, moved to postgres when complete
	password     string
	redis        string
	redisConf    string
	redisVersion string // which version last wrote the redis directory
	logs         string
}

func newLayout(root string) layout {
	return layout{
		root:         root,
		postgres:     filepath.Join(root, "postgres"),
		postgresInit: filepath.Join(root, "postgres.init"),
		password:     filepath.Join(root, passwordName),
		redis:        filepath.Join(root, "redis"),
		redisConf:    filepath.Join(root, "redis.conf"),
		redisVersion: filepath.Join(root, "redis.version"),
		logs:         filepath.Join(root, "logs"),
	}
}

// DefaultDataDir is where Kiroku keeps its data when it is not told otherwise:
// $KIROKU_DATA_DIR; for root /var/lib/kiroku; else $XDG_DATA_HOME/kiroku or
// ~/.local/share/kiroku. It is empty when there is no home directory either.
func DefaultDataDir() string {
	if dir := os.Getenv("KIROKU_DATA_DIR"); dir != "" {
		return dir
	}
	if os.Geteuid() == 0 {
		return "/var/lib/kiroku"
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "kiroku")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "share", "kiroku")
}

// prepareDataDir makes the data directory. Where the servers run as another
// user than we do, that user may pass through it but not list it.
func prepareDataDir(dir string, acc account) (layout, error) {
	if dir == "" {
		return layout{}, errors.New("no data directory: set KIROKU_DATA_DIR")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return layout{}, fmt.Errorf("data directory: %w", err)
	}
	//nolint:gosec // parents are ordinary directories that other users may pass through
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return layout{}, fmt.Errorf("create data directory: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return layout{}, fmt.Errorf("create data directory: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return layout{}, fmt.Errorf("data directory: %w", err)
	}
	ours, err := isOurs(dir)
	if err != nil {
		return layout{}, fmt.Errorf("data directory: %w", err)
	}
	// A directory that serves something else keeps its mode: KIROKU_DATA_DIR may
	// name a home directory by mistake.
	if ours && acc.switched {
		if err := os.Chown(dir, -1, acc.gid); err != nil {
			return layout{}, fmt.Errorf("data directory: %w", err)
		}
		//nolint:gosec // the servers' user has to pass through
		if err := os.Chmod(dir, 0o710); err != nil {
			return layout{}, fmt.Errorf("data directory: %w", err)
		}
	}
	return newLayout(dir), nil
}

// isOurs tells whether dir is empty or was used by Kiroku before.
func isOurs(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, entry := range entries {
		if entry.Name() == lockName {
			return true, nil
		}
	}
	return len(entries) == 0, nil
}
