package project

import (
	"net/url"
	"path"
	"strings"
)

// remote is a git remote without what differs between ways to reach it.
type remote struct {
	host string
	path string // without leading slash and ".git", in the original case
}

// String is the form that identities are made of.
func (r remote) String() string {
	if caseless(r.host) {
		return r.host + "/" + strings.ToLower(r.path)
	}
	return r.host + "/" + r.path
}

// name is what people call the repository.
func (r remote) name() string { return r.path }

// caseless lists the hosts that take any case in a repository's path.
func caseless(host string) bool {
	switch host {
	case "github.com", "gitlab.com", "bitbucket.org":
		return true
	}
	return false
}

// aliases are the names under which a host offers ssh on the port of https.
var aliases = map[string]string{
	"ssh.github.com":       "github.com",
	"www.github.com":       "github.com",
	"altssh.gitlab.com":    "gitlab.com",
	"altssh.bitbucket.org": "bitbucket.org",
}

// parseRemote normalises ssh, scp-like, http, https, git and ftp addresses. It refuses paths
// of this machine.
func parseRemote(raw string) (remote, bool) {
	raw = strings.TrimSpace(raw)
	if scheme, _, ok := strings.Cut(raw, "://"); ok {
		return parseURL(raw, strings.ToLower(scheme))
	}
	if isWindowsPath(raw) {
		return remote{}, false
	}
	host, repoPath, ok := strings.Cut(raw, ":")
	// A slash before the colon makes it a path, as for scp; two colons call a helper program.
	if !ok || strings.ContainsAny(host, `/\`) || (strings.HasPrefix(repoPath, ":") && !strings.Contains(host, "[")) {
		return remote{}, false
	}
	if bracket := strings.LastIndexByte(raw, ']'); bracket > 0 && strings.Contains(host, "[") {
		host, repoPath = raw[:bracket+1], strings.TrimPrefix(raw[bracket+1:], ":")
	}
	return newRemote(host[strings.LastIndexByte(host, '@')+1:], "", repoPath)
}

func parseURL(raw, scheme string) (remote, bool) {
	parsed, err := url.Parse(raw)
	if err != nil || parsed.Host == "" {
		return remote{}, false
	}
	port := parsed.Port()
	switch scheme {
	case "ssh", "git+ssh", "ssh+git", "git":
		// The same server speaks https on another port.
		port = ""
	case "http", "https":
		if port == "80" || port == "443" {
			port = ""
		}
	case "ftp", "ftps":
	default:
		return remote{}, false
	}
	return newRemote(parsed.Hostname(), port, parsed.Path)
}

func newRemote(host, port, repoPath string) (remote, bool) {
	host = strings.ToLower(strings.Trim(host, "[]."))
	if alias, ok := aliases[host]; ok {
		host = alias
	}
	repoPath = strings.Trim(path.Clean("/"+slashed(repoPath)), "/")
	repoPath = strings.TrimRight(strings.TrimSuffix(repoPath, ".git"), "/")
	if host == "" || repoPath == "" {
		return remote{}, false
	}
	if port != "" {
		host += ":" + port
	}
	return remote{host: host, path: repoPath}, true
}

// localRemote returns the path of a remote on this machine.
func localRemote(raw string) (string, bool) {
	if rest, ok := strings.CutPrefix(raw, "file://"); ok {
		_, after, found := strings.Cut(rest, "/")
		return "/" + after, found
	}
	if strings.Contains(raw, "://") {
		return "", false
	}
	_, isRemote := parseRemote(raw)
	return raw, !isRemote && raw != ""
}
