//go:build !linux

package main

import "syscall"

// endWithUs does nothing: only Linux can tell a child that its parent died.
func endWithUs(*syscall.SysProcAttr) {}
