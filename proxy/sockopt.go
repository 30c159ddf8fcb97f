package proxy

import (
	"net"
	"syscall"
	"time"
)

// socketOptions are what is set on TCP sockets, towards clients and servers alike.
type socketOptions struct {
	keepAlive   net.KeepAliveConfig
	userTimeout time.Duration // 0: the system's
	reusePort   bool          // of listeners
}

const (
	defaultKeepAlive = time.Minute
	keepAliveProbes  = 4 // a silent peer is given up after twice the idle time
)

// listenConfig has plain TCP: multipath sockets, Go's default, do not let their port be steered.
func (o socketOptions) listenConfig() net.ListenConfig {
	lc := net.ListenConfig{KeepAlive: -1, KeepAliveConfig: o.keepAlive, Control: o.ofListener}
	lc.SetMultipathTCP(false)
	return lc
}

// ofListener sets what sockets inherit from their listener.
func (o socketOptions) ofListener(network, _ string, c syscall.RawConn) error {
	return o.control(network, c, o.reusePort)
}

func (o socketOptions) ofDialer(network, _ string, c syscall.RawConn) error {
	return o.control(network, c, false)
}

func (o socketOptions) control(network string, c syscall.RawConn, reusePort bool) error {
	if network == "unix" || o.userTimeout == 0 && !reusePort {
		return nil
	}
	var failed error
	if err := c.Control(func(fd uintptr) { failed = o.set(int(fd), reusePort) }); err != nil {
		return err
	}
	return failed
}
