package proxy

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"go.uber.org/zap"
)

// Authentication is the server's business: its requests and the client's answers are relayed.
// docs/auth.md has the matrix of methods and TLS; the one place where the proxy interferes is SCRAM
// with a client that binds it to its TLS connection (authscram.go).

const (
	// maxAuthToken is PG_MAX_AUTH_TOKEN_LENGTH, the limit for what a client answers.
	maxAuthToken = 65535
	// maxStartupMessage bounds what a server says before it is ready. The largest such thing is a
	// report with a long text.
	maxStartupMessage = maxReport
)

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

// authentication is the relay from the startup packet to the first ReadyForQuery.
type authentication struct {
	client, server *link
	user           string // of the startup packet
	// loggedIn is called once, when the server has let the client in; an error of it ends the startup.
	loggedIn func() error
	// refusable marks a startup packet that is none of protocol 3: the server can only refuse it.
	refusable bool
	// old marks one of a protocol before 3, to which servers answer in its form: without lengths.
	old bool
	// asIf is the code that a refusal is to name in place of unknownRequest; 0: none.
	asIf      uint32
	verifiers *verifierCache
	log       *zap.Logger

	in  serverReader
	out []byte // what goes to the client with the next write
}

// flush sends the client what it is due.
func (a *authentication) flush() error {
	if err := a.client.write(a.out); err != nil {
		return &clientGone{err}
	}
	a.out = a.out[:0]
	return nil
}

// next returns the server's next message; it is valid until the call after.
func (a *authentication) next() ([]byte, error) {
	m, err := a.in.next()
	if err == nil {
		return m, nil
	}
	if ferr := a.flush(); ferr != nil {
		return nil, ferr
	}
	if errors.Is(err, errFraming) {
		return nil, sayServerGarbage()
	}
	return nil, &serverGone{err}
}

// refused passes the server's ErrorResponse on.
func (a *authentication) refused(m []byte) error {
	if a.asIf != 0 {
		m = bytes.ReplaceAll(m, versionText(unknownRequest), versionText(a.asIf))
	}
	a.out = append(a.out, m...)
	if err := a.flush(); err != nil {
		return err
	}
	return errRefused
}

// answer sends m to the server.
func (a *authentication) answer(m []byte) error {
	if err := a.server.write(m); err != nil {
		return &serverGone{err}
	}
	return nil
}

// run does it all; the startup packet was sent. With another target left, a refusal at once is not
// passed on but returned as errOtherTarget; nor is what came before it (NegotiateProtocolVersion), for
// the other one will say that again.
func (a *authentication) run(ctx context.Context, another bool) (*greeting, error) {
	g := &greeting{}
	a.in.r = a.server.conn
	if a.old {
		return nil, a.runOld()
	}
	asked := false
	for {
		m, err := a.next()
		if err != nil {
			return nil, err
		}
		body := m[headerSize:]
		answer := false
		switch m[0] {
		case msgAuthentication:
			if len(body) < 4 {
				return nil, sayServerGarbage()
			}
			if a.refusable {
				return nil, sayServerGarbage()
			}
			asked = true
			code := binary.BigEndian.Uint32(body)
			if code == authOK {
				if err := a.loggedIn(); err != nil {
					_ = a.flush()
					_ = a.answer(appendFrame(nil, msgTerminate))
					return nil, err
				}
			}
			if code == authSASL {
				if err := a.sasl(ctx, m); err != nil {
					return nil, err
				}
				continue
			}
			answer = code != authOK && code != authSASLFinal
		case msgErrorResponse:
			if !asked && another {
				return nil, errOtherTarget
			}
			return nil, a.refused(m)
		case msgBackendKeyData:
			g.key = cancelKey(body)
		case msgParameterStatus:
			g.settings = *g.settings.with(body)
		case msgReadyForQuery:
			if len(body) != 1 {
				return nil, sayServerGarbage()
			}
			g.txn = body[0]
			a.out = append(a.out, m...)
			if err := a.flush(); err != nil {
				return nil, err
			}
			g.rest = bytes.Clone(a.in.rest())
			return g, nil
		case msgNoticeResponse, msgNegotiateProtocol:
		default:
			return nil, sayServerGarbage()
		}
		a.out = append(a.out, m...)
		if held := another && !asked; answer || !held && !a.in.buffered() {
			if err := a.flush(); err != nil {
				return nil, err
			}
		}
		if answer {
			m, err := a.readPassword()
			if err != nil {
				return nil, err
			}
			if err := a.answer(m); err != nil {
				return nil, err
			}
		}
	}
}

// runOld passes on what a server says to a protocol before 3, which is why it does not take it.
func (a *authentication) runOld() error {
	m, err := io.ReadAll(io.LimitReader(a.server.conn, maxStartupMessage))
	if err != nil {
		return &serverGone{err}
	}
	if len(m) == 0 || m[0] != msgErrorResponse {
		return sayServerGarbage()
	}
	a.out = m
	if err := a.flush(); err != nil {
		return err
	}
	return errRefused
}

// readPassword reads the one message with which a client answers an authentication request.
func (a *authentication) readPassword() ([]byte, error) {
	var head [headerSize]byte
	if _, err := io.ReadFull(a.client.conn, head[:1]); err != nil {
		return nil, &clientGone{err}
	}
	if head[0] != msgPassword {
		return nil, a.misanswered(head[:1])
	}
	if _, err := io.ReadFull(a.client.conn, head[1:]); err != nil {
		return nil, &clientGone{err}
	}
	size, ok := frameLen(head[:])
	if !ok || size > maxAuthToken+1 { // the length does not count the type
		return nil, a.misanswered(head[:])
	}
	m := make([]byte, size)
	copy(m, head[:])
	if _, err := io.ReadFull(a.client.conn, m[headerSize:]); err != nil {
		return nil, &clientGone{err}
	}
	return m, nil
}

// misanswered has the server judge the head of a message that it cannot take for an answer, and passes on what it says.
// Whenever this is called the server waits for an answer.
func (a *authentication) misanswered(head []byte) error {
	if err := a.answer(head); err != nil {
		return err
	}
	for {
		m, err := a.next()
		var gone *serverGone
		switch {
		case errors.As(err, &gone):
			return errRefused // without a word
		case err != nil:
			return err
		case m[0] == msgErrorResponse:
			return a.refused(m)
		case m[0] != msgNoticeResponse:
			return sayServerGarbage()
		}
		a.out = append(a.out, m...)
	}
}

// versionText is a protocol version as servers write it.
func versionText(code uint32) []byte { return fmt.Appendf(nil, "%d.%d", code>>16, code&0xffff) }
