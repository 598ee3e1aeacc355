package process

import (
	"bytes"

	"golang.org/x/sys/unix"

	"github.com/kiroku-dev/kiroku/shim/internal/frame"
)

func describe(pid int) (frame.Process, int, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return frame.Process{}, 0, err
	}
	comm, _, _ := bytes.Cut(info.Proc.P_comm[:], []byte{0})
	started := info.Proc.P_starttime
	return frame.Process{
		PID:   pid,
		Start: uint64(started.Sec)*1_000_000 + uint64(started.Usec),
		Name:  string(comm),
	}, int(info.Eproc.Ppid), nil
}
