package app

import (
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// handshakeByte is the first one of TLS (ContentType handshake, RFC 8446, 5.1); no request of HTTP begins with it.
const handshakeByte = 22

// bothListener takes connections with TLS and without on one address: the first byte tells. Who says nothing is closed after a while.
type bothListener struct {
	net.Listener
	tls   func() *tls.Config // nil: there is none now
	ready chan net.Conn
	ended chan struct{}
	once  sync.Once
	err   error // why no more come, set before ended is closed
}

func newBothListener(l net.Listener, conf func() *tls.Config) *bothListener {
	b := &bothListener{Listener: l, tls: conf, ready: make(chan net.Conn), ended: make(chan struct{})}
	go b.run()
	return b
}

func (b *bothListener) run() {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			b.end(err)
			return
		}
		go b.sort(c)
	}
}

func (b *bothListener) end(err error) {
	b.once.Do(func() {
		b.err = err
		close(b.ended)
	})
}

// sort finds out what a connection speaks.
func (b *bothListener) sort(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(httpPatience))
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
	case b.ready <- out:
	case <-b.ended:
		_ = c.Close()
	}
}

// Accept gives a *tls.Conn, of which net/http makes the handshake, or one without.
func (b *bothListener) Accept() (net.Conn, error) {
	select {
	case c := <-b.ready:
		return c, nil
	case <-b.ended:
		return nil, b.err
	}
}

// Close ends the listener and what has not been sorted yet.
func (b *bothListener) Close() error {
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
