//go:build !linux

package socket

import "syscall"

// HungUp reports nothing here: the end of a peer's sending shows only when all is read.
func HungUp(int) bool { return false }

// ConnHungUp reports nothing either.
func ConnHungUp(syscall.RawConn) bool { return false }
