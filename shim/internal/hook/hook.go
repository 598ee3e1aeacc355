// Package hook is what a coding agent runs on each of its events: it takes one JSON value from
// standard input, hands it with the facts that die with the process to the relay, and prints
// what the relay answers.
//
// It is a guest in somebody's turn. Whatever happens, it ends within its budget, with exit code
// 0, and prints nothing but a whole answer. Starting the process is most of its cost, so what
// runs on every call uses no network, JSON, formatting or pattern package.
package hook

import (
	"os"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

// Settings are what the program is built with.
type Settings struct {
	// Version is the build version, sent to the relay.
	Version string
	// Scrub removes what must not rest on disk; it is used only when the event is spooled.
	Scrub func([]byte) []byte
}

// Run handles one hook call. It returns when nothing is left to do, never with a panic; the
// caller exits with status 0, because every other status blocks some agent.
func Run(settings Settings) {
	started := time.Now()
	// A panic must end as silence: the runtime's own exit status 2 blocks the user's prompt.
	defer func() { _ = recover() }()
	if isSet(rundir.EnvInHook) || isSet(rundir.EnvDisable) {
		return
	}
	args := os.Args[min(1, len(os.Args)):]
	stop := onSignals()
	in := readStdin(args, stop)
	request := newRequest(args, in, started)
	request.Version = settings.Version

	paths := rundir.FromEnvironment()
	answer, taken := deliver(&request, paths, deadline(started, time.Now(), request.Has(frame.Waiting), len(in.payload)), stop)
	if !taken {
		deposit(&request, paths.SpoolDirs(), settings.Scrub)
		return
	}
	if len(answer.Stdout) > 0 {
		printAnswer(answer.Stdout)
	}
}

func readStdin(args []string, stop func() bool) input {
	src, ok := openStdin(stop)
	if !ok {
		return input{}
	}
	l := defaultLimits()
	if len(args) > 0 && args[0] == "kiro-ide" && (len(args) > 1 || os.Getenv(promptVar) != "") {
		l.first = silentStdin
	}
	return readInput(src, l, time.Now)
}

func newRequest(args []string, in input, started time.Time) frame.Request {
	event := in.event
	if event == "" && len(args) > 1 {
		event = args[1]
	}
	r := frame.Request{
		Argv:         args,
		Env:          agentFacts(os.Environ()),
		Dir:          workingDir(),
		PID:          os.Getpid(),
		PPID:         os.Getppid(),
		Time:         started,
		Event:        event,
		Flags:        in.flags,
		OriginalSize: in.size,
		Digest:       in.digest,
		Payload:      in.payload,
	}
	if wantsContext(event) {
		r.Flags |= frame.Waiting
	}
	return r
}
