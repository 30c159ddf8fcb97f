package endpoint

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"mbusproxy/internal/socket"
	"mbusproxy/proxy/wire"
)

// ALPN is the protocol name Postgres registered for TLS (PG_ALPN_PROTOCOL).
const ALPN = "postgresql"

// Socket is what net.TCPConn and net.UnixConn have in common.
type Socket interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
}

// Endpoint is one of the two connections of a session. Reading belongs to one goroutine, writing to
// one other.
type Endpoint struct {
	Socket Socket          // owns the descriptor
	raw    syscall.RawConn // of Socket
	TLS    *tls.Conn       // nil: plaintext
	thru   *tlsSocket      // under TLS
	Conn   net.Conn        // TLS or Socket

	// certificate is the one shown to the peer, as DER; set by the handshake with a client.
	certificate []byte

	// try is the read attempt of one wake-up; made once, for a closure per read would allocate.
	try  func(fd uintptr) bool
	Pool *wire.BufferPool
	buf  []byte // the buffer of the attempt under way
	off  int    // buf[:off] is taken
	flow *wire.Framer
	n    int
	err  error
	// ahead is what ReadAhead has read.
	ahead []byte
}

// GoodbyeTime bounds the writing of the last words to a peer.
const GoodbyeTime = time.Second

// New takes over c.
func New(c net.Conn, pool *wire.BufferPool) (*Endpoint, error) {
	sock, ok := c.(Socket)
	if !ok {
		return nil, fmt.Errorf("taking over connection: %T is no socket", c)
	}
	raw, err := sock.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("taking over connection: %w", err)
	}
	l := &Endpoint{Socket: sock, raw: raw, Conn: sock, Pool: pool}
	l.try = l.attempt
	return l, nil
}

// tlsSocket is the transport under a tls.Conn.
type tlsSocket struct {
	Socket
	endpoint *Endpoint
	// ahead holds bytes read before it was known that they belong to TLS.
	ahead []byte
	// eager makes Read return wouldBlock instead of waiting, so that the buffer passed to
	// tls.Conn.Read can be given back before the wait.
	eager bool
	buf   []byte
	n     int
	err   error
	once  func(fd uintptr) bool
	// moved is set by Move.
	moved Transport
}

// Transport is what TLS reads from and writes to in the place of a socket. Its Read returns
// ErrWouldBlock where there is nothing yet.
type Transport interface {
	Read(p []byte) (int, error)
	Write(p []byte) (int, error)
}

// wouldBlock is the error of a Read that found nothing. Temporary keeps crypto/tls from making it permanent.
type wouldBlock struct{}

// ErrWouldBlock is returned by a Read that would have to wait.
var ErrWouldBlock error = wouldBlock{}

func (wouldBlock) Error() string   { return "no data yet" }
func (wouldBlock) Timeout() bool   { return true }
func (wouldBlock) Temporary() bool { return true }

func (t *tlsSocket) Read(p []byte) (int, error) {
	if len(t.ahead) > 0 {
		n := copy(p, t.ahead)
		t.ahead = t.ahead[n:]
		return n, nil
	}
	switch {
	case t.moved != nil:
		return t.moved.Read(p)
	case !t.eager:
		return t.Socket.Read(p)
	}
	t.buf = p
	if err := t.endpoint.raw.Read(t.once); err != nil {
		return 0, err
	}
	t.buf = nil
	switch {
	case errors.Is(t.err, syscall.EAGAIN):
		return 0, ErrWouldBlock
	case t.err != nil:
		return 0, t.err
	case t.n == 0:
		return 0, io.EOF
	}
	return t.n, nil
}

func (t *tlsSocket) Write(p []byte) (int, error) {
	if t.moved != nil {
		return t.moved.Write(p)
	}
	return t.Socket.Write(p)
}

func (t *tlsSocket) readOnce(fd uintptr) bool {
	t.n, t.err = readFD(fd, t.buf)
	return true
}

// readFD is one read that is repeated only when a signal came between.
func readFD(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), b)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// secure makes l a TLS connection with start, which gets the transport; ahead are bytes of the
// handshake that were read already.
func (l *Endpoint) secure(ahead []byte, start func(net.Conn) *tls.Conn) *tls.Conn {
	l.thru = &tlsSocket{Socket: l.Socket, endpoint: l, ahead: ahead}
	l.thru.once = l.thru.readOnce
	l.TLS = start(l.thru)
	l.Conn = l.TLS
	return l.TLS
}

// attempt is called when l may be readable. It takes a buffer only then, and reports false to
// wait for more.
func (l *Endpoint) attempt(fd uintptr) bool {
	l.buf = l.Pool.Get()
	l.off = l.flow.Prefill(l.buf)
	l.n, l.err = readFD(fd, l.buf[l.off:])
	return l.attempted(l.err == syscall.EAGAIN) //nolint:errorlint // a bare errno
}

func (l *Endpoint) attempted(again bool) bool {
	if !again {
		return true
	}
	l.flow.Restore(l.buf[:l.off])
	l.DropBatch()
	return false
}

// DropBatch gives the buffer back.
func (l *Endpoint) DropBatch() {
	l.Pool.Put(l.buf)
	l.buf = nil
}

