package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kiroku-dev/kiroku/shim/internal/project"
	"github.com/kiroku-dev/kiroku/shim/internal/relay"
)

func runProject(_ context.Context, s streams, args []string) error {
	flags := newFlags(s, "project")
	asJSON := flags.Bool("json", false, "print JSON")
	if err := parse(s, flags, args, 0, 1); err != nil {
		return err
	}
	found, err := resolveProject(flags.Arg(0), "")
	if err != nil {
		return err
	}
	if *asJSON {
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]string{
			"project_id": found.ID, "name": found.Name, "root": found.Root, "repository": found.Repository,
			"source": string(found.Source), "identity": found.Identity, "problem": found.Problem,
		})
	}
	_, err = fmt.Fprintf(s.out, "%s\n  id    %s\n  root  %s\n  why   %s\n", found.Name, found.ID, found.Root, why(found))
	if err == nil && found.Problem != "" {
		_, err = fmt.Fprintf(s.out, "  note  %s\n", found.Problem)
	}
	return err
}

// why says in words what a project's identity was taken from.
func why(p project.Project) string {
	words := map[project.Source]string{
		project.FromOverride: "it is named",
		project.FromRemote:   "git remote",
		project.FromGitDir:   "git directory without a remote",
		project.FromPath:     "directory outside of git",
	}
	return words[p.Source] + ": " + p.Identity
}

// resolveProject finds the project of a name, or of a directory; the working directory's when
// both are empty.
func resolveProject(dir, name string) (project.Project, error) {
	if name == "" {
		name = os.Getenv(relay.EnvProject)
	}
	if name != "" {
		return relay.NamedProject(name, dir), nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return project.Project{}, err
	}
	return project.Resolve(dir)
}

// projectFlag adds the flag that names a project.
func projectFlag(flags *flag.FlagSet) *string {
	return flags.String("project", "", "name of the project, as "+relay.EnvProject+" gives it; the directory's when empty")
}
