package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"syscall"
)

// negotiate reads what comes before the startup packet (SSLRequest, GSSENCRequest, a direct TLS
// handshake) and returns the startup packet or CancelRequest.
func (s *Server) negotiate(ctx context.Context, l *link) (startupPacket, error) {
	var askedSSL, askedGSS bool
	for {
		p, err := readStartupPacket(l.conn)
		switch {
		case errors.Is(err, errDirectTLS):
			if l.tls != nil || askedSSL || s.limits.Load().TLS == nil {
				return nil, errNotSpoken
			}
			if err := s.acceptTLS(ctx, l, p); err != nil {
				return nil, err
			}
			if l.tls.ConnectionState().NegotiatedProtocol != alpnPostgres {
				return nil, sayNoALPN()
			}
			continue
		case err != nil:
			return nil, err
		}
		switch p.code() {
		case codeSSL:
			if askedSSL || l.tls != nil {
				return nil, sayBadStartup("SSL was requested twice")
			}
			askedSSL = true
			if err := s.answerSSL(ctx, l); err != nil {
				return nil, err
			}
		case codeGSS:
			if askedGSS {
				return nil, sayBadStartup("GSS encryption was requested twice")
			}
			askedGSS = true
			if err := l.write([]byte{'N'}); err != nil {
				return nil, err
			}
		default:
			return p, nil
		}
	}
}

// errNotSpoken ends a connection that began with something else than the protocol; there is no
// message the peer would understand.
var errNotSpoken = errors.New("peer does not speak the protocol")

// answerSSL answers an SSLRequest.
func (s *Server) answerSSL(ctx context.Context, l *link) error {
	if s.limits.Load().TLS == nil || l.isUnix() {
		return l.write([]byte{'N'})
	}
	// Bytes that came along in plaintext must not count as sent under TLS (CVE-2021-23214). None
	// are buffered here, and TLS would choke on them; the refusal is for a clear message.
	if l.pending() {
		return sayUnencryptedData()
	}
	if err := l.write([]byte{'S'}); err != nil {
		return err
	}
	return s.acceptTLS(ctx, l, nil)
}

// acceptTLS does the server's side of the handshake; ahead is the part of it already read.
func (s *Server) acceptTLS(ctx context.Context, l *link, ahead []byte) error {
	conf := s.TLS()
	if conf == nil { // taken away by Reload since
		return errNotSpoken
	}
	conn := l.secure(ahead, func(c net.Conn) *tls.Conn { return tls.Server(c, noteCertificate(l, conf)) })
	if err := conn.HandshakeContext(ctx); err != nil {
		return errors.Join(errNotSpoken, err)
	}
	return nil
}

func (l *link) isUnix() bool {
	_, unix := l.sock.(*net.UnixConn)
	return unix
}

// pending reports whether there is unread input.
func (l *link) pending() bool {
	found := false
	_ = l.raw.Read(func(fd uintptr) bool {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		found = err == nil && n > 0
		return true
	})
	return found
}
