package listen

import (
	"net"
)

// Inherited makes listeners of sockets that another process listens on as well, a service manager
// say, ready for a proxy: their connections get the options that those of All have. An error leaves
// the sockets as they are.
func Inherited(sockets []net.Listener, socket Options) ([]net.Listener, error) {
	taken := make([]net.Listener, len(sockets))
	for i, l := range sockets {
		tcp, ok := l.(*net.TCPListener)
		if !ok {
			taken[i] = l
			continue
		}
		raw, err := tcp.SyscallConn()
		if err != nil {
			return nil, err
		}
		if err := socket.control("tcp", raw, false); err != nil {
			return nil, err
		}
		taken[i] = &inheritedListener{tcp, socket.keepAlive}
	}
	return taken, nil
}

// inheritedListener sets what a net.ListenConfig would have set on the connections of its own listener.
type inheritedListener struct {
	*net.TCPListener
	keepAlive net.KeepAliveConfig
}

// Accept waits for the next connection.
func (l *inheritedListener) Accept() (net.Conn, error) {
	conn, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	if err := conn.SetKeepAliveConfig(l.keepAlive); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}
