package proxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Authentication is the server's business: its requests and the client's answers are relayed.
// docs/auth.md has the matrix of methods and TLS; the one place where the proxy interferes is the
// list of SASL mechanisms.

// Codes of the Authentication messages.
const (
	authOK                = 0
	authKerberosV5        = 2
	authCleartextPassword = 3
	authMD5Password       = 5
	authGSS               = 7
	authGSSContinue       = 8
	authSSPI              = 9
	authSASL              = 10
	authSASLContinue      = 11
	authSASLFinal         = 12
)

const (
	// maxAuthToken is PG_MAX_AUTH_TOKEN_LENGTH, the limit for what a client answers.
	maxAuthToken = 65535
	// maxStartupMessage bounds what a server says before it is ready. The largest such thing is a
	// report with a long text.
	maxStartupMessage = maxReport
)

const scramPlus = "SCRAM-SHA-256-PLUS"

// serverReader reads whole messages of the server during startup. It may read ahead; rest
// returns what lies behind the last message.
type serverReader struct {
	r   io.Reader
	buf []byte
	at  int
}

// next returns the next message; it is valid until the call after.
func (r *serverReader) next() ([]byte, error) {
	for {
		have := r.buf[r.at:]
		if len(have) >= headerSize {
			size, ok := frameLen(have)
			if !ok || size > maxStartupMessage {
				return nil, errFraming
			}
			if len(have) >= size {
				r.at += size
				return have[:size], nil
			}
		}
		r.buf = append(r.buf[:0:0], have...)
		r.at = 0
		var chunk [4096]byte
		n, err := r.r.Read(chunk[:])
		r.buf = append(r.buf, chunk[:n]...)
		if err != nil && n == 0 {
			return nil, err
		}
	}
}

// buffered reports whether a further message is there without waiting.
func (r *serverReader) buffered() bool {
	have := r.buf[r.at:]
	if len(have) < headerSize {
		return false
	}
	size, ok := frameLen(have)
	return !ok || len(have) >= size
}

func (r *serverReader) rest() []byte { return r.buf[r.at:] }

// greeting is what a server said up to its first ReadyForQuery.
type greeting struct {
	key      cancelKey
	settings settings
	txn      byte
	rest     []byte // bytes behind the ReadyForQuery
}

// errRefused ends a startup whose ErrorResponse was passed on to the client.
var errRefused = errors.New("server refused the session")

// errOtherTarget is returned when the server refuses before it has asked the client for anything
// and another way to reach it is left (sslmode=allow and prefer).
var errOtherTarget = errors.New("server refuses this kind of connection")

// clientGone and serverGone tell whose connection failed during startup.
type clientGone struct{ err error }

func (e *clientGone) Error() string { return "client left during startup: " + e.err.Error() }
func (e *clientGone) Unwrap() error { return e.err }

type serverGone struct{ err error }

func (e *serverGone) Error() string { return "server left during startup: " + e.err.Error() }
func (e *serverGone) Unwrap() error { return e.err }

// authenticate relays from the startup packet to the first ReadyForQuery. The packet was sent.
// With another target left, a refusal at once is not passed on but returned as errOtherTarget.
func authenticate(client, server *link, another bool) (*greeting, error) {
	g := &greeting{}
	in := serverReader{r: server.conn}
	var out []byte // what goes to the client with the next write
	flush := func() error {
		if err := client.write(out); err != nil {
			return &clientGone{err}
		}
		out = out[:0]
		return nil
	}
	asked := false
	for {
		m, err := in.next()
		if err != nil {
			if ferr := flush(); ferr != nil {
				return nil, ferr
			}
			if errors.Is(err, errFraming) {
				return nil, sayServerGarbage()
			}
			return nil, &serverGone{err}
		}
		body := m[headerSize:]
		answer := false
		switch m[0] {
		case msgAuthentication:
			if len(body) < 4 {
				return nil, sayServerGarbage()
			}
			asked = true
			code := binary.BigEndian.Uint32(body)
			if code == authSASL {
				m = withoutChannelBinding(m)
				out = append(out, m...)
				if err := flush(); err != nil {
					return nil, err
				}
				if err := relaySASLInitial(client, server); err != nil {
					return nil, err
				}
				continue
			}
			answer = code != authOK && code != authSASLFinal
		case msgErrorResponse:
			if !asked && another {
				return nil, errOtherTarget
			}
			out = append(out, m...)
			if err := flush(); err != nil {
				return nil, err
			}
			return nil, errRefused
		case msgBackendKeyData:
			g.key = cancelKey(body)
		case msgParameterStatus:
			g.settings = *g.settings.with(body)
		case msgReadyForQuery:
			if len(body) != 1 {
				return nil, sayServerGarbage()
			}
			g.txn = body[0]
			out = append(out, m...)
			if err := flush(); err != nil {
				return nil, err
			}
			g.rest = bytes.Clone(in.rest())
			return g, nil
		case msgNoticeResponse, msgNegotiateProtocol:
		default:
			return nil, sayServerGarbage()
		}
		out = append(out, m...)
		if answer || !in.buffered() {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		if answer {
			m, err := readPassword(client)
			if err != nil {
				return nil, err
			}
			if err := server.write(m); err != nil {
				return nil, &serverGone{err}
			}
		}
	}
}

// readPassword reads the one message with which a client answers an authentication request.
func readPassword(client *link) ([]byte, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(client.conn, head[:]); err != nil {
		return nil, &clientGone{err}
	}
	size, ok := frameLen(head[:])
	if head[0] != msgPassword {
		return nil, sayBadPassword(fmt.Sprintf("expected password response, got message type %d", head[0]))
	}
	if !ok || size > maxAuthToken+headerSize {
		return nil, sayBadPassword("invalid length")
	}
	m := make([]byte, size)
	copy(m, head[:])
	if _, err := io.ReadFull(client.conn, m[headerSize:]); err != nil {
		return nil, &clientGone{err}
	}
	return m, nil
}

// withoutChannelBinding takes SCRAM-SHA-256-PLUS out of the server's list of mechanisms: it binds
// the exchange to one TLS connection, and here there are two, or one at most.
func withoutChannelBinding(m []byte) []byte {
	out := append([]byte(nil), m[:headerSize+4]...)
	for rest := m[headerSize+4:]; len(rest) > 0; {
		name, tail, ok := cstring(rest)
		if !ok {
			return m
		}
		if string(name) != scramPlus {
			out = append(append(out, name...), 0)
		}
		rest = tail
	}
	return setFrameLen(out)
}

// relaySASLInitial passes the client's choice of a mechanism on. A client with TLS that could
// bind channels says so by the flag 'y' in its GS2 header; a server with TLS takes that for the
// work of someone who has removed -PLUS from its list, and rightly so.
func relaySASLInitial(client, server *link) error {
	m, err := readPassword(client)
	if err != nil {
		return err
	}
	if client.tls != nil && server.tls != nil && gs2Flag(m) == 'y' {
		return sayChannelBinding()
	}
	if err := server.write(m); err != nil {
		return &serverGone{err}
	}
	return nil
}

// gs2Flag returns the first byte of the client's first SCRAM message, which says whether channels
// are bound: 'n' (client cannot), 'y' (client can and thinks the server cannot) or 'p' (bound).
func gs2Flag(m []byte) byte {
	_, rest, ok := cstring(m[headerSize:])
	if !ok || len(rest) < 5 { // mechanism, length of the response, response
		return 0
	}
	return rest[4]
}
