package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

// asCommand tells the re-executed test binary to be withservers.
const asCommand = "WITHSERVERS_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// output runs withservers in this process.
func output(t *testing.T, input string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(args, streams{in: strings.NewReader(input), out: &out, err: &err})
	return code, out.String(), err.String()
}

func TestCommandGetsServersThatEndWithIt(t *testing.T) {
	t.Setenv(testenv.PostgresVariable, "")
	t.Setenv(testenv.RedisVariable, "")
	temp, err := os.MkdirTemp("", "kiroku-withservers-") //nolint:usetesting // as root, Postgres runs as a user that cannot enter t.TempDir
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(temp)) }()
	require.NoError(t, os.Chmod(temp, 0o755))
	t.Setenv("TMPDIR", temp)

	// The command is this test binary, which runs the test below with servers.
	executable, err := os.Executable()
	require.NoError(t, err)
	code, stdout, stderr := output(t, "", executable, "-test.run=^TestServersAnswer$", "-test.v")
	require.Zero(t, code, stdout+stderr)
	require.Contains(t, stdout, "--- PASS: TestServersAnswer")
	require.Empty(t, stderr)

	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left, "the data is removed")
}

func TestServersAnswer(t *testing.T) {
	require.NotEmpty(t, testenv.Postgres(t))
	url, prefix := testenv.Redis(t)
	require.NotEmpty(t, url+prefix)
}

func TestGivenServersAreKept(t *testing.T) {
	t.Setenv(testenv.PostgresVariable, "postgres://given")
	t.Setenv(testenv.RedisVariable, "redis://given")
	code, stdout, stderr := output(t, "input\n", "sh", "-c",
		`echo "$KIROKU_TEST_POSTGRES_URL $KIROKU_TEST_REDIS_URL $(cat)"; echo problem >&2; exit 7`)
	require.Equal(t, 7, code)
	require.Equal(t, "postgres://given redis://given input\n", stdout)
	require.Equal(t, "problem\n", stderr)
}

func TestExitCodes(t *testing.T) {
	t.Setenv(testenv.PostgresVariable, "postgres://given")
	t.Setenv(testenv.RedisVariable, "redis://given")
	code, _, _ := output(t, "", "sh", "-c", "kill -9 $$")
	require.Equal(t, 128+9, code)
	code, _, stderr := output(t, "", "no-such-command-anywhere")
	require.Equal(t, 127, code)
	require.Contains(t, stderr, "no-such-command-anywhere")
	code, _, stderr = output(t, "")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "usage")
}

func TestSignalsArePassedOn(t *testing.T) {
	t.Parallel()
	executable, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), executable, "sh", "-c",
		`sleep 1000 & trap 'kill $!; exit 42' TERM; echo ready; wait`)
	cmd.Env = append(os.Environ(), asCommand+"=1",
		testenv.PostgresVariable+"=postgres://given", testenv.RedisVariable+"=redis://given")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	require.Equal(t, 42, cmd.ProcessState.ExitCode())
}
