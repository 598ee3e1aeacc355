package relayserver

import "os"

// FileOf lets a test pass a lock to a child as a hook does.
func FileOf(l *Lock) *os.File { return l.file }
