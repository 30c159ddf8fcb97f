package relay

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"syscall"

	"mbusproxy/proxy/endpoint"
)

// loopedTLS is the TLS of a connection in a loop, and the transport under it: crypto/tls reads from
// the socket, and writes to it, without ever waiting. What the socket does not take is kept as it
// is for one without TLS, only encrypted.
type loopedTLS struct {
	end  *loopedEnd
	conn *tls.Conn
	// dry says that the socket has been found empty since the last event, which spares a system call.
	dry bool
	// cut says that some of what was encrypted has been thrown away, so that the peer would understand nothing more.
	cut bool
}

// errBroken is the error of a write to a connection that takes no more.
var errBroken = errors.New("connection is broken")

// secure takes TLS over from an endpoint that has some. It may hold bytes that have been read already.
func (e *loopedEnd) secure(from *endpoint.Endpoint) {
	t := &loopedTLS{end: e}
	if t.conn = from.Move(t); t.conn != nil {
		e.tls, e.more = t, true
	}
}

// read reads once, as rawRead does. With TLS there may be more.
func (e *loopedEnd) read(b []byte) (int, error) {
	if e.tls == nil {
		return rawRead(e.fd, b)
	}
	n, err := e.tls.conn.Read(b)
	switch {
	case n > 0:
		e.more = true
		return n, nil
	case err == endpoint.ErrWouldBlock: //nolint:errorlint // crypto/tls returns it as it is
		return -1, syscall.EAGAIN
	case errors.Is(err, io.EOF):
		return 0, nil
	default:
		return -1, err
	}
}

// Read is called by crypto/tls.
func (t *loopedTLS) Read(p []byte) (int, error) {
	if t.dry {
		return 0, endpoint.ErrWouldBlock
	}
	n, err := rawRead(t.end.fd, p)
	switch {
	case err == syscall.EAGAIN: //nolint:errorlint // a bare errno
		t.dry = true
		return 0, endpoint.ErrWouldBlock
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	t.dry = n < len(p)
	return n, nil
}

// Write is called by crypto/tls with whole records.
func (t *loopedTLS) Write(p []byte) (int, error) {
	if t.cut || !t.end.put(p, bytes.Clone) {
		return 0, errBroken
	}
	return len(p), nil
}

// dropUnsent throws away what the socket did not take.
func (e *loopedEnd) dropUnsent() {
	if e.tls != nil && len(e.unsent) > 0 {
		e.tls.cut = true
	}
	e.unsent = nil
}
