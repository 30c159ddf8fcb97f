//go:build !linux

package integration

import "syscall"

// childAttributes has nothing to tie a child's life with here; TestMain stops it.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
