//go:build unix

package relayserver_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/relayserver"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

// runChild is a relay that ends when its stdin does.
func runChild(dir string) int {
	paths := rundir.Paths{Runtime: dir}
	lock, err := relayserver.Acquire(paths)
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	err = relayserver.Serve(ctx, paths, lock, accept, relayserver.Options{Ready: func() { fmt.Println("ready") }})
	if err != nil {
		return 1
	}
	return 0
}

func TestInheritedLockNeverLetsGo(t *testing.T) {
	t.Parallel()
	paths := privatePaths(t)
	require.NoError(t, rundir.Ensure(paths.Runtime))
	lock, err := relayserver.Acquire(paths)
	require.NoError(t, err)
	file := relayserver.FileOf(lock)

	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childMode+"="+paths.Runtime, rundir.EnvLockFD+"=3")
	child.ExtraFiles = []*os.File{file}
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	require.NoError(t, lock.Close())

	ready := make([]byte, len("ready\n"))
	_, err = io.ReadFull(stdout, ready)
	require.NoError(t, err)
	require.Equal(t, "ready\n", string(ready))

	_, err = relayserver.Acquire(paths)
	require.ErrorIs(t, err, relayserver.ErrRunning)
	require.ErrorContains(t, err, strconv.Itoa(child.Process.Pid))
	require.Equal(t, frame.Accepted, exchange(t, paths, frame.Request{}).Status)

	require.NoError(t, stdin.Close())
	require.NoError(t, child.Wait())
	lock, err = relayserver.Acquire(paths)
	require.NoError(t, err)
	require.NoError(t, lock.Close())
}

func TestInheritedDescriptorMustBeTheLockFile(t *testing.T) {
	t.Parallel()
	paths := privatePaths(t)
	require.NoError(t, rundir.Ensure(paths.Runtime))
	stray, err := os.CreateTemp(t.TempDir(), "precious")
	require.NoError(t, err)
	_, err = stray.WriteString("content")
	require.NoError(t, err)

	for _, value := range []string{"3", "1", "x"} {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childMode+"="+paths.Runtime, rundir.EnvLockFD+"="+value)
		child.ExtraFiles = []*os.File{stray}
		out, err := child.Output()
		require.Error(t, err)
		require.Contains(t, string(out), "not the relay's lock file")
	}
	content, err := os.ReadFile(stray.Name())
	require.NoError(t, err)
	require.Equal(t, "content", string(content))
}

func TestStaleSocketOfAKilledRelayIsReplaced(t *testing.T) {
	t.Parallel()
	paths := privatePaths(t)
	require.NoError(t, rundir.Ensure(paths.Runtime))
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: paths.Socket(), Net: "unix"})
	require.NoError(t, err)
	dead.SetUnlinkOnClose(false)
	require.NoError(t, dead.Close())
	require.FileExists(t, paths.Socket())

	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childMode+"="+paths.Runtime)
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	_, err = io.ReadFull(stdout, make([]byte, len("ready\n")))
	require.NoError(t, err)
	require.Equal(t, frame.Accepted, exchange(t, paths, frame.Request{}).Status)
	require.NoError(t, stdin.Close())
	require.NoError(t, child.Wait())
}

func TestServingNeedsTheLock(t *testing.T) {
	t.Parallel()
	require.Error(t, relayserver.Serve(t.Context(), privatePaths(t), nil, accept, relayserver.Options{}))
}
