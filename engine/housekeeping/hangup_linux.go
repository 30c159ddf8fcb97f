package housekeeping

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp reports whether the server has ended a connection, though what it said before may not have
// been read yet. It does not wait, nor for whoever reads.
func hungUp(c syscall.RawConn) bool {
	ended := false
	err := c.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(poll, 0)
		ended = err == nil && n > 0
	})
	return err != nil || ended
}
