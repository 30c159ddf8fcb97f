package startup

import (
	"context"
	"crypto/tls"
	"errors"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/fatal"
	"mbusproxy/proxy/wire"
)

// Negotiate reads what comes before the startup packet (SSLRequest, GSSENCRequest, a direct TLS
// handshake) and returns the startup packet or CancelRequest. A request that may not come any more is a startup
// packet of an unknown protocol, as in ProcessStartupPacket of Postgres. conf is for TLS; nil: there is none.
func Negotiate(ctx context.Context, l *endpoint.Endpoint, st *Client, conf *tls.Config) (wire.StartupPacket, error) {
	var doneSSL, doneGSS bool
	for first := true; ; first = false {
		p, err := wire.ReadStartupPacket(l.Conn)
		switch {
		case errors.Is(err, wire.ErrDirectTLS):
			if !first || l.IsUnix() || conf == nil {
				return nil, wire.ErrNotSpoken
			}
			if err := acceptTLS(ctx, l, st, conf, p); err != nil {
				return nil, err
			}
			if l.TLS.ConnectionState().NegotiatedProtocol != endpoint.ALPN {
				return nil, fatal.NoALPN()
			}
			continue
		case err != nil:
			return nil, err
		}
		switch {
		case p.Code() == wire.CodeSSL && !doneSSL:
			if err := answerSSL(ctx, l, st, conf); err != nil {
				return nil, err
			}
			doneSSL, doneGSS = true, doneGSS || l.TLS != nil
		case p.Code() == wire.CodeGSS && !doneGSS:
			early := l.TLS == nil && l.TakeRest()
			if err := l.Write([]byte{'N'}); err != nil {
				return nil, err
			}
			if early {
				return nil, fatal.UnencryptedData("GSSAPI encryption")
			}
			doneGSS = true
		default:
			st.packet = true
			return p, nil
		}
	}
}

func answerSSL(ctx context.Context, l *endpoint.Endpoint, st *Client, conf *tls.Config) error {
	if l.TLS != nil { // from the first byte on
		return l.Write([]byte{'N'})
	}
	// Bytes that came along in plaintext must not count as sent under TLS (CVE-2021-23214). The server refuses them
	// whatever its answer was, after the handshake if there is one.
	early := l.TakeRest()
	var err error
	if conf == nil || l.IsUnix() {
		err = l.Write([]byte{'N'})
	} else if err = l.Write([]byte{'S'}); err == nil {
		err = acceptTLS(ctx, l, st, conf, nil)
	}
	if err == nil && early {
		err = fatal.UnencryptedData("SSL")
	}
	return err
}

// acceptTLS does the server's side of the handshake; ahead is the part of it already read.
func acceptTLS(ctx context.Context, l *endpoint.Endpoint, st *Client, conf *tls.Config, ahead []byte) error {
	conn := l.ServeTLS(ahead, conf)
	st.Watch(l)
	if err := conn.HandshakeContext(ctx); err != nil {
		return errors.Join(wire.ErrNotSpoken, err)
	}
	return nil
}
