package privatestore

import (
	"os/exec"
	"runtime"
)

// launcher starts children from one operating system thread that lives as long
// as they do. The kernel ties the parent-death signal to the thread that made
// the child, not to the process, and Go ends threads when it likes.
type launcher struct {
	starts chan func()
	done   chan struct{}
}

func newLauncher() *launcher {
	l := &launcher{starts: make(chan func()), done: make(chan struct{})}
	go l.loop()
	return l
}

func (l *launcher) loop() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(l.done)
	for start := range l.starts {
		start()
	}
}

// start is cmd.Start on the launcher's thread.
func (l *launcher) start(cmd *exec.Cmd) error {
	result := make(chan error, 1)
	l.starts <- func() { result <- cmd.Start() }
	return <-result
}

// close gives the thread free. No child may be left, and start not be called
// any more.
func (l *launcher) close() {
	close(l.starts)
	<-l.done
}
