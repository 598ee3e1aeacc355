package project_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kiroku-dev/kiroku/shim/internal/project"
)

func TestRel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		root, name, want string
		ok               bool
	}{
		{"/srv/shop", "/srv/shop/a/b.go", "a/b.go", true},
		{"/srv/shop/", "/srv/shop", ".", true},
		{"/srv/shop", "/srv/shopping/b.go", "", false},
		{"/srv/shop", "/srv/shop/../other/b.go", "", false},
		{"/srv/shop", "/srv/shop/a/../b.go", "b.go", true},
		{"/", "/etc/hosts", "etc/hosts", true},
		{"/srv/shop", "a/./b.go", "a/b.go", true},
		{"/srv/shop", `a\b.go`, "a/b.go", true},
		{"/srv/shop", "../b.go", "", false},
		{"/srv/shop", "..b.go", "..b.go", true},
		{"/srv/shop", "", "", false},
		{"", "/srv/shop/b.go", "", false},
		{`C:\Work\Shop`, `c:\work\shop\Api\Main.go`, "Api/Main.go", true},
		{`C:\Work\Shop`, `C:/Work/Shop`, ".", true},
		{`C:\Work\Shop`, `Api\Main.go`, "Api/Main.go", true},
		{`C:\Work\Shop`, `..\x`, "", false},
		{`C:\Work\Shop`, `D:\Work\Shop\x`, "", false},
		{`C:\`, `C:\x\y`, "x/y", true},
		{`\\host\share\shop`, `\\HOST\share\shop\a`, "a", true},
		{"/srv/shop", `C:\x`, "", false},
	} {
		got, ok := project.Rel(tt.root, tt.name)
		require.Equal(t, tt.ok, ok, "%q in %q gave %q", tt.name, tt.root, got)
		require.Equal(t, tt.want, got)
	}
}

func TestRelFollowsLinks(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	real := filepath.Join(base, "real")
	require.NoError(t, os.MkdirAll(filepath.Join(real, "a"), 0o750))
	link := filepath.Join(base, "link")
	require.NoError(t, os.Symlink(real, link))

	got, ok := project.Rel(real, filepath.Join(link, "a", "new.go"))
	require.True(t, ok)
	require.Equal(t, "a/new.go", got)
	got, ok = project.Rel(link, filepath.Join(real, "a"))
	require.True(t, ok)
	require.Equal(t, "a", got)
	_, ok = project.Rel(real, filepath.Join(base, "b"))
	require.False(t, ok)
}
