package privatestore

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// helper is another process that runs servers.
type helper struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	report helperReport
}

// startHelper runs binary, a test binary, with attr on dir.
func startHelper(t *testing.T, binary, dir string, attr *syscall.SysProcAttr) helper {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(os.Environ(), helperDir+"="+dir, "XDG_RUNTIME_DIR=")
	cmd.Dir, cmd.SysProcAttr = "/", attr
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	h := helper{cmd: cmd, stdin: stdin}
	if err := json.NewDecoder(stdout).Decode(&h.report); err != nil {
		_ = cmd.Wait()
		t.Fatalf("helper: %v: %s", err, stderr.String())
	}
	return h
}

func TestKilledParentLeavesNothingAndNeverBlocksTheNextStart(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	executable, err := os.Executable()
	require.NoError(t, err)
	h := startHelper(t, executable, dir, nil)
	// A connected client is what makes a slow shutdown slow.
	connectPostgres(t, h.report.PostgresURL)
	pidFile := filepath.Join(dir, "postgres", "postmaster.pid")
	stale, err := os.ReadFile(pidFile)
	require.NoError(t, err)

	require.NoError(t, h.cmd.Process.Kill())
	require.Error(t, h.cmd.Wait())
	requireGone(t, h.report.PIDs...)

	// The worst that a crash can leave: a pid file whose number now belongs to a
	// stranger, and sockets that nobody serves.
	_, rest, _ := strings.Cut(string(stale), "\n")
	stranger := startStranger(t)
	require.NoError(t, os.WriteFile(pidFile, []byte(strconv.Itoa(stranger)+"\n"+rest), 0o600))
	acc, err := childAccount(true)
	require.NoError(t, err)
	require.NoError(t, acc.own(pidFile))
	layout, err := prepareDataDir(dir, acc)
	require.NoError(t, err)
	sockets, err := prepareRuntimeDir("", layout.root, acc)
	require.NoError(t, err)
	for _, name := range []string{postgresSocket, postgresSocket + ".lock", redisSocket} {
		require.NoError(t, os.WriteFile(filepath.Join(sockets, name), []byte(strconv.Itoa(stranger)+"\n"), 0o600))
	}

	stores := startStores(t, Config{DataDir: dir, NeedPostgres: true, NeedRedis: true, FastUnsafe: true})
	require.NoError(t, connectPostgres(t, stores.PostgresURL()).Ping(t.Context()))
	require.True(t, processExists(stranger), "a stranger is left alone")
}

// startStranger runs a process of the servers' user that is no server, which
// is what makes Postgres take it for another instance of itself.
func startStranger(t *testing.T) int {
	t.Helper()
	acc, err := childAccount(true)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	cmd.Dir, cmd.SysProcAttr = "/", acc.attributes()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// Where no signal tells the servers that their parent died, they live on.
func TestStartStopsServersThatAnEarlierRunLeft(t *testing.T) {
	t.Parallel()
	cfg := Config{DataDir: dataDir(t), NeedPostgres: true, NeedRedis: true, FastUnsafe: true}
	earlier, err := Start(t.Context(), cfg)
	require.NoError(t, err)
	connectPostgres(t, earlier.PostgresURL())
	// What the kernel does for a process that dies.
	require.NoError(t, earlier.lock.release())
	earlier.lock, earlier.sockets = nil, ""

	later := startStores(t, cfg)
	for _, c := range earlier.children {
		<-c.exited
	}
	require.NoError(t, earlier.Stop(t.Context()))
	require.NoError(t, connectPostgres(t, later.PostgresURL()).Ping(t.Context()))
	require.NoError(t, connectRedis(t, later.RedisURL()).Ping(t.Context()).Err())
}

func TestServerStartedByHandIsNotStopped(t *testing.T) {
	t.Parallel()
	cfg := Config{DataDir: dataDir(t), NeedPostgres: true, FastUnsafe: true}
	stores := startStores(t, cfg)
	pid := childPIDs(stores)[0]
	byHand := leftover{
		name: "postgres", pidFile: filepath.Join(stores.postgres.dirs.postgres, "postmaster.pid"),
		programs: []string{"postgres"}, dir: stores.postgres.dirs.postgres, argument: stores.postgres.dirs.postgres,
		marker: "a marker that it does not have", shutdown: postgresShutdown,
	}
	_, err := byHand.stop(t.Context())
	require.ErrorContains(t, err, "process "+strconv.Itoa(pid)+" and was not started by Kiroku")
	require.NoError(t, connectPostgres(t, stores.PostgresURL()).Ping(t.Context()))
}

func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		// Every other test of this package runs as one then.
		stores := startStores(t, Config{DataDir: dataDir(t), NeedRedis: true})
		require.NotEmpty(t, stores.RedisURL())
		return
	}
	const nobody = 65534
	dir := dataDir(t)
	data, binary := filepath.Join(dir, "data"), filepath.Join(dir, "helper")
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Mkdir(data, 0o700))
	require.NoError(t, os.Chown(data, nobody, nobody))
	executable, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Link(executable, binary)) // where that user can reach it
	h := startHelper(t, binary, data, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}})

	var user string
	require.NoError(t, connectPostgres(t, h.report.PostgresURL).QueryRow(t.Context(), "SELECT current_user").Scan(&user))
	require.Equal(t, "kiroku", user)
	require.NoError(t, connectRedis(t, h.report.RedisURL).Ping(t.Context()).Err())
	require.NoError(t, h.stdin.Close())
	require.NoError(t, h.cmd.Wait())
	requireGone(t, h.report.PIDs...)
}
