package listen

import (
	"net"
	"syscall"
	"time"
)

// Options are what is set on TCP sockets, towards clients and servers alike.
type Options struct {
	keepAlive   net.KeepAliveConfig
	userTimeout time.Duration // 0: the system's
	reusePort   bool          // of listeners
}

const (
	keepAliveProbes = 4 // a silent peer is given up after twice the idle time
)

// NewOptions makes them from the settings of that name in proxy.Config.
func NewOptions(keepAlive, userTimeout time.Duration, reusePort bool) Options {
	o := Options{userTimeout: userTimeout, reusePort: reusePort}
	o.keepAlive.Enable = keepAlive > 0
	if o.keepAlive.Enable {
		o.keepAlive.Idle = keepAlive
		o.keepAlive.Interval = max(keepAlive/keepAliveProbes, time.Second) // in whole seconds
		o.keepAlive.Count = keepAliveProbes
	}
	return o
}

// listenConfig has plain TCP: multipath sockets, Go's default, do not let their port be steered.
func (o Options) listenConfig() net.ListenConfig {
	lc := net.ListenConfig{KeepAlive: -1, KeepAliveConfig: o.notInherited(), Control: o.ofListener}
	lc.SetMultipathTCP(false)
	return lc
}

// ofListener sets what sockets inherit from their listener.
func (o Options) ofListener(network, _ string, c syscall.RawConn) error {
	return o.control(network, c, true)
}

// Dialer connects to servers.
func (o Options) Dialer() *net.Dialer {
	return &net.Dialer{KeepAlive: -1, KeepAliveConfig: o.keepAlive, Control: o.ofDialer}
}

func (o Options) ofDialer(network, _ string, c syscall.RawConn) error {
	return o.control(network, c, false)
}

func (o Options) control(network string, c syscall.RawConn, listens bool) error {
	if network == "unix" {
		return nil
	}
	var failed error
	if err := c.Control(func(fd uintptr) { failed = o.set(int(fd), listens) }); err != nil {
		return err
	}
	return failed
}
