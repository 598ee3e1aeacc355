package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/kiroku-dev/kiroku/services/internal/privatestore"
	"github.com/kiroku-dev/kiroku/services/internal/testenv"
)

// Exit codes for what goes wrong before the command says anything, as shells
// use them.
const (
	codeFailed   = 1
	codeUsage    = 2
	codeNotFound = 127
	codeSignal   = 128 // plus the signal's number
)

func run(args []string, std streams) int {
	if len(args) == 0 {
		_, _ = fmt.Fprintln(std.err, "usage: withservers command [argument ...]")
		return codeUsage
	}
	// Caught before anything is started: what arrives from here on is passed on.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)

	servers, err := startServers()
	if err != nil {
		_, _ = fmt.Fprintln(std.err, "withservers:", err)
		return codeFailed
	}
	code := runCommand(args, servers, signals, std)
	if err := servers.stop(); err != nil {
		_, _ = fmt.Fprintln(std.err, "withservers:", err)
		code = max(code, codeFailed)
	}
	return code
}

// servers are those that we started, if any.
type servers struct {
	stores *privatestore.Stores
	dir    string
}

func startServers() (servers, error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "kiroku-test-")
	if err != nil {
		return servers{}, err
	}
	stores, err := privatestore.Start(ctx, privatestore.Config{
		DataDir:      dir,
		NeedPostgres: os.Getenv(testenv.PostgresVariable) == "",
		NeedRedis:    os.Getenv(testenv.RedisVariable) == "",
		FastUnsafe:   true,
	})
	if err != nil {
		return servers{}, errors.Join(err, os.RemoveAll(dir))
	}
	return servers{stores: stores, dir: dir}, nil
}

func (s servers) stop() error {
	return errors.Join(s.stores.Stop(context.Background()), os.RemoveAll(s.dir))
}

// environment is ours with the URLs of what we started.
func (s servers) environment() []string {
	env := os.Environ()
	if url := s.stores.PostgresURL(); url != "" {
		env = append(env, testenv.PostgresVariable+"="+url)
	}
	if url := s.stores.RedisURL(); url != "" {
		env = append(env, testenv.RedisVariable+"="+url)
	}
	return env
}

func runCommand(args []string, s servers, signals <-chan os.Signal, std streams) int {
	cmd := exec.Command(args[0], args[1:]...) // for as long as it likes
	cmd.Env = s.environment()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std.in, std.out, std.err
	if err := cmd.Start(); err != nil {
		_, _ = fmt.Fprintln(std.err, "withservers:", err)
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return codeNotFound
		}
		return codeFailed
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			// It fails only when the command has ended, which we hear next.
			_ = cmd.Process.Signal(sig)
		case err := <-s.stores.Failed():
			// The command will fail too; this says why.
			_, _ = fmt.Fprintln(std.err, "withservers:", err)
		case err := <-ended:
			return exitCode(err, std)
		}
	}
}

// exitCode turns the result of a command into the code that a shell would give.
func exitCode(err error, std streams) int {
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		_, _ = fmt.Fprintln(std.err, "withservers:", err)
		return codeFailed
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return codeSignal + int(status.Signal())
	}
	return exit.ExitCode()
}
