package httplisten

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// handshakeByte is the first one of TLS (a record of a handshake: RFC 8446, 5.1); no request of HTTP begins with it.
const handshakeByte = 22

// Both takes connections with TLS and without on one address: the first byte tells. Who says
// nothing is closed after a while.
type Both struct {
	net.Listener
	tls   func() *tls.Config // nil: there is none now
	ready chan accepted
	ended chan struct{}
	once  sync.Once
	err   error // why no more come, set before ended is closed
	// patience is how long a connection may say nothing.
	patience time.Duration
}

// accepted is a connection, or why there was none.
type accepted struct {
	conn net.Conn
	err  error
}

// NewBoth returns a listener on l. conf gives what TLS needs, or nil while there is none; patience
// is how long a connection may say nothing.
func NewBoth(l net.Listener, conf func() *tls.Config, patience time.Duration) *Both {
	b := &Both{Listener: l, tls: conf, ready: make(chan accepted), ended: make(chan struct{}), patience: patience}
	go b.run()
	return b
}

func (b *Both) run() {
	for {
		c, err := b.Listener.Accept()
		switch {
		case err == nil:
			go b.sort(c)
		case errors.Is(err, net.ErrClosed):
			b.end(err)
			return
		default: // out of descriptors, which may pass: the server that accepts decides
			select {
			case b.ready <- accepted{err: err}:
			case <-b.ended:
				return
			}
		}
	}
}

func (b *Both) end(err error) {
	b.once.Do(func() {
		b.err = err
		close(b.ended)
	})
}

// sort finds out what a connection speaks.
func (b *Both) sort(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(b.patience))
	p := &peeked{Conn: c}
	if _, err := c.Read(p.first[:]); err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	var out net.Conn = p
	if p.first[0] == handshakeByte {
		conf := b.tls()
		if conf == nil {
			_ = c.Close()
			return
		}
		out = tls.Server(p, conf)
	}
	select {
	case b.ready <- accepted{conn: out}:
	case <-b.ended:
		_ = c.Close()
	}
}

// Accept gives a *tls.Conn, of which net/http makes the handshake, or one without.
func (b *Both) Accept() (net.Conn, error) {
	select {
	case a := <-b.ready:
		return a.conn, a.err
	case <-b.ended:
		return nil, b.err
	}
}

// Close ends the listener and what has not been sorted yet.
func (b *Both) Close() error {
	err := b.Listener.Close()
	b.end(net.ErrClosed)
	return err
}

// peeked is a connection whose first byte has been read.
type peeked struct {
	net.Conn
	first [1]byte
	taken bool
}

// Read gives the first byte first. One goroutine reads.
func (p *peeked) Read(b []byte) (int, error) {
	if p.taken || len(b) == 0 {
		return p.Conn.Read(b)
	}
	p.taken = true
	return copy(b, p.first[:]), nil
}

// TLS is the configuration of a server of another protocol as HTTP speaks it; nil for nil.
func TLS(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	c = c.Clone()
	c.NextProtos = []string{"http/1.1"}
	c.ClientAuth = tls.NoClientCert
	return c
}
