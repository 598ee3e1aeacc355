// Package process reads which processes stand above a hook. A process id together with its
// start time names one life of an agent, which identifies sessions of agents that give none.
package process

import "github.com/kiroku-dev/kiroku/shim/internal/frame"

// maxDepth bounds the walk; agents sit a few shells above their hooks.
const maxDepth = 12

// Ancestors returns the processes above pid, the parent first, up to but not including the
// first process of the system. It returns what it could read: a vanished process ends it.
func Ancestors(pid int) []frame.Process {
	_, parent, err := describe(pid)
	if err != nil {
		return nil
	}
	return Lineage(parent)
}

// Lineage is Ancestors with pid itself in front.
func Lineage(pid int) []frame.Process {
	var line []frame.Process
	for pid > 1 && len(line) < maxDepth {
		p, parent, err := describe(pid)
		if err != nil {
			break
		}
		line = append(line, p)
		pid = parent
	}
	return line
}
