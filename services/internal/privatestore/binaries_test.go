package privatestore

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// installation makes programs that only answer --version.
func installation(t *testing.T, dir string, programs map[string]string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for name, output := range programs {
		script := fmt.Sprintf("#!/bin/sh\necho '%s'\n", output)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	return dir
}

func postgresInstallation(t *testing.T, root, number string) string {
	t.Helper()
	return installation(t, filepath.Join(root, number, "bin"), map[string]string{
		"postgres": "postgres (PostgreSQL) " + number, "initdb": "",
	})
}

func TestFindPostgres(t *testing.T) {
	t.Parallel()
	root, cluster := t.TempDir(), t.TempDir()
	for _, number := range []string{"14.9", "9.6.1", "15.4", "17.2"} {
		postgresInstallation(t, root, number)
	}
	search := searchPath{postgresDirs: []string{root + "/*/bin"}, system: debian}

	found, err := search.findPostgres(t.Context(), "", cluster)
	require.NoError(t, err)
	require.Equal(t, version{17, 2, 0}, found.version, "the newest for a new cluster")

	require.NoError(t, os.WriteFile(filepath.Join(cluster, "PG_VERSION"), []byte("15\n"), 0o600))
	found, err = search.findPostgres(t.Context(), "", cluster)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, "15.4/bin/initdb"), found.initdb(), "that which made the cluster")

	_, err = search.findPostgres(t.Context(), filepath.Join(root, "17.2/bin"), cluster)
	require.ErrorContains(t, err, "was made by Postgres 15, which is not in "+root)

	require.NoError(t, os.WriteFile(filepath.Join(cluster, "PG_VERSION"), []byte("16\n"), 0o600))
	_, err = search.findPostgres(t.Context(), "", cluster)
	require.ErrorContains(t, err, "apt-get install postgresql-16")
}

func TestFindPostgresNeedsInitdbToo(t *testing.T) {
	t.Parallel()
	dir := installation(t, t.TempDir(), map[string]string{"postgres": "postgres (PostgreSQL) 17.2"})
	_, err := searchPath{path: dir, system: debian}.findPostgres(t.Context(), "", t.TempDir())
	require.EqualError(t, err, "no Postgres 15 or newer on PATH or in /usr/lib/postgresql/*/bin: "+
		"run `apt-get install postgresql`, or set KIROKU_POSTGRES_URL")
}

func TestFindRedis(t *testing.T) {
	t.Parallel()
	const redis70, redis62, valkey8 = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64",
		"Redis server v=6.2.1 sha=0", "Valkey server v=8.1.1 sha=00000000:0 malloc=libc bits=64"
	for name, tc := range map[string]struct {
		programs map[string]string
		written  string
		want     string
		problem  string
	}{
		"first use":                 {programs: map[string]string{"redis-server": redis70}, want: "redis 7.0.15"},
		"redis before valkey":       {programs: map[string]string{"redis-server": redis70, "valkey-server": valkey8}, want: "redis 7.0.15"},
		"too old is passed over":    {programs: map[string]string{"redis-server": redis62, "valkey-server": valkey8}, want: "valkey 8.1.1"},
		"valkey by redis' name":     {programs: map[string]string{"redis-server": valkey8}, want: "valkey 8.1.1"},
		"newer than the writer":     {programs: map[string]string{"redis-server": redis70}, written: "redis 7.0.2", want: "redis 7.0.15"},
		"older than the writer":     {programs: map[string]string{"redis-server": redis70}, written: "redis 7.2.4", problem: "is redis 7.0.15 and cannot read what redis 7.2.4 wrote"},
		"the writer was valkey":     {programs: map[string]string{"redis-server": redis70, "valkey-server": valkey8}, written: "valkey 8.0.1", want: "valkey 8.1.1"},
		"valkey after its ancestor": {programs: map[string]string{"valkey-server": valkey8}, written: "redis 7.2.4", want: "valkey 8.1.1"},
		"valkey after a later fork": {programs: map[string]string{"valkey-server": valkey8}, written: "redis 7.4.0", problem: "cannot read what redis 7.4.0 wrote"},
		"only too old":              {programs: map[string]string{"redis-server": redis62}, problem: "is redis 6.2.1"},
		"none":                      {problem: "run `apt-get install redis-server`, or set KIROKU_REDIS_URL"},
		"broken record":             {written: "something 1", problem: "version of the Redis data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			search := searchPath{path: installation(t, t.TempDir(), tc.programs), system: debian}
			record := filepath.Join(t.TempDir(), "redis.version")
			if tc.written != "" {
				require.NoError(t, os.WriteFile(record, []byte(tc.written+"\n"), 0o600))
			}
			found, err := search.findRedis(t.Context(), "", record)
			if tc.problem != "" {
				require.ErrorContains(t, err, tc.problem)
				require.NotContains(t, err.Error(), "\n")
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, found.release.String())
		})
	}
}

func TestStartRefusesARedisOlderThanItsData(t *testing.T) {
	t.Parallel()
	cfg := Config{DataDir: dataDir(t), NeedRedis: true}
	require.NoError(t, os.WriteFile(filepath.Join(cfg.DataDir, "redis.version"), []byte("redis 99.0.0\n"), 0o600))
	_, err := Start(t.Context(), cfg)
	require.ErrorContains(t, err, "cannot read what redis 99.0.0 wrote to "+cfg.DataDir)
}

func TestStartNamesEveryMissingProgram(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	_, err := Start(t.Context(), Config{
		DataDir: filepath.Join(empty, "data"), NeedPostgres: true, NeedRedis: true,
		PostgresBinDir: empty, RedisBinary: filepath.Join(empty, "redis-server"),
	})
	require.ErrorContains(t, err, "no Postgres 15 or newer in "+empty)
	require.ErrorContains(t, err, "redis-server does not run")
	require.NoDirExists(t, filepath.Join(empty, "data"))
}

func TestParsePostgresVersion(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]version{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": {15, 18, 0},
		"postgres (PostgreSQL) 18beta1\n":                        {18, 0, 0},
		"postgres (PostgreSQL) 17.2 (Homebrew)":                  {17, 2, 0},
	} {
		got, err := parsePostgresVersion(output)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, output := range []string{"", "postgres", "postgres (PostgreSQL) devel", "(PostgreSQL) 99999999999999999999"} {
		_, err := parsePostgresVersion(output)
		require.Error(t, err, output)
	}
}

func TestInstallHints(t *testing.T) {
	t.Parallel()
	for release, want := range map[string]system{
		"NAME=\"Debian GNU/Linux\"\nID=debian\n":       debian,
		"ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n":    debian,
		"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"": redHat,
		"ID=nixos\n": unknown,
		"":           unknown,
	} {
		require.Equal(t, want, systemOf(release), release)
	}
	for _, s := range []system{debian, redHat, alpine, arch, suse, macOS, unknown} {
		require.Regexp(t, `install|apk add|pacman`, s.installPostgres(16))
		require.Regexp(t, `install|apk add|pacman`, s.installRedis())
	}
}
