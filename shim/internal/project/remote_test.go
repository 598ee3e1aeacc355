package project

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseRemote(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://github.com/Acme/Shop.git":           "github.com/acme/shop",
		"https://ana:token@github.com/acme/shop/":    "github.com/acme/shop",
		"HTTPS://GITHUB.COM:443/acme/shop.git/":      "github.com/acme/shop",
		"git@github.com:acme/shop.git":               "github.com/acme/shop",
		"github.com:acme/shop":                       "github.com/acme/shop",
		"ssh://git@ssh.github.com:443/acme/shop.git": "github.com/acme/shop",
		"git://github.com/acme/shop":                 "github.com/acme/shop",
		"git+ssh://git@github.com//acme//shop.git":   "github.com/acme/shop",
		"git@gitlab.com:Group/Sub/Repo.git":          "gitlab.com/group/sub/repo",
		"ssh://git@git.example.org:2222/Team/Repo":   "git.example.org/Team/Repo",
		"git@git.example.org:/Team/Repo.git":         "git.example.org/Team/Repo",
		"https://git.example.org:8443/Team/Repo.git": "git.example.org:8443/Team/Repo",
		"http://git.example.org:80/Team/My%20Repo":   "git.example.org/Team/My Repo",
		"ssh://[::1]:22/team/repo.git":               "::1/team/repo",
		"git@[::1]:team/repo.git":                    "::1/team/repo",
		"user@host.xz:~ana/repo.git":                 "host.xz/~ana/repo",
		"https://git.example.org/../../etc/repo":     "git.example.org/etc/repo",
	} {
		got, ok := parseRemote(raw)
		require.True(t, ok, raw)
		require.Equal(t, want, got.String(), raw)
	}
	for _, raw := range []string{
		"", "/srv/git/shop.git", "../shop", "./a:b", `C:\git\shop`, "C:/git/shop", `\\server\share\shop`,
		"file:///srv/git/shop", "https://", "https://github.com", "https://github.com/.git", "host:",
		"https://%zz/x", "ext::sh -c x", "fd://3/x",
	} {
		got, ok := parseRemote(raw)
		require.False(t, ok, "%q gave %v", raw, got)
	}
}

func TestLocalRemote(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"/srv/git/shop.git":             "/srv/git/shop.git",
		"../shop":                       "../shop",
		"file:///srv/git/shop":          "/srv/git/shop",
		"file://localhost/srv/git/shop": "/srv/git/shop",
		`C:\git\shop`:                   `C:\git\shop`,
	} {
		got, ok := localRemote(raw)
		require.True(t, ok, raw)
		require.Equal(t, want, got)
	}
	for _, raw := range []string{"", "https://x/y", "git@x:y", "file://"} {
		_, ok := localRemote(raw)
		require.False(t, ok, raw)
	}
}

func TestMainRemote(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ config, want string }{
		"origin":                 {"[core]\n\turl = no\n[remote \"up\"]\nurl=a\n[Remote \"origin\"]\n\tURL = b\n\turl = second\n", "b"},
		"single":                 {"[remote \"up\"]\r\n\turl = a\r\n", "a"},
		"several without origin": {"[remote \"up\"]\nurl=a\n[remote \"down\"]\nurl=b\n", ""},
		"names differ in case":   {"[remote \"Origin\"]\nurl=a\n[remote \"up\"]\nurl=b\n", ""},
		"old spelling":           {"[remote.origin]\nurl = a\n", "a"},
		"quotes and comments":    {"[remote \"origin\"] ; x\nurl = \"a#b\\\"c\" # d\n", `a#b"c`},
		"continued line":         {"[remote \"origin\"]\nurl = ab\\\ncd\n", "abcd"},
		"bracket in the name":    {"[remote \"a]b\"]\nurl = x\n", "x"},
		"on the header's line":   {"[remote \"origin\"] url = x\n", "x"},
		"push only":              {"[remote \"origin\"]\npushurl = x\n", ""},
		"branch section":         {"[branch \"main\"]\nremote = origin\nurl = x\n", ""},
		"include is not read":    {"[include]\npath = /etc/passwd\n", ""},
		"broken header":          {"[remote \"origin\"\nurl = x\n", ""},
		"mark":                   {"\ufeff[remote \"origin\"]\nurl = x", "x"},
		"empty":                  {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := mainRemote([]byte(tt.config))
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want != "", ok)
		})
	}
}

func FuzzMainRemote(f *testing.F) {
	f.Add([]byte("[remote \"origin\"]\n\turl = git@github.com:acme/shop.git\n"))
	f.Add([]byte("[remote \"a\\\"]\"]url=\"x\\\n;\\"))
	f.Add([]byte("[remote.origin]\nurl=[::"))
	f.Fuzz(func(t *testing.T, config []byte) {
		url, ok := mainRemote(config)
		if !ok {
			return
		}
		if named, ok := parseRemote(url); ok {
			require.NotEmpty(t, named.host)
			require.NotContains(t, named.path, "//")
			require.NotEmpty(t, named.path)
		}
	})
}
