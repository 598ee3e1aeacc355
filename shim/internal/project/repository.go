package project

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxGitFile bounds what is read of a git file that should be one line.
const maxGitFile = 8 << 10

// repository is a git repository found on disk.
type repository struct {
	// root is the top of the working tree; of a bare repository the git directory.
	root string
	// common is the git directory that all worktrees share.
	common string
}

// findRepository walks up from dir to the nearest repository.
func findRepository(dir string) (repository, bool) {
	for at := dir; ; at = filepath.Dir(at) {
		if repo, ok := repositoryAt(at); ok {
			return repo, true
		}
		if filepath.Dir(at) == at {
			return repository{}, false
		}
	}
}

func repositoryAt(dir string) (repository, bool) {
	dotGit := filepath.Join(dir, ".git")
	info, err := os.Stat(dotGit)
	switch {
	case err == nil && info.IsDir():
		if isGitDir(dotGit) {
			return repository{root: dir, common: realPath(dotGit)}, true
		}
	case err == nil && info.Mode().IsRegular():
		return linkedRepository(dir, dotGit)
	}
	if isGitDir(dir) && isDir(filepath.Join(dir, "objects")) {
		root := dir
		if filepath.Base(dir) == ".git" {
			root = filepath.Dir(dir)
		}
		return repository{root: root, common: realPath(dir)}, true
	}
	return repository{}, false
}

// linkedRepository follows the .git file of a worktree or a submodule. A worktree leads on to
// the common directory, a submodule has its own.
func linkedRepository(dir, file string) (repository, bool) {
	target, ok := strings.CutPrefix(readLine(file), "gitdir:")
	if !ok {
		return repository{}, false
	}
	gitDir := relativeTo(dir, strings.TrimSpace(target))
	if !isGitDir(gitDir) {
		return repository{}, false
	}
	common := gitDir
	if link := readLine(filepath.Join(gitDir, "commondir")); link != "" {
		common = relativeTo(gitDir, link)
	}
	return repository{root: dir, common: realPath(common)}, true
}

// isGitDir looks for what every git directory has, worktrees' private ones included.
func isGitDir(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, "HEAD"))
	if err != nil || info.IsDir() {
		return false
	}
	return isDir(filepath.Join(dir, "refs")) || readLine(filepath.Join(dir, "commondir")) != ""
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func relativeTo(base, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// readLine returns the first line of a small regular file, "" when there is none.
func readLine(file string) string {
	data := readSmall(file, maxGitFile)
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}

// readSmall reads at most limit bytes of a regular file; a pipe in its place would block.
func readSmall(file string, limit int64) []byte {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(file) //nolint:gosec // a file of a repository, read with the user's own rights
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil
	}
	return data
}

// maxHops bounds how many local clones of clones are followed.
const maxHops = 5

// identityRemote is the remote that names the project: the repository's own or, when it was
// cloned from a directory of this machine, that repository's.
func (r repository) identityRemote() (remote, bool) {
	for range maxHops {
		url, ok := mainRemote(r.config())
		if !ok {
			return remote{}, false
		}
		if named, ok := parseRemote(url); ok {
			return named, true
		}
		next, ok := r.upstream(url)
		if !ok {
			return remote{}, false
		}
		r = next
	}
	return remote{}, false
}

// origin is the git directory at the end of the chain of local clones.
func (r repository) origin() string {
	for range maxHops {
		url, ok := mainRemote(r.config())
		if !ok {
			break
		}
		next, ok := r.upstream(url)
		if !ok || next.common == r.common {
			break
		}
		r = next
	}
	return r.common
}

// upstream opens the repository that a remote names by a path of this machine.
func (r repository) upstream(url string) (repository, bool) {
	path, ok := localRemote(url)
	if !ok {
		return repository{}, false
	}
	dir := realPath(relativeTo(r.root, path))
	for _, candidate := range []string{dir, dir + ".git"} {
		if repo, ok := repositoryAt(candidate); ok {
			return repo, true
		}
	}
	return repository{}, false
}

func (r repository) config() []byte {
	return readSmall(filepath.Join(r.common, "config"), maxConfig)
}
