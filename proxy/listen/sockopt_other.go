//go:build !linux

package listen

import (
	"errors"
	"net"
	"syscall"
)

// CanReusePort tells whether Options can share a port with other processes.
const CanReusePort = false

var errOnlyLinux = errors.New("TCP_USER_TIMEOUT can be set on Linux only")

func (o Options) notInherited() net.KeepAliveConfig { return o.keepAlive }

func (o Options) set(int, bool) error {
	if o.userTimeout > 0 {
		return errOnlyLinux
	}
	return nil
}

func yieldPort(syscall.RawConn) error { return nil }

func sharePort(syscall.RawConn) error { return nil }
