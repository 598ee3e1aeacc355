// Command kiroku is the developer's side of the team's memory: the relay that hooks talk to,
// and what a person asks of it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
)

// version is set when the program is built.
var version = "dev"

// Exit codes: 0 all is well, 1 the command failed or found something wrong, 2 wrong usage.
const (
	exitFailed = 1
	exitUsage  = 2
)

// errUsage means that the command line was wrong; the message has been printed.
var errUsage = errors.New("wrong usage")

// errFound means that the command worked and what it found is not well.
var errFound = errors.New("not well")

// streams are the standard streams.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// command is one subcommand.
type command struct {
	name, args, help string
	run              func(ctx context.Context, s streams, args []string) error
}

func commands() []command {
	return []command{
		{"relay", "", "serve hooks; hooks start it by themselves", runRelay},
		{"install", "[flags] <agent>", "put the hooks into an agent's configuration", runInstall},
		{"uninstall", "[flags] <agent>", "take them out again", runUninstall},
		{"status", "[--json]", "show the relay, its queue and the agents in one screen", runStatus},
		{"doctor", "[--json]", "find out what is wrong and how to mend it", runDoctor},
		{"search", "[flags] <query>", "search the project's records", runSearch},
		{"context", "[flags] <prompt>", "show what a prompt would get", runContext},
		{"project", "[--json] [directory]", "show which project a directory belongs to, and why", runProject},
		{"replay", "[flags] <recording>", "play recorded hooks through the real hook program", runReplay},
		{"version", "", "print the version", runVersion},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, streams{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes a command line and returns the exit code.
func run(ctx context.Context, s streams, args []string) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage(s.out)
		return 0
	}
	for _, c := range commands() {
		if c.name != args[0] && "--"+c.name != args[0] {
			continue
		}
		switch err := c.run(ctx, s, args[1:]); {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return 0
		case errors.Is(err, errUsage):
			return exitUsage
		case errors.Is(err, errFound):
			return exitFailed
		default:
			_, _ = fmt.Fprintf(s.err, "kiroku %s: %v\n", c.name, err)
			return exitFailed
		}
	}
	_, _ = fmt.Fprintf(s.err, "kiroku: unknown command %q\n\n", args[0])
	usage(s.err)
	return exitUsage
}

func usage(w io.Writer) {
	_, _ = fmt.Fprint(w, "kiroku is the shared memory of a team's coding agents.\n\nUsage: kiroku <command>\n\n")
	for _, c := range commands() {
		_, _ = fmt.Fprintf(w, "  %-36s %s\n", c.name+" "+c.args, c.help)
	}
}

// newFlags makes the flags of a subcommand; errors go to the person, not to the process.
func newFlags(s streams, name string) *flag.FlagSet {
	flags := flag.NewFlagSet("kiroku "+name, flag.ContinueOnError)
	flags.SetOutput(s.err)
	flags.Usage = func() {
		for _, c := range commands() {
			if c.name == name {
				_, _ = fmt.Fprintf(s.err, "Usage: kiroku %s\n", strings.TrimSpace(c.name+" "+c.args))
			}
		}
		flags.PrintDefaults()
	}
	return flags
}

// parse reads flags and checks how many arguments follow them.
func parse(s streams, flags *flag.FlagSet, args []string, least, most int) error {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage
	}
	if n := flags.NArg(); n < least || n > most {
		_, _ = fmt.Fprintf(s.err, "%s: wrong number of arguments\n", flags.Name())
		flags.Usage()
		return errUsage
	}
	return nil
}

func runVersion(_ context.Context, s streams, args []string) error {
	if err := parse(s, newFlags(s, "version"), args, 0, 0); err != nil {
		return err
	}
	_, err := fmt.Fprintln(s.out, "kiroku "+buildVersion())
	return err
}

// buildVersion is the version that was built in, or that of the module.
func buildVersion() string {
	if version != "dev" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return version
}
