package socket

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// HungUp reports whether the peer of a socket has ended its sending, though there may be something left to read. It does
// not wait.
func HungUp(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0
}

// ConnHungUp is HungUp for a connection, and true where that has been closed on our side. It does not wait for whoever reads.
func ConnHungUp(c syscall.RawConn) (is bool) {
	err := c.Control(func(fd uintptr) { is = HungUp(int(fd)) })
	return is || err != nil
}
