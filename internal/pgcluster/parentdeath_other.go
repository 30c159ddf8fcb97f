//go:build !linux

package pgcluster

import "syscall"

// setParentDeath does nothing: only Linux can tell a child that its parent died.
func setParentDeath(*syscall.SysProcAttr) {}
