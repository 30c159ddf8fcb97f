//go:build !linux

package proxy

import (
	"errors"
	"syscall"
)

const canReusePort = false

var errOnlyLinux = errors.New("TCP_USER_TIMEOUT can be set on Linux only")

func (o socketOptions) set(int, bool) error {
	if o.userTimeout > 0 {
		return errOnlyLinux
	}
	return nil
}

func yieldPort(syscall.RawConn) error { return nil }

func sharePort(syscall.RawConn) error { return nil }
