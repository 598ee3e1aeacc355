package project_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/project"
)

// git runs git without the machine's configuration.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
}

// repository makes a repository with one commit and, if given, the remote origin.
func repository(t *testing.T, dir, remote string) string {
	t.Helper()
	mkdir(t, dir)
	git(t, dir, "init", "-q")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	if remote != "" {
		git(t, dir, "remote", "add", "origin", remote)
	}
	return dir
}

func mkdir(t *testing.T, elems ...string) string {
	t.Helper()
	dir := filepath.Join(elems...)
	require.NoError(t, os.MkdirAll(dir, 0o750))
	return dir
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
}

func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

func resolve(t *testing.T, dir string) project.Project {
	t.Helper()
	p, err := project.Resolve(dir)
	require.NoError(t, err)
	require.Regexp(t, `^p_[0-9a-f]{32}$`, p.ID)
	return p
}

func TestRemoteIsTheSameHoweverItIsReached(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	first := resolve(t, repository(t, filepath.Join(base, "first"), "https://github.com/Acme/Shop.git"))
	require.Equal(t, project.FromRemote, first.Source)
	require.Equal(t, "remote:github.com/acme/shop", first.Identity)
	require.Equal(t, "Acme/Shop", first.Name)
	require.Equal(t, filepath.Join(base, "first"), first.Root)

	deep := mkdir(t, repository(t, filepath.Join(base, "second"), "git@GitHub.com:acme/shop"), "a", "b")
	got := resolve(t, deep)
	require.Equal(t, first.ID, got.ID)
	require.Equal(t, filepath.Join(base, "second"), got.Root)
}

func TestWorktreeLinkAndDeletedDirectoryBelongToTheirRepository(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	main := repository(t, filepath.Join(base, "shop"), "")
	want := resolve(t, main)
	require.Equal(t, project.FromGitDir, want.Source)
	require.Equal(t, "shop", want.Name)

	tree := filepath.Join(base, "elsewhere", "tree")
	git(t, main, "worktree", "add", "-q", tree)
	got := resolve(t, mkdir(t, tree, "api"))
	require.Equal(t, want.ID, got.ID)
	require.Equal(t, "shop", got.Name)
	require.Equal(t, tree, got.Root)

	link := filepath.Join(base, "link")
	require.NoError(t, os.Symlink(mkdir(t, main, "api"), link))
	require.Equal(t, want.ID, resolve(t, link).ID)

	require.Equal(t, want.ID, resolve(t, filepath.Join(link, "gone", "deeper")).ID)
	require.Equal(t, want.ID, resolve(t, filepath.Join(main, ".git", "refs")).ID)
}

func TestCloneOfALocalRepositoryIsThatProject(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	main := repository(t, filepath.Join(base, "shop"), "")
	git(t, base, "clone", "-q", main, "copy")
	git(t, base, "clone", "-q", "copy", "copy2")
	git(t, base, "clone", "-q", "--bare", main, "mirror.git")
	want := resolve(t, main)
	for _, name := range []string{"copy", "copy2", "mirror.git"} {
		require.Equal(t, want.ID, resolve(t, filepath.Join(base, name)).ID, name)
	}

	git(t, main, "remote", "add", "origin", "ssh://git@example.org:2222/acme/shop.git")
	require.Equal(t, "remote:example.org/acme/shop", resolve(t, filepath.Join(base, "copy2")).Identity)
}

func TestRemotesThatNameEachOtherEnd(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	a := repository(t, filepath.Join(base, "a"), filepath.Join(base, "b"))
	repository(t, filepath.Join(base, "b"), filepath.Join(base, "a"))
	require.Equal(t, project.FromGitDir, resolve(t, a).Source)
}

func TestSubmoduleIsItsOwnProject(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	lib := repository(t, filepath.Join(base, "lib"), "")
	main := repository(t, filepath.Join(base, "shop"), "https://example.org/acme/shop")
	git(t, main, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "vendor/lib")
	sub := filepath.Join(main, "vendor", "lib")
	got := resolve(t, sub)
	require.Equal(t, sub, got.Root)
	require.Equal(t, resolve(t, lib).ID, got.ID)
	require.NotEqual(t, resolve(t, main).ID, got.ID)

	git(t, sub, "remote", "set-url", "origin", "git@example.org:acme/lib.git")
	require.Equal(t, "remote:example.org/acme/lib", resolve(t, sub).Identity)
}

func TestEqualNamesAreDifferentProjects(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	ids := map[string]bool{}
	for _, dir := range []string{
		mkdir(t, repository(t, filepath.Join(base, "one"), ""), "api"),
		mkdir(t, repository(t, filepath.Join(base, "two"), ""), "api"),
		mkdir(t, base, "plain", "api"),
		filepath.Join(base, "gone", "api"),
	} {
		ids[resolve(t, dir).ID] = true
	}
	require.Len(t, ids, 4)
	plain := resolve(t, filepath.Join(base, "plain", "api"))
	require.Equal(t, project.FromPath, plain.Source)
	require.Equal(t, "api", plain.Name)
}

