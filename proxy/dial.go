package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Dial connects to the Server from within the program, as a client does over a unix socket: what
// the returned connection sends begins with a startup packet, and the server authenticates it as
// anybody. Nothing of it can be reached from outside of the process.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	taken := make(chan bool, 1)
	go func() { taken <- s.take(theirs) }()
	select {
	case ok := <-taken:
		if ok {
			return ours, nil
		}
		_ = ours.Close()
		return nil, errors.New("the proxy is ending")
	case <-ctx.Done():
		_ = ours.Close() // which the startup notices
		return nil, ctx.Err()
	}
}

// socketPair makes two connected unix sockets.
func socketPair() (one, other net.Conn, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("making a pair of sockets: %w", err)
	}
	if one, err = socketOf(fds[0]); err != nil {
		_ = syscall.Close(fds[1])
		return nil, nil, err
	}
	if other, err = socketOf(fds[1]); err != nil {
		_ = one.Close()
		return nil, nil, err
	}
	return one, other, nil
}

// socketOf takes over a descriptor.
func socketOf(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "page")
	defer func() { _ = f.Close() }() // FileConn has a descriptor of its own
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("making a pair of sockets: %w", err)
	}
	return c, nil
}