// ReadBatch waits for data without holding a buffer and returns a batch, whose head is the unfinished
// header of flow. The batch is to be given back with DropBatch.
func (l *Endpoint) ReadBatch(flow *wire.Framer) ([]byte, error) {
	l.flow = flow
	if len(l.ahead) > 0 {
		return l.readKept(), nil
	}
	if l.TLS != nil {
		return l.readTLS()
	}
	if err := l.raw.Read(l.try); err != nil {
		return nil, err
	}
	if l.err != nil || l.n == 0 {
		l.flow.Restore(l.buf[:l.off])
		l.DropBatch()
		if l.err != nil {
			return nil, l.err
		}
		return nil, io.EOF
	}
	return l.buf[:l.off+l.n], nil
}

// readTLS is ReadBatch for TLS: what tls.Conn holds back comes first, then the socket is waited for.
func (l *Endpoint) readTLS() ([]byte, error) {
	l.thru.eager = true
	for {
		l.buf = l.Pool.Get()
		l.off = l.flow.Prefill(l.buf)
		n, err := l.TLS.Read(l.buf[l.off:])
		if n > 0 {
			return l.buf[:l.off+n], nil
		}
		l.flow.Restore(l.buf[:l.off])
		l.DropBatch()
		if err == nil {
			continue
		}
		if !errors.As(err, new(wouldBlock)) {
			return nil, err
		}
		if err := l.wait(); err != nil {
			return nil, err
		}
	}
}

// wait returns when the socket has something to read. It looks with MSG_PEEK, so that no edge is
// missed and no byte taken.
func (l *Endpoint) wait() error {
	var peek [1]byte
	var failed error
	err := l.raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), peek[:], syscall.MSG_PEEK)
		if err == syscall.EAGAIN || err == syscall.EINTR {
			return false
		}
		failed = err
		return true
	})
	if err != nil {
		return err
	}
	return failed
}

// Write writes all of b.
func (l *Endpoint) Write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	_, err := l.Conn.Write(b)
	return err
}

// CloseWrite tells the peer that nothing more comes.
func (l *Endpoint) CloseWrite() {
	if l.TLS != nil {
		_ = l.TLS.CloseWrite()
	}
	_ = l.Socket.CloseWrite()
}

// Interrupt makes reads and writes under way return; l stays open.
func (l *Endpoint) Interrupt() { _ = l.Socket.SetDeadline(time.Unix(1, 0)) }

// Close frees the descriptor. It must not be called from within attempt.
func (l *Endpoint) Close() { _ = l.Socket.Close() }

// Move has TLS go on over t, and returns it; nil for a connection without. Nothing may be under
// way, and of l only Close may be called from then on.
func (l *Endpoint) Move(t Transport) *tls.Conn {
	if l.TLS != nil {
		l.thru.moved = t
	}
	return l.TLS
}

// Dup returns a second descriptor of the socket.
func (l *Endpoint) Dup() (fd int, err error) {
	cerr := l.raw.Control(func(old uintptr) {
		var r uintptr
		var errno syscall.Errno
		r, _, errno = syscall.Syscall(syscall.SYS_FCNTL, old, syscall.F_DUPFD_CLOEXEC, 0)
		if errno != 0 {
			err = fmt.Errorf("duplicating socket: %w", errno)
		}
		fd = int(r)
	})
	if cerr != nil {
		return 0, cerr
	}
	return fd, err
}

// ReadThrough has what is read of the peer's bytes, be it TLS or not, read through s, which is l.Socket or wraps it.
func (l *Endpoint) ReadThrough(s Socket) {
	if l.TLS == nil {
		l.Conn = s
	} else {
		l.thru.Socket = s
	}
}

// Broken reports whether the socket has an error, such as a reset by the peer.
func (l *Endpoint) Broken() (is bool) {
	_ = l.raw.Control(func(fd uintptr) { is = Broken(int(fd)) })
	return is
}

// HasInput reports whether there are bytes of the peer that were not read yet. It may be called
// while another goroutine reads.
func (l *Endpoint) HasInput() (found bool) {
	_ = l.raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		found = err == nil && n > 0
	})
	return found
}

// Remote is the peer's address; "unix" where it came over a unix socket.
func (l *Endpoint) Remote() string {
	if l.IsUnix() {
		return "unix"
	}
	return l.Socket.RemoteAddr().String()
}

// IsUnix reports whether the peer came over a unix socket.
func (l *Endpoint) IsUnix() bool {
	_, unix := l.Socket.(*net.UnixConn)
	return unix
}

// TakeRest throws away what has come of the peer's bytes and was not read, as much as the server would have in its
// buffer, and reports whether there was any. To close a socket with unread input would reset the connection, and with
// it undo what was said last.
func (l *Endpoint) TakeRest() bool {
	found := false
	_ = l.raw.Control(func(fd uintptr) {
		var b [8192]byte // PQ_RECV_BUFFER_SIZE of Postgres
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_DONTWAIT)
		found = err == nil && n > 0
	})
	return found
}

// HungUp reports whether the peer has ended its sending.
func (l *Endpoint) HungUp() bool { return socket.ConnHungUp(l.raw) }

// Broken reports whether a socket has an error, such as a reset by the peer.
func Broken(fd int) bool {
	e, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ERROR)
	return err == nil && e != 0
}
