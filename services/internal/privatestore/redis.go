package privatestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// redisShutdown: SIGTERM writes the append-only file out before it ends.
var redisShutdown = []shutdownStep{
	{syscall.SIGTERM, 5 * time.Second},
	{syscall.SIGKILL, 2 * time.Second},
}

// redisConf is for the person who edits it; the command line overrides it.
const redisConf = `# Read by Kiroku's private Redis at each start. Set a limit of memory here when
# you want one; a full buffer refuses writes, and its events wait in Postgres:
# maxmemory 1gb
`

// redisServer is a private Redis or Valkey. It has no password: its socket lies
// in a directory that only we and its own user can enter, and whoever can read
// a password file of ours can enter that as well.
type redisServer struct {
	binary     redisBinary
	dirs       layout
	sockets    string
	account    account
	fastUnsafe bool
}

func (r *redisServer) socket() string {
	return filepath.Join(r.sockets, redisSocket)
}

func (r *redisServer) pidFile() string {
	return filepath.Join(r.dirs.redis, "redis.pid")
}

func (r *redisServer) url() string {
	u := url.URL{Scheme: "unix", Path: r.socket(), RawQuery: "db=0"}
	return u.String()
}

func (r *redisServer) start(ctx context.Context, s *Stores) error {
	if err := r.clearLeftover(ctx); err != nil {
		return err
	}
	if err := r.prepare(); err != nil {
		return fmt.Errorf("prepare the Redis data: %w", err)
	}
	c, err := s.run(program{
		name:     "redis",
		path:     r.binary.path,
		args:     r.arguments(),
		dir:      r.dirs.redis,
		shutdown: redisShutdown,
	}, r.account, filepath.Join(r.dirs.logs, "redis.log"))
	if err != nil {
		return err
	}
	return r.waitReady(ctx, c)
}

func (r *redisServer) clearLeftover(ctx context.Context) error {
	// Redis ignores a pid file, so a stranger named there is of no concern.
	_, err := leftover{
		name:     "redis",
		pidFile:  r.pidFile(),
		programs: []string{"redis-server", "valkey-server"},
		dir:      r.dirs.redis,
		argument: r.socket(),
		shutdown: redisShutdown,
	}.stop(ctx)
	return err
}

// prepare makes the directory and records the version before anything is
// written, so the record can never be older than the data.
func (r *redisServer) prepare() error {
	if err := r.account.makeDir(r.dirs.redis); err != nil {
		return err
	}
	if err := writeNew(r.dirs.redisConf, redisConf); err != nil {
		return err
	}
	//nolint:gosec // holds no secret unless somebody writes one into it
	if err := os.Chmod(r.dirs.redisConf, 0o640); err != nil {
		return err
	}
	if err := os.Chown(r.dirs.redisConf, -1, r.account.gid); err != nil {
		return err
	}
	next := r.dirs.redisVersion + ".new"
	if err := os.WriteFile(next, []byte(r.binary.release.String()+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(next, r.dirs.redisVersion)
}

// writeNew writes a file unless it exists.
func writeNew(path, text string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // a file of our data directory
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func (r *redisServer) arguments() []string {
	appendOnly := "yes"
	if r.fastUnsafe {
		appendOnly = "no"
	}
	return []string{
		r.dirs.redisConf,
		"--port", "0",
		"--unixsocket", r.socket(),
		"--unixsocketperm", "700",
		"--dir", r.dirs.redis,
		"--pidfile", r.pidFile(),
		"--daemonize", "no",
		"--logfile", "", // standard output, which we collect
		"--save", "",
		"--appendonly", appendOnly,
		"--appendfsync", "everysec",
		// Eviction would drop events silently.
		"--maxmemory-policy", "noeviction",
	}
}

func (r *redisServer) waitReady(ctx context.Context, c *child) error {
	client := redis.NewClient(&redis.Options{
		Network: "unix", Addr: r.socket(), MaxRetries: -1, PoolSize: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	err := c.waitReady(ctx, func(ctx context.Context) (bool, error) {
		// Until it has loaded its file, Redis answers with an error: asking
		// again is always right, and the start's deadline ends it.
		return true, r.ping(ctx, client)
	})
	return errors.Join(err, client.Close())
}

func (r *redisServer) ping(ctx context.Context, client *redis.Client) error {
	// The client logs each failed dial, so it is spared those.
	if _, err := os.Stat(r.socket()); err != nil {
		return err
	}
	return client.Ping(ctx).Err()
}
