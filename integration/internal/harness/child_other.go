//go:build !linux

package harness

import "syscall"

// ChildAttributes has nothing to tie a child's life with here; Main stops it.
func ChildAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
