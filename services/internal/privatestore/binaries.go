package privatestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	oldestPostgres = 15 // major
	// versionPatience bounds one call of a program with --version.
	versionPatience = 10 * time.Second
)

// oldestRedis is the first version with all that the buffer uses, and the one
// Valkey's numbering goes on from.
var oldestRedis = version{7, 0, 0}

// binaries are the programs to run; a server not asked for has none.
type binaries struct {
	postgres postgresBinaries
	redis    redisBinary
}

// anyProgram is one of the programs, to try an account with.
func (b binaries) anyProgram() string {
	if b.postgres.dir != "" {
		return b.postgres.server()
	}
	return b.redis.path
}

// postgresBinaries is an installation of Postgres.
type postgresBinaries struct {
	dir     string
	version version
}

func (p postgresBinaries) server() string { return filepath.Join(p.dir, "postgres") }
func (p postgresBinaries) initdb() string { return filepath.Join(p.dir, "initdb") }

// redisBinary is an installation of Redis or Valkey.
type redisBinary struct {
	path    string
	release redisRelease
}

// searchPath says where programs are looked for.
type searchPath struct {
	path         string   // like $PATH
	postgresDirs []string // patterns of directories beside PATH
	system       system
}

func systemSearchPath() searchPath {
	return searchPath{
		path: os.Getenv("PATH"),
		postgresDirs: []string{
			"/usr/lib/postgresql/*/bin", // Debian
			"/usr/pgsql-*/bin",          // packages of postgresql.org for Red Hat
			"/usr/libexec/postgresql*",  // Alpine
			"/opt/homebrew/opt/postgresql@*/bin",
			"/usr/local/opt/postgresql@*/bin",
		},
		system: currentSystem(),
	}
}

func findBinaries(ctx context.Context, cfg Config) (binaries, error) {
	var found binaries
	var postgresErr, redisErr error
	dirs, search := newLayout(cfg.DataDir), systemSearchPath()
	if cfg.NeedPostgres {
		found.postgres, postgresErr = search.findPostgres(ctx, cfg.PostgresBinDir, dirs.postgres)
	}
	if cfg.NeedRedis {
		found.redis, redisErr = search.findRedis(ctx, cfg.RedisBinary, dirs.redisVersion)
	}
	// Both at once: a person should not have to try three times.
	return found, errors.Join(postgresErr, redisErr)
}

// findPostgres chooses the newest Postgres for a new cluster, else that of the
// major version which made the cluster: no other can read it.
func (s searchPath) findPostgres(ctx context.Context, binDir, cluster string) (postgresBinaries, error) {
	candidates := s.postgresCandidates()
	if binDir != "" {
		candidates = []string{binDir}
	}
	major, err := clusterMajor(cluster)
	if err != nil {
		return postgresBinaries{}, err
	}
	var best postgresBinaries
	for _, dir := range candidates {
		found := postgresBinaries{dir: dir}
		found.version, err = programVersion(ctx, found.server(), parsePostgresVersion)
		if err != nil || found.version.major < oldestPostgres {
			continue
		}
		if major != 0 && found.version.major != major {
			continue
		}
		if best.dir == "" || found.version.compare(best.version) > 0 {
			best = found
		}
	}
	if best.dir != "" {
		return best, nil
	}
	where := "on PATH or in /usr/lib/postgresql/*/bin"
	if binDir != "" {
		where = "in " + binDir
	}
	if major != 0 {
		return postgresBinaries{}, fmt.Errorf("the data in %s was made by Postgres %d, which is not %s: %s",
			cluster, major, where, s.system.installPostgres(major))
	}
	return postgresBinaries{}, fmt.Errorf("no Postgres %d or newer %s: %s, or set KIROKU_POSTGRES_URL",
		oldestPostgres, where, s.system.installPostgres(0))
}

// postgresCandidates lists directories that hold both programs we need.
func (s searchPath) postgresCandidates() []string {
	dirs := absolute(filepath.SplitList(s.path))
	for _, pattern := range s.postgresDirs {
		matches, _ := filepath.Glob(pattern) // the patterns are ours
		dirs = append(dirs, matches...)
	}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		found := postgresBinaries{dir: dir}
		return !isExecutable(found.server()) || !isExecutable(found.initdb())
	})
}

// clusterMajor is the major version that made a cluster, 0 when there is none.
func clusterMajor(cluster string) (int, error) {
	data, err := os.ReadFile(filepath.Join(cluster, "PG_VERSION")) //nolint:gosec // a file of our data directory
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("version of the data: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0, fmt.Errorf("version of the data in %s: %w", cluster, err)
	}
	return major, nil
}

// findRedis chooses a Redis or Valkey that can read what the last one wrote,
// which versionFile names.
func (s searchPath) findRedis(ctx context.Context, binary, versionFile string) (redisBinary, error) {
	candidates := []string{binary}
	if binary == "" {
		candidates = s.redisCandidates()
	}
	writer, written, err := recordedRelease(versionFile)
	if err != nil {
		return redisBinary{}, err
	}
	var refused []string
	for _, path := range candidates {
		release, err := programVersion(ctx, path, parseRedisRelease)
		switch {
		case err != nil:
			refused = append(refused, fmt.Sprintf("%s does not run", path))
		case release.version.compare(oldestRedis) < 0:
			refused = append(refused, fmt.Sprintf("%s is %s", path, release))
		case written && !release.canRead(writer):
			refused = append(refused, fmt.Sprintf("%s is %s and cannot read what %s wrote to %s",
				path, release, writer, filepath.Join(filepath.Dir(versionFile), "redis")))
		default:
			return redisBinary{path: path, release: release}, nil
		}
	}
	if len(refused) == 0 {
		refused = []string{"neither redis-server nor valkey-server is on PATH"}
	}
	return redisBinary{}, fmt.Errorf("no usable Redis %d.%d or newer (%s): %s, or set KIROKU_REDIS_URL",
		oldestRedis.major, oldestRedis.minor, strings.Join(refused, "; "), s.system.installRedis())
}

func (s searchPath) redisCandidates() []string {
	var paths []string
	for _, name := range []string{"redis-server", "valkey-server"} {
		for _, dir := range absolute(filepath.SplitList(s.path)) {
			if path := filepath.Join(dir, name); isExecutable(path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// recordedRelease is the release that last wrote the Redis directory.
func recordedRelease(versionFile string) (release redisRelease, written bool, err error) {
	data, err := os.ReadFile(versionFile) //nolint:gosec // a file of our data directory
	if errors.Is(err, fs.ErrNotExist) {
		return redisRelease{}, false, nil
	}
	if err != nil {
		return redisRelease{}, false, fmt.Errorf("version of the Redis data: %w", err)
	}
	release, err = parseRecordedRelease(string(data))
	if err != nil {
		return redisRelease{}, false, fmt.Errorf("version of the Redis data in %s: %w", versionFile, err)
	}
	return release, true, nil
}

// programVersion asks a program for its version.
func programVersion[T any](ctx context.Context, path string, parse func(string) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = childEnvironment()
	output, err := cmd.Output()
	if err != nil {
		var zero T
		return zero, fmt.Errorf("%s --version: %w", path, err)
	}
	return parse(string(output))
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// absolute drops what depends on the working directory.
func absolute(dirs []string) []string {
	return slices.DeleteFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) })
}
