package project

import (
	"path"
	"path/filepath"
	"strings"
)

// Rel returns the path relative to root with forward slashes, "." for root itself. A path that
// is relative already counts from root. It reports false for what lies outside. Both may be
// written in Windows' way, on any system, since recorded paths travel; when the spelling alone
// does not settle it and the paths are of this machine, links are followed.
func Rel(root, name string) (string, bool) {
	if root == "" || name == "" {
		return "", false
	}
	if isWindowsPath(root) || isWindowsPath(name) {
		return relText(strings.ToLower(slashed(root)), slashed(name), true)
	}
	if !path.IsAbs(filepath.ToSlash(name)) {
		return cleanRelative(slashed(name))
	}
	if rel, ok := relText(filepath.ToSlash(root), filepath.ToSlash(name), false); ok {
		return rel, true
	}
	return relText(filepath.ToSlash(realPath(root)), filepath.ToSlash(realPath(name)), false)
}

// relText compares spellings. With fold, case does not matter, and root is in lower case.
func relText(root, name string, fold bool) (string, bool) {
	if fold && !isWindowsPath(name) && !path.IsAbs(name) {
		return cleanRelative(name)
	}
	root, name = path.Clean(root), path.Clean(name)
	compared := name
	if fold {
		compared = strings.ToLower(name)
	}
	if compared == root {
		return ".", true
	}
	prefix := strings.TrimSuffix(root, "/") + "/"
	if !strings.HasPrefix(compared, prefix) || len(compared) != len(name) {
		return "", false
	}
	return name[len(prefix):], true
}

// cleanRelative refuses paths that are absolute or lead out.
func cleanRelative(name string) (string, bool) {
	if name == "" || path.IsAbs(name) || isWindowsPath(name) {
		return "", false
	}
	name = path.Clean(name)
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", false
	}
	return name, true
}

// isWindowsPath recognises C:\x, C:/x and \\server\share.
func isWindowsPath(name string) bool {
	if strings.HasPrefix(name, `\\`) {
		return true
	}
	if len(name) < 3 || name[1] != ':' || (name[2] != '\\' && name[2] != '/') {
		return false
	}
	drive := name[0] | 0x20
	return 'a' <= drive && drive <= 'z'
}

func slashed(name string) string { return strings.ReplaceAll(name, `\`, "/") }
