//go:build !linux

package privatestore

import "syscall"

// setDeathSignal does nothing: this system has no such signal. The next Start
// stops what a killed process left, by the pid files.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
