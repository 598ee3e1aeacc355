package install_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/install"
)

func newRequest(t *testing.T, agent string) install.Request {
	t.Helper()
	base := t.TempDir()
	r := install.Request{Agent: agent, Hook: filepath.Join(base, "with space & $x", "kiroku-hook"), Home: filepath.Join(base, "home"), Dir: filepath.Join(base, "dir"), OS: "linux"}
	for _, dir := range []string{filepath.Dir(r.Hook), r.Home, r.Dir} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	return r
}

func apply(t *testing.T, planner func(install.Request) (install.Plan, error), r install.Request) install.Plan {
	t.Helper()
	plan, err := planner(r)
	require.NoError(t, err)
	require.NoError(t, plan.Apply())
	return plan
}

// tree returns all files below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		require.NoError(t, err)
		if !entry.IsDir() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			files[path] = string(data)
		}
		return nil
	}))
	return files
}

func TestInstallTwiceAndUninstallLeaveNoTrace(t *testing.T) {
	t.Parallel()
	for _, agent := range install.Agents() {
		for _, scope := range []install.Scope{install.DefaultScope, install.User, install.Project} {
			t.Run(agent+" "+string(scope), func(t *testing.T) {
				t.Parallel()
				r := newRequest(t, agent)
				r.Scope = scope
				require.NotEmpty(t, apply(t, install.PlanInstall, r).Changes)
				installed := tree(t, filepath.Dir(r.Home))
				require.NotEmpty(t, installed)
				require.Empty(t, apply(t, install.PlanInstall, r).Changes, "a second run changes nothing")
				apply(t, install.PlanUninstall, r)
				require.Empty(t, tree(t, filepath.Dir(r.Home)))
				require.Empty(t, apply(t, install.PlanUninstall, r).Changes)
			})
		}
	}
}

const theirs = `// kept by hand
{
	"model": "opus", // not sonnet
	"hooks": {
		"Stop": [
			{
				"matcher": "",
				"hooks": [{"type": "command", "command": "notify-send done"}]
			}
		],
		"Notification": []
	},
	"env": {"TOKEN": "x"},
}
`

func TestOthersEntriesCommentsModeAndLinkSurvive(t *testing.T) {
	t.Parallel()
	r := newRequest(t, "claude-code")
	dotfiles := filepath.Join(r.Home, "dotfiles", "claude.json")
	settings := filepath.Join(r.Home, ".claude", "settings.json")
	for _, dir := range []string{filepath.Dir(dotfiles), filepath.Dir(settings)} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	require.NoError(t, os.WriteFile(dotfiles, []byte(theirs), 0o600))
	require.NoError(t, os.Symlink(dotfiles, settings))

	apply(t, install.PlanInstall, r)
	after, err := os.ReadFile(dotfiles)
	require.NoError(t, err)
	for _, kept := range []string{"// kept by hand", "\"opus\", // not sonnet", "notify-send done", "\"Notification\": []", `"env": {"TOKEN": "x"},`} {
		require.Contains(t, string(after), kept)
	}
	require.Equal(t, 9, strings.Count(string(after), "kiroku-hook"))
	info, err := os.Lstat(settings)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink, "the link is still a link")
	info, err = os.Stat(dotfiles)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	apply(t, install.PlanUninstall, r)
	back, err := os.ReadFile(dotfiles)
	require.NoError(t, err)
	require.Equal(t, theirs, string(back))
}

func TestMovedProgramIsBroughtUpToDateInPlace(t *testing.T) {
	t.Parallel()
	r := newRequest(t, "claude-code")
	apply(t, install.PlanInstall, r)
	r.Hook = "/opt/kiroku/kiroku-hook"
	apply(t, install.PlanInstall, r)
	for _, text := range tree(t, r.Home) {
		require.NotContains(t, text, "with space")
		require.Equal(t, 9, strings.Count(text, "/opt/kiroku/kiroku-hook"))
	}
}

func TestWhatIsNotUnderstoodIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"broken": "{\n \"a\": ,\n}", "other shape": "{\n  \"hooks\": []\n}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRequest(t, "claude-code")
			path := filepath.Join(r.Home, ".claude", "settings.json")
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			_, err := install.PlanInstall(r)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, "line 2")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, text, string(data))
		})
	}
	r := newRequest(t, "kiro-ide")
	foreign := filepath.Join(r.Dir, ".kiro", "hooks", "kiroku.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(foreign), 0o755))
	require.NoError(t, os.WriteFile(foreign, []byte(`{"version":"v1","hooks":[]}`), 0o600))
	_, err := install.PlanInstall(r)
	require.ErrorContains(t, err, "not ours")
}

func TestFileThatChangedSinceThePlanIsRefused(t *testing.T) {
	t.Parallel()
	r := newRequest(t, "claude-code")
	plan, err := install.PlanInstall(r)
	require.NoError(t, err)
	path := filepath.Join(r.Home, ".claude", "settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	require.ErrorIs(t, plan.Apply(), install.ErrChanged)
}

func TestTimeoutsAreInTheAgentsUnit(t *testing.T) {
	t.Parallel()
	r := newRequest(t, "claude-code")
	apply(t, install.PlanInstall, r)
	r.Agent = "kiro-cli"
	r.AgentFile = "mine"
	apply(t, install.PlanInstall, r)
	files := tree(t, r.Home)
	require.Contains(t, files[filepath.Join(r.Home, ".claude", "settings.json")], `"timeout": 5`)
	require.Contains(t, files[filepath.Join(r.Home, ".kiro", "agents", "mine.json")], `"timeout_ms": 5000`)
	require.Contains(t, files[filepath.Join(r.Home, ".kiro", "hooks", "kiroku.json")], `"timeout": 5`)
}

func TestCommandLinesOfWindows(t *testing.T) {
	t.Parallel()
	r := newRequest(t, "kiro-ide")
	r.OS, r.Hook = "windows", `C:\Program Files\kiroku\kiroku-hook.exe`
	plan, err := install.PlanInstall(r)
	require.NoError(t, err)
	var hook struct {
		Then struct{ Command string }
	}
	require.NoError(t, json.Unmarshal(plan.Changes[1].After, &hook))
	require.Equal(t, `"C:\Program Files\kiroku\kiroku-hook.exe" kiro-ide promptSubmit || exit /b 0`, hook.Then.Command)
	require.NoError(t, plan.Apply())
	again, err := install.PlanInstall(r)
	require.NoError(t, err)
	require.Empty(t, again.Changes, "our own command line is recognised")
}

// The generated line must reach the program through a real shell, whatever the path.
func TestCommandLineRunsThroughTheShell(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	r := newRequest(t, "claude-code")
	require.NoError(t, os.WriteFile(r.Hook, []byte("#!/bin/sh\necho \"ran $1\"\n"), 0o755))
	apply(t, install.PlanInstall, r)
	var settings struct {
		Hooks map[string][]struct {
			Hooks []struct{ Command string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(tree(t, r.Home)[filepath.Join(r.Home, ".claude", "settings.json")]), &settings))
	out, err := exec.CommandContext(t.Context(), "sh", "-c", settings.Hooks["Stop"][0].Hooks[0].Command).Output()
	require.NoError(t, err)
	require.Equal(t, "ran claude-code\n", string(out))
}
