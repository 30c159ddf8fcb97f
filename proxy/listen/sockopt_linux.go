package listen

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// Numbers of the kernel's headers that package syscall lacks.
const (
	soReusePort           = 15   // SO_REUSEPORT
	soAttachReusePortCBPF = 51   // SO_ATTACH_REUSEPORT_CBPF
	soDetachReusePortBPF  = 68   // SO_DETACH_REUSEPORT_BPF, since Linux 5.3
	tcpUserTimeout        = 0x12 // TCP_USER_TIMEOUT, in milliseconds
)

// CanReusePort tells whether Options can share a port with other processes.
const CanReusePort = true

// notInherited is what is to be set on each connection of a listener, as it does not come from there.
func (o Options) notInherited() net.KeepAliveConfig { return net.KeepAliveConfig{} }

// set has what connections inherit from their listener as well, so that nothing need be set on each: floods of them cost less.
func (o Options) set(fd int, listens bool) error {
	if listens && o.reusePort {
		if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, soReusePort, 1); err != nil {
			return os.NewSyscallError("setting SO_REUSEPORT", err)
		}
	}
	if listens && o.keepAlive.Enable {
		err := errors.Join(
			syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1),
			syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, seconds(o.keepAlive.Idle)),
			syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, seconds(o.keepAlive.Interval)),
			syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, o.keepAlive.Count),
		)
		if err != nil {
			return os.NewSyscallError("setting SO_KEEPALIVE", err)
		}
	}
	if o.userTimeout > 0 {
		if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpUserTimeout, int(o.userTimeout.Milliseconds())); err != nil {
			return os.NewSyscallError("setting TCP_USER_TIMEOUT", err)
		}
	}
	return nil
}

// seconds rounds up, as package net does.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// yieldPort has the kernel give new connections to the second listener of the port, in the order
// in which they began to listen, as long as there is one: to the successor of the process that
// calls it. What is in the queue already, handshakes under way included, stays with this one.
//
// The filter is a program that returns the listener's number. Where there is no such listener the
// kernel chooses as if there were no filter (reuseport_select_sock).
func yieldPort(c syscall.RawConn) error {
	second := [1]syscall.SockFilter{{Code: syscall.BPF_RET | syscall.BPF_K, K: 1}}
	program := syscall.SockFprog{Len: 1, Filter: &second[0]}
	return setReusePort(c, soAttachReusePortCBPF, unsafe.Pointer(&program), unsafe.Sizeof(program))
}

// sharePort undoes yieldPort, which may outlast the process that did it.
func sharePort(c syscall.RawConn) error {
	var none int32
	err := setReusePort(c, soDetachReusePortBPF, unsafe.Pointer(&none), unsafe.Sizeof(none))
	if err == syscall.ENOENT { //nolint:errorlint // a bare errno
		return nil // there was no filter
	}
	return err
}

func setReusePort(c syscall.RawConn, option uintptr, value unsafe.Pointer, size uintptr) error {
	var errno syscall.Errno
	err := c.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall6(syscall.SYS_SETSOCKOPT, fd, syscall.SOL_SOCKET, option, uintptr(value), size, 0)
	})
	if err != nil {
		return fmt.Errorf("steering connections: %w", err)
	}
	if errno != 0 {
		return errno
	}
	return nil
}
