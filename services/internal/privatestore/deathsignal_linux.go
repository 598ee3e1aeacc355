package privatestore

import "syscall"

// setDeathSignal makes the kernel send sig to the child when the thread that
// starts it ends, which is also when our process is killed.
func setDeathSignal(attr *syscall.SysProcAttr, sig syscall.Signal) {
	attr.Pdeathsig = sig
}
