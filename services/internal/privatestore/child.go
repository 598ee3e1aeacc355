package privatestore

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// pollInterval is how often a condition is looked at that nobody announces.
	pollInterval = 20 * time.Millisecond
	// outputPatience bounds the wait for output that grandchildren hold open
	// after the child itself has ended.
	outputPatience = time.Second
)

// program is a server to start.
type program struct {
	name string // for people
	path string
	args []string
	dir  string
	// shutdown are the signals that end it, mildest first. The first is also
	// what it gets when we die.
	shutdown []shutdownStep
}

// shutdownStep is a signal and how long it may take to work.
type shutdownStep struct {
	signal syscall.Signal
	wait   time.Duration
}

// child is a running server.
type child struct {
	name     string
	cmd      *exec.Cmd
	log      *logFile
	shutdown []shutdownStep
	exited   chan struct{}
	exitErr  error // valid once exited is closed
}

func startChild(l *launcher, spec program, acc account, logPath string) (*child, error) {
	log, err := openLog(logPath)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path:        spec.path,
		Args:        append([]string{spec.path}, spec.args...),
		Dir:         spec.dir,
		Env:         childEnvironment(),
		Stdout:      log,
		Stderr:      log,
		SysProcAttr: acc.attributes(),
		WaitDelay:   outputPatience,
	}
	setDeathSignal(cmd.SysProcAttr, spec.shutdown[0].signal)
	if err := l.start(cmd); err != nil {
		log.close()
		return nil, fmt.Errorf("start %s: %w", spec.name, err)
	}
	c := &child{name: spec.name, cmd: cmd, log: log, shutdown: spec.shutdown, exited: make(chan struct{})}
	go c.wait()
	return c, nil
}

func (c *child) wait() {
	c.exitErr = c.cmd.Wait()
	c.log.close()
	close(c.exited)
}

func (c *child) pid() int {
	return c.cmd.Process.Pid
}

// status is the exit status of a child that has ended.
func (c *child) status() string {
	return c.cmd.ProcessState.String()
}

// unexpectedExit describes the end of a child that nobody asked to end.
func (c *child) unexpectedExit() error {
	return fmt.Errorf("%s ended by itself (%s); its last log lines: %s",
		c.name, c.status(), strings.Join(c.log.lastLines(), " | "))
}

// stop goes through the shutdown steps until the child has ended. When ctx is
// done the first step is cut short, the others keep their time: force without
// any patience would leave a server's own children behind.
func (c *child) stop(ctx context.Context) error {
	cut := ctx.Done()
	for _, step := range c.shutdown {
		// An error means that it has ended, which the wait finds out.
		_ = c.cmd.Process.Signal(step.signal)
		timer := time.NewTimer(step.wait)
		select {
		case <-c.exited:
		case <-timer.C:
		case <-cut:
			cut = nil
		}
		timer.Stop()
		if c.hasExited() {
			return nil
		}
	}
	return fmt.Errorf("%s, process %d, does not end", c.name, c.pid())
}

func (c *child) hasExited() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// waitReady calls probe until it succeeds. It gives up when the child ends,
// when ctx is done, or when probe says that waiting is no use.
func (c *child) waitReady(ctx context.Context, probe func(context.Context) (retry bool, err error)) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		retry, err := probe(ctx)
		if err == nil {
			return nil
		}
		if c.hasExited() {
			return c.unexpectedExit()
		}
		if !retry {
			return fmt.Errorf("%s does not accept us: %w", c.name, err)
		}
		select {
		case <-c.exited:
			return c.unexpectedExit()
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w (%w)", c.name, err, ctx.Err())
		case <-ticker.C:
		}
	}
}

// childEnvironment keeps our own settings from the servers, PG* and locale
// variables above all.
func childEnvironment() []string {
	env := []string{"LC_ALL=C"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
