package process

import (
	"sync"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

// maxCached bounds the cache; agents on one machine are few, the shells between them and their
// hooks are many and short-lived.
const maxCached = 256

// Cache walks up from processes whose upper ancestors stay the same from call to call. Each
// level costs a read of the process table, which the hook waits for. The zero value is ready
// and safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	above map[life][]frame.Process
}

type life struct {
	pid   int
	start uint64
}

// Ancestors is like the function of that name. What stood above a process is remembered, also
// when an intermediate shell is gone by now.
func (c *Cache) Ancestors(pid int) []frame.Process {
	_, parent, err := describe(pid)
	if err != nil {
		return nil
	}
	var line []frame.Process
	for parent > 1 && len(line) < maxDepth {
		p, next, err := describe(parent)
		if err != nil {
			break
		}
		line = append(line, p)
		if above, known := c.lookup(p); known {
			line = append(line, above...)
			break
		}
		parent = next
	}
	c.remember(line)
	return line
}

func (c *Cache) lookup(p frame.Process) ([]frame.Process, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	above, known := c.above[life{p.PID, p.Start}]
	return above, known
}

// remember stores every tail but the first: the parent is most often a shell of this one call.
func (c *Cache) remember(line []frame.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.above == nil || len(c.above) > maxCached {
		c.above = make(map[life][]frame.Process)
	}
	for i := 1; i < len(line); i++ {
		c.above[life{line[i].PID, line[i].Start}] = line[i+1:]
	}
}
