package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

const (
	overrideFile = ".kiroku.toml"
	maxOverride  = 64 << 10
	maxName      = 200
)

// override is the content of the nearest .kiroku.toml:
//
//	project = "shop"
//	subprojects = ["services/api", "web"]
//
// The list may also stand in a table: [subprojects] with the key paths.
type override struct {
	dir  string
	name string
	// subprojects are clean paths with slashes, relative to dir.
	subprojects []string
}

// findOverride looks for the file from dir upwards. Outside of the repository it counts only
// when this user or root owns it: anybody can put a file into /tmp. A file that cannot be read
// is named in the problem, and the search ends there.
func findOverride(dir, repoRoot string) (override, string) {
	for at := dir; ; at = filepath.Dir(at) {
		file := filepath.Join(at, overrideFile)
		info, err := os.Lstat(file)
		if err == nil && info.Mode().IsRegular() && (within(repoRoot, at) || trusted(info)) {
			settings, err := readOverride(file)
			if err != nil {
				return override{}, err.Error()
			}
			settings.dir = at
			return settings, ""
		}
		if filepath.Dir(at) == at {
			return override{}, ""
		}
	}
}

func within(root, dir string) bool {
	if root == "" {
		return false
	}
	_, ok := Rel(root, dir)
	return ok
}

func readOverride(file string) (override, error) {
	info, err := os.Stat(file)
	if err != nil {
		return override{}, err
	}
	if info.Size() > maxOverride {
		return override{}, &fs.PathError{Op: "read", Path: file, Err: errors.New("too large")}
	}
	var content struct {
		Project     string `toml:"project"`
		Subprojects any    `toml:"subprojects"`
	}
	if _, err := toml.DecodeFile(file, &content); err != nil {
		return override{}, fmt.Errorf("%s: %w", file, err)
	}
	name := strings.TrimSpace(content.Project)
	if len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		return override{}, fmt.Errorf("%s: project is not a name", file)
	}
	paths, err := subprojectPaths(content.Subprojects)
	if err != nil {
		return override{}, fmt.Errorf("%s: %w", file, err)
	}
	return override{name: name, subprojects: paths}, nil
}

var errSubprojects = errors.New("subprojects is not a list of relative paths")

func subprojectPaths(value any) ([]string, error) {
	if table, ok := value.(map[string]any); ok {
		value = table["paths"]
	}
	if value == nil {
		return nil, nil
	}
	list, ok := value.([]any)
	if !ok {
		return nil, errSubprojects
	}
	paths := make([]string, 0, len(list))
	for _, entry := range list {
		text, _ := entry.(string)
		clean, ok := cleanRelative(slashed(text))
		if !ok || clean == "." {
			return nil, errSubprojects
		}
		paths = append(paths, clean)
	}
	return paths, nil
}

// subproject returns the longest declared path that the directory lies in.
func (o override) subproject(dir string) (string, bool) {
	if o.dir == "" {
		return "", false
	}
	rel, ok := Rel(o.dir, dir)
	if !ok {
		return "", false
	}
	best := ""
	for _, sub := range o.subprojects {
		if (rel == sub || strings.HasPrefix(rel, sub+"/")) && len(sub) > len(best) {
			best = sub
		}
	}
	return best, best != ""
}
