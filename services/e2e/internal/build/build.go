// Package build builds the programs that the whole-pipe tests run, once for each test process.
package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// programs are the packages with the flags that `make build` has, so that they come from the same build cache.
var programs = []struct {
	pkg   string
	flags []string
}{
	{"github.com/kiroku-dev/kiroku/services/cmd/kiroku-server", nil},
	{"github.com/kiroku-dev/kiroku/shim/cmd/kiroku", []string{"-tags", "grpcnotrace"}},
	{"github.com/kiroku-dev/kiroku/shim/cmd/kiroku-hook", nil},
}

// Into builds kiroku-server, kiroku and kiroku-hook into a directory. It needs the workspace, since two modules are built.
func Into(dir string) error {
	for _, p := range programs {
		args := append([]string{"build", "-ldflags", "-s -w", "-o", dir + string(filepath.Separator)}, p.flags...)
		cmd := exec.Command("go", append(args, p.pkg)...)
		// Like `make build`, whatever the tests are built with: the race detector would make these processes needlessly slow.
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", p.pkg, err, out)
		}
	}
	return nil
}

// Dir builds once and remembers where. The caller removes the directory at the end of the process.
type Dir struct {
	once sync.Once
	path string
	err  error
}

// Path is the directory with the programs.
func (d *Dir) Path() (string, error) {
	d.once.Do(func() {
		if d.path, d.err = os.MkdirTemp("", "kiroku-bin-"); d.err == nil {
			d.err = Into(d.path)
		}
	})
	return d.path, d.err
}

// Remove removes what was built.
func (d *Dir) Remove() error {
	if d.path == "" {
		return nil
	}
	return os.RemoveAll(d.path)
}
