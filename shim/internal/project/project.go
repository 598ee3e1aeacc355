// Package project decides which project a directory belongs to. Hook, MCP server and command
// line all ask here, so that what one writes the others find.
//
// The identity comes from the first of: a .kiroku.toml that names it, the normalised git
// remote, the repository's common git directory, the real path of the directory. Worktrees and
// clones of one repository are therefore one project, two directories that merely share a name
// are two. Git itself is never run and no program that a repository's configuration names.
package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Source says what the identity of a project was taken from.
type Source string

// The sources, strongest first.
const (
	FromOverride Source = "override"
	FromRemote   Source = "remote"
	FromGitDir   Source = "gitdir"
	FromPath     Source = "path"
)

// ErrNoDirectory means that there is nothing to resolve.
var ErrNoDirectory = errors.New("project: no directory given")

// Project is the answer for one directory.
type Project struct {
	// ID is "p_" and 32 hexadecimal digits: opaque, the same on every machine for overrides
	// and remotes, the machine's own for directories.
	ID string
	// Name is for people: "org/repo", perhaps with the sub-project's path behind it.
	Name string
	// Root is the top directory of the project as a real path; of a sub-project its own.
	Root string
	// Repository is the top of the working tree that Root lies in, "" outside of one.
	Repository string
	// Source tells what decided, and Identity is the text that ID is the hash of, for people
	// who ask why.
	Source   Source
	Identity string
	// Problem says what was ignored on the way, such as a .kiroku.toml that cannot be read.
	Problem string
}

// Resolve returns the project of a directory. The directory need not exist any more: what is
// left of its path decides then. The only errors are an empty and a relative path.
func Resolve(dir string) (Project, error) {
	if dir == "" {
		return Project{}, ErrNoDirectory
	}
	if !filepath.IsAbs(dir) {
		return Project{}, &os.PathError{Op: "resolve project of", Path: dir, Err: errors.New("not an absolute path")}
	}
	dir = realPath(dir)
	repo, inRepo := findRepository(dir)
	settings, problem := findOverride(dir, repo.root)
	base := dir
	if settings.dir != "" {
		// Outside of a repository the file marks the top of the project.
		base = settings.dir
	}
	p := identify(base, repo, inRepo)
	if sub, ok := settings.subproject(dir); ok {
		p.extend(filepath.Join(settings.dir, filepath.FromSlash(sub)), repo)
	}
	if settings.name != "" {
		p.override(settings, dir)
	}
	p.Repository = repo.root
	p.Problem = problem
	p.ID = idOf(p.Identity)
	return p, nil
}

// identify finds the identity without regard to .kiroku.toml.
func identify(dir string, repo repository, inRepo bool) Project {
	if !inRepo {
		return Project{Name: filepath.Base(dir), Root: dir, Source: FromPath, Identity: local("path", dir)}
	}
	if remote, ok := repo.identityRemote(); ok {
		return Project{Name: remote.name(), Root: repo.root, Source: FromRemote, Identity: "remote:" + remote.String()}
	}
	common := repo.origin()
	return Project{Name: repositoryName(common), Root: repo.root, Source: FromGitDir, Identity: local("gitdir", common)}
}

// extend makes the project that of the sub-project at dir. Its path counts from the top of the
// repository, so all clones agree on it. A declared directory that holds the whole repository
// changes nothing.
func (p *Project) extend(dir string, repo repository) {
	top := repo.root
	if top == "" {
		top = p.Root
	}
	within, ok := Rel(top, dir)
	if !ok || within == "." {
		return
	}
	p.Root = dir
	p.Identity += "#" + within
	p.Name += "/" + within
}

// override replaces identity and name by the declared name; a sub-project keeps its suffix.
func (p *Project) override(settings override, dir string) {
	p.Source = FromOverride
	p.Identity = "name:" + strings.ToLower(settings.name)
	p.Name = settings.name
	sub, ok := settings.subproject(dir)
	if !ok {
		p.Root = settings.dir
		return
	}
	p.Root = filepath.Join(settings.dir, filepath.FromSlash(sub))
	p.Identity += "#" + sub
	p.Name += "/" + sub
}

// local binds a path to this machine: /workspace of one container is not that of another.
func local(kind, name string) string {
	if runtime.GOOS == "windows" {
		name = strings.ToLower(filepath.ToSlash(name))
	}
	return kind + ":" + machine() + ":" + name
}

func idOf(identity string) string {
	sum := sha256.Sum256([]byte(identity))
	return "p_" + hex.EncodeToString(sum[:16])
}

// repositoryName is the directory's name of a repository given its git directory.
func repositoryName(gitDir string) string {
	if base := filepath.Base(gitDir); base != ".git" {
		return strings.TrimSuffix(base, ".git")
	}
	return filepath.Base(filepath.Dir(gitDir))
}

// realPath follows links in what exists of the path and keeps the rest, so that a deleted
// directory still falls into the repository that it was in.
func realPath(dir string) string {
	dir = filepath.Clean(dir)
	rest := ""
	for at := dir; ; {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(at)
		if parent == at {
			return dir
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = parent
	}
}
