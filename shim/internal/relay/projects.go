package relay

import (
	"sync"
	"time"

	"github.com/kiroku-dev/kiroku/shim/internal/project"
)

const (
	// projectTTL is how long a directory's project is believed; remotes and overrides change.
	projectTTL = 10 * time.Second
	// maxProjects bounds the directories that are remembered.
	maxProjects = 512
)

// projects remembers which project a directory belongs to: resolving reads files, and tool
// hooks of one directory come by the dozen.
type projects struct {
	resolve func(dir string) (project.Project, error)
	now     func() time.Time

	mu    sync.Mutex
	known map[string]knownProject
}

type knownProject struct {
	project.Project
	until time.Time
}

func newProjects(resolve func(string) (project.Project, error), now func() time.Time) *projects {
	return &projects{resolve: resolve, now: now, known: map[string]knownProject{}}
}

func (p *projects) of(dir string) (project.Project, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.known[dir]; ok && p.now().Before(known.until) {
		return known.Project, nil
	}
	found, err := p.resolve(dir)
	if err != nil {
		return project.Project{}, err
	}
	if len(p.known) >= maxProjects {
		clear(p.known)
	}
	p.known[dir] = knownProject{found, p.now().Add(projectTTL)}
	return found, nil
}
