// Package install puts our hook into the configuration of coding agents and takes it out again.
//
// It plans first and writes later: a plan is a list of files with their bytes before and after,
// which a person can look at. Only our own entries are touched; a file that cannot be
// understood is refused, with the place, and stays as it is.
package install

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Scope says whose configuration is changed.
type Scope string

// The scopes. The zero value is what suits the agent best.
const (
	DefaultScope Scope = ""
	User         Scope = "user"
	Project      Scope = "project"
)

// Request is what to install, or to remove.
type Request struct {
	// Agent is a surface: "claude-code", "kiro-cli" or "kiro-ide".
	Agent string
	// Hook is the absolute path of kiroku-hook.
	Hook string
	// Home and Dir are the person's home and the project's directory, absolute.
	Home, Dir string
	// Scope is where.
	Scope Scope
	// AgentFile is the name of the Kiro agent that gets the hooks; "kiroku" when empty.
	AgentFile string
	// OS is the operating system whose command lines are written; that of the build when empty.
	OS string
}

// Change is one file of a plan.
type Change struct {
	Path string
	// Before is nil for a file that is not there, After for one that is removed.
	Before, After []byte
}

// Plan is what an installation would do. It is empty when everything is as it should be.
type Plan struct {
	Changes []Change
	// Notes are for the person, after the changes are made.
	Notes []string
}

// ErrAgent means an agent that there is no installer for.
var ErrAgent = errors.New("no installer for this agent")

// installer is one agent's side of the matter.
type installer struct {
	// scope is the default one.
	scope Scope
	// files lists the files to change in a scope.
	files func(Request) []target
	// notes tells what else to do.
	notes func(Request) []string
}

// target is one file and how to change it. Each function gets the present bytes, nil for none,
// and returns the new ones, nil for no file.
type target struct {
	path               string
	install, uninstall func(before []byte) ([]byte, error)
}

// Agents lists the agents that can be installed.
func Agents() []string { return []string{"claude-code", "kiro-cli", "kiro-ide"} }

func installerOf(agent string) (installer, error) {
	switch agent {
	case "claude-code":
		return claudeCode, nil
	case "kiro-cli":
		return kiroCLI, nil
	case "kiro-ide":
		return kiroIDE, nil
	}
	return installer{}, fmt.Errorf("%w: %q; there are %s", ErrAgent, agent, strings.Join(Agents(), ", "))
}

// PlanInstall plans to install. Done twice, the second plan is empty.
func PlanInstall(r Request) (Plan, error) {
	return plan(r, func(t target) func([]byte) ([]byte, error) { return t.install })
}

// PlanUninstall plans to remove what an installation of the same scope added.
func PlanUninstall(r Request) (Plan, error) {
	p, err := plan(r, func(t target) func([]byte) ([]byte, error) { return t.uninstall })
	p.Notes = nil
	return p, err
}

func plan(r Request, edit func(target) func([]byte) ([]byte, error)) (Plan, error) {
	agent, err := installerOf(r.Agent)
	if err != nil {
		return Plan{}, err
	}
	if r.Scope == DefaultScope {
		r.Scope = agent.scope
	}
	if r.OS == "" {
		r.OS = runtime.GOOS
	}
	p := Plan{Notes: agent.notes(r)}
	for _, t := range agent.files(r) {
		before, err := os.ReadFile(t.path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return Plan{}, err
		}
		if errors.Is(err, os.ErrNotExist) {
			before = nil
		} else if before == nil {
			before = []byte{}
		}
		after, err := edit(t)(before)
		if err != nil {
			return Plan{}, fmt.Errorf("%s: %w", t.path, err)
		}
		if !bytes.Equal(before, after) || (before == nil) != (after == nil) {
			p.Changes = append(p.Changes, Change{Path: t.path, Before: before, After: after})
		}
	}
	return p, nil
}

// root is the directory that a scope's files lie in.
func (r Request) root() string {
	if r.Scope == User {
		return r.Home
	}
	return r.Dir
}

// Apply makes the changes, each in one step. A file that changed since the plan is refused.
func (p Plan) Apply() error {
	for _, c := range p.Changes {
		if err := c.apply(); err != nil {
			return fmt.Errorf("%s: %w", c.Path, err)
		}
	}
	return nil
}

// ErrChanged means that somebody else wrote the file since it was read.
var ErrChanged = errors.New("the file has changed meanwhile; try again")

func (c Change) apply() error {
	now, err := os.ReadFile(c.Path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if (err == nil) != (c.Before != nil) || !bytes.Equal(now, c.Before) {
		return ErrChanged
	}
	if c.After == nil {
		return os.Remove(c.Path)
	}
	path, mode := c.Path, os.FileMode(0o644)
	// A link stays a link: what it points to is replaced.
	if real, err := filepath.EvalSymlinks(c.Path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // agents' directories are like that
		return err
	}
	return replace(path, c.After, mode)
}

func replace(path string, data []byte, mode os.FileMode) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".kiroku-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(mode), temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
