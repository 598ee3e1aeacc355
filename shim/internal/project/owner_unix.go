//go:build unix

package project

import (
	"io/fs"
	"os"
	"syscall"
)

// trusted reports whether a file is this user's or root's.
func trusted(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(st.Uid) == os.Getuid() || st.Uid == 0)
}
