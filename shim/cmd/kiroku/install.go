package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/kiroku-dev/kiroku/shim/internal/install"
)

func runInstall(ctx context.Context, s streams, args []string) error {
	return changeHooks(ctx, s, "install", args, install.PlanInstall)
}

func runUninstall(ctx context.Context, s streams, args []string) error {
	return changeHooks(ctx, s, "uninstall", args, install.PlanUninstall)
}

func changeHooks(_ context.Context, s streams, name string, args []string, planner func(install.Request) (install.Plan, error)) error {
	flags := newFlags(s, name)
	user := flags.Bool("user", false, "in the person's configuration")
	inProject := flags.Bool("project", false, "in the configuration of this directory's project")
	agentFile := flags.String("agent", "", "Kiro CLI: name of the agent file that gets the hooks (default \"kiroku\")")
	hook := flags.String("hook", "", "path of kiroku-hook; beside this program or on PATH when empty")
	dryRun := flags.Bool("dry-run", false, "show what would change, change nothing")
	yes := flags.Bool("yes", false, "do not ask")
	// The agent may stand before the flags, as people write it.
	agents := []string{}
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		agents, args = append(agents, args[0]), args[1:]
	}
	if err := parse(s, flags, args, max(0, 1-len(agents)), 1-min(1, len(agents))); err != nil {
		return err
	}
	agents = append(agents, flags.Args()...)
	if len(agents) != 1 || *user && *inProject || strings.ContainsAny(*agentFile, `/\`) {
		_, _ = fmt.Fprintf(s.err, "want one of %s, in one scope\n", strings.Join(install.Agents(), ", "))
		return errUsage
	}
	request, err := hookRequest(agents[0], *hook)
	if err != nil {
		return err
	}
	request.AgentFile = *agentFile
	switch {
	case *user:
		request.Scope = install.User
	case *inProject:
		request.Scope = install.Project
	}
	plan, err := planner(request)
	if err != nil {
		return err
	}
	return carryOut(s, plan, *dryRun, *yes)
}

func hookRequest(agent, hook string) (install.Request, error) {
	self, err := os.Executable()
	if err != nil {
		return install.Request{}, err
	}
	if hook == "" {
		hook, err = findHook(self)
	} else {
		hook, err = filepath.Abs(hook)
	}
	if err != nil {
		return install.Request{}, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return install.Request{}, err
	}
	dir, err := os.Getwd()
	return install.Request{Agent: agent, Hook: hook, Home: home, Dir: dir}, err
}

func carryOut(s streams, plan install.Plan, dryRun, yes bool) error {
	if len(plan.Changes) == 0 {
		_, err := fmt.Fprintln(s.out, "nothing to change")
		return err
	}
	for _, c := range plan.Changes {
		describeChange(s.out, c)
	}
	if dryRun {
		return nil
	}
	if !yes && !agreed(s) {
		return errors.New("not agreed; nothing was changed (--yes does not ask)")
	}
	if err := plan.Apply(); err != nil {
		return err
	}
	for _, note := range plan.Notes {
		_, _ = fmt.Fprintln(s.out, note)
	}
	return nil
}

func agreed(s streams) bool {
	_, _ = fmt.Fprint(s.out, "Change these files? [y/N] ")
	line, err := bufio.NewReader(s.in).ReadString('\n')
	if err != nil {
		return false
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// describeChange shows the lines that differ, without those around them.
func describeChange(w io.Writer, c install.Change) {
	word := "change"
	switch {
	case c.Before == nil:
		word = "create"
	case c.After == nil:
		word = "remove"
	}
	_, _ = fmt.Fprintf(w, "%s %s\n", word, c.Path)
	before, after := bytes.SplitAfter(c.Before, []byte("\n")), bytes.SplitAfter(c.After, []byte("\n"))
	for len(before) > 0 && len(after) > 0 && bytes.Equal(before[0], after[0]) {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && bytes.Equal(before[len(before)-1], after[len(after)-1]) {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	for _, side := range []struct {
		sign  string
		lines [][]byte
	}{{"-", before}, {"+", after}} {
		for _, line := range side.lines {
			if text := strings.TrimRight(string(line), "\r\n"); text != "" {
				_, _ = fmt.Fprintf(w, "  %s %s\n", side.sign, text)
			}
		}
	}
}
