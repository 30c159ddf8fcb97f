package proxy

import (
	"context"
	"crypto/tls"
	"errors"
)

// negotiate, whose TLS is conf, or nil for none, reads what comes before the startup packet (SSLRequest, GSSENCRequest, a direct TLS
// handshake) and returns the startup packet or CancelRequest. A request that may not come any more is a startup
// packet of an unknown protocol, as in ProcessStartupPacket of Postgres.
func negotiate(ctx context.Context, l *link, st *startup, conf *tls.Config) (startupPacket, error) {
	var doneSSL, doneGSS bool
	for first := true; ; first = false {
		p, err := readStartupPacket(l.conn)
		switch {
		case errors.Is(err, errDirectTLS):
			if !first || l.isUnix() || conf == nil {
				return nil, errNotSpoken
			}
			if err := acceptTLS(ctx, l, st, conf, p); err != nil {
				return nil, err
			}
			if l.tls.ConnectionState().NegotiatedProtocol != alpnPostgres {
				return nil, sayNoALPN()
			}
			continue
		case err != nil:
			return nil, err
		}
		switch {
		case p.code() == codeSSL && !doneSSL:
			if err := answerSSL(ctx, l, st, conf); err != nil {
				return nil, err
			}
			doneSSL, doneGSS = true, doneGSS || l.tls != nil
		case p.code() == codeGSS && !doneGSS:
			early := l.tls == nil && l.takeRest()
			if err := l.write([]byte{'N'}); err != nil {
				return nil, err
			}
			if early {
				return nil, sayUnencryptedData("GSSAPI encryption")
			}
			doneGSS = true
		default:
			st.packet = true
			return p, nil
		}
	}
}

// answerSSL answers an SSLRequest.
func answerSSL(ctx context.Context, l *link, st *startup, conf *tls.Config) error {
	if l.tls != nil { // from the first byte on
		return l.write([]byte{'N'})
	}
	// Bytes that came along in plaintext must not count as sent under TLS (CVE-2021-23214). The server refuses them
	// whatever its answer was, after the handshake if there is one.
	early := l.takeRest()
	var err error
	if conf == nil || l.isUnix() {
		err = l.write([]byte{'N'})
	} else if err = l.write([]byte{'S'}); err == nil {
		err = acceptTLS(ctx, l, st, conf, nil)
	}
	if err == nil && early {
		err = sayUnencryptedData("SSL")
	}
	return err
}

// acceptTLS does the server's side of the handshake; ahead is the part of it already read.
func acceptTLS(ctx context.Context, l *link, st *startup, conf *tls.Config, ahead []byte) error {
	conn := l.serverTLS(ahead, conf)
	st.watch(l)
	if err := conn.HandshakeContext(ctx); err != nil {
		return errors.Join(errNotSpoken, err)
	}
	return nil
}