func TestOverrideNamesTheProject(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	main := repository(t, filepath.Join(base, "one"), "https://example.org/acme/one")
	write(t, main, ".kiroku.toml", "project = \" Shop \"\nsubprojects = [\"services/api\", \"services/api/v2/\", 'web']\n")
	other := mkdir(t, base, "two")
	write(t, other, ".kiroku.toml", "project = \"shop\"\n[subprojects]\npaths = [\"web\"]\n")

	shop := resolve(t, main)
	require.Equal(t, project.FromOverride, shop.Source)
	require.Equal(t, "Shop", shop.Name)
	require.Equal(t, main, shop.Root)
	require.Equal(t, shop.ID, resolve(t, mkdir(t, main, "docs")).ID)
	require.Equal(t, shop.ID, resolve(t, mkdir(t, other, "x")).ID)

	api := resolve(t, mkdir(t, main, "services", "api", "cmd"))
	require.Equal(t, "Shop/services/api", api.Name)
	require.Equal(t, filepath.Join(main, "services", "api"), api.Root)
	require.Equal(t, main, api.Repository)
	require.Equal(t, "Shop/services/api/v2", resolve(t, mkdir(t, main, "services", "api", "v2")).Name)
	require.Equal(t, shop.ID, resolve(t, mkdir(t, main, "services", "apis")).ID)
	require.Equal(t, resolve(t, mkdir(t, main, "web")).ID, resolve(t, mkdir(t, other, "web")).ID)
}

func TestSubprojectsOfARemoteCountFromTheTopOfTheRepository(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	main := repository(t, filepath.Join(base, "one"), "https://example.org/acme/shop")
	write(t, mkdir(t, main, "services"), ".kiroku.toml", "subprojects = [\"api\"]")
	got := resolve(t, mkdir(t, main, "services", "api"))
	require.Equal(t, "remote:example.org/acme/shop#services/api", got.Identity)
	require.Equal(t, "acme/shop/services/api", got.Name)
	require.Equal(t, project.FromRemote, got.Source)
	require.Equal(t, "remote:example.org/acme/shop", resolve(t, mkdir(t, main, "services", "web")).Identity)
}

func TestBrokenOverrideIsNamedAndIgnored(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"syntax":   "project = ",
		"name":     "project = 7",
		"control":  "project = \"a\\u0007\"",
		"too long": "project = \"" + strings.Repeat("x", 300) + "\"",
		"absolute": "subprojects = [\"/etc\"]",
		"escape":   "subprojects = [\"../other\"]",
		"scalar":   "subprojects = \"api\"",
		"huge":     "# " + strings.Repeat("x", 70<<10),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			main := repository(t, filepath.Join(tempDir(t), "one"), "https://example.org/acme/shop")
			write(t, main, ".kiroku.toml", content)
			got := resolve(t, main)
			require.Equal(t, "remote:example.org/acme/shop", got.Identity)
			require.Contains(t, got.Problem, ".kiroku.toml")
		})
	}
}

func TestOverrideOfAnotherUserCountsOnlyInsideTheRepository(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give a file away")
	}
	base := tempDir(t)
	write(t, base, ".kiroku.toml", `project = "trap"`)
	require.NoError(t, os.Chown(filepath.Join(base, ".kiroku.toml"), 65534, 65534))
	require.Equal(t, project.FromPath, resolve(t, mkdir(t, base, "plain")).Source)

	main := repository(t, filepath.Join(base, "repo"), "")
	write(t, main, ".kiroku.toml", `project = "ours"`)
	require.NoError(t, os.Chown(filepath.Join(main, ".kiroku.toml"), 65534, 65534))
	require.Equal(t, "ours", resolve(t, main).Name)
}

func TestBrokenGitFilesAreNoRepository(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(dir string){
		"empty directory": func(dir string) { mkdir(t, dir, ".git") },
		"dangling file":   func(dir string) { write(t, dir, ".git", "gitdir: /nowhere\n") },
		"garbage file":    func(dir string) { write(t, dir, ".git", "hello") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			prepare(dir)
			require.Equal(t, project.FromPath, resolve(t, dir).Source)
		})
	}
}

func TestResolveNeedsAnAbsolutePath(t *testing.T) {
	t.Parallel()
	_, err := project.Resolve("")
	require.ErrorIs(t, err, project.ErrNoDirectory)
	_, err = project.Resolve("relative")
	require.Error(t, err)
}
