package endpoint

import "golang.org/x/sys/unix"

// HungUp reports whether the peer of a socket has ended its sending, though there may be something left to read.
func HungUp(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0
}
