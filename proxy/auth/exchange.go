package auth

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"go.uber.org/zap"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/fatal"
	"mbusproxy/proxy/wire"
)

// Authentication is the server's business: its requests and the client's answers are relayed.
// docs/auth.md has the matrix of methods and TLS; the one place where the proxy interferes is SCRAM
// with a client that binds it to its TLS connection (scram.go).

const (
	// maxAuthToken is PG_MAX_AUTH_TOKEN_LENGTH, the limit for what a client answers.
	maxAuthToken = 65535
	// maxStartupMessage bounds what a server says before it is ready. The largest such thing is a
	// report with a long text.
	maxStartupMessage = wire.MaxReport
	// serverPatience is for how long a server may take for an answer before that is Overdue.
	serverPatience = time.Second
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
		if len(have) >= wire.HeaderSize {
			size, ok := wire.FrameLen(have)
			if !ok || size > maxStartupMessage {
				return nil, wire.ErrFraming
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
	if len(have) < wire.HeaderSize {
		return false
	}
	size, ok := wire.FrameLen(have)
	return !ok || len(have) >= size
}

func (r *serverReader) rest() []byte { return r.buf[r.at:] }

// Greeting is what a server said up to its first ReadyForQuery.
type Greeting struct {
	Settings wire.Settings
	Txn      byte
	Rest     []byte // bytes behind the ReadyForQuery
}

// ErrRefused ends a startup whose ErrorResponse was passed on to the client.
var ErrRefused = errors.New("server refused the session")

// ErrUnauthenticated is an ErrRefused whose SQLSTATE is of class 28: the client is not who it says
// to be, or may not come in.
var ErrUnauthenticated = fmt.Errorf("%w: authentication failed", ErrRefused)

// ErrOtherTarget is returned when the server refuses before it has asked the client for anything
// and another way to reach it is left (sslmode=allow and prefer).
var ErrOtherTarget = errors.New("server refuses this kind of connection")

// clientGone says that the client's connection failed during startup.
type clientGone struct{ err error }

func (e *clientGone) Error() string { return "client left during startup: " + e.err.Error() }
func (e *clientGone) Unwrap() error { return e.err }

// ServerGone says that the server's connection failed during startup.
type ServerGone struct{ Err error }

func (e *ServerGone) Error() string { return "server left during startup: " + e.Err.Error() }
func (e *ServerGone) Unwrap() error { return e.Err }

// Exchange is the relay from the startup packet to the first ReadyForQuery.
type Exchange struct {
	Client, Server *endpoint.Endpoint
	User           string // of the startup packet
	// LoggedIn is called once, when the server has let the client in; an error of it ends the startup.
	LoggedIn func() error
	// Overdue is called when an answer of the server takes longer than serverPatience, by another goroutine while Run waits
	// for it, and again for another answer; nil: nobody wants to know.
	Overdue func()
	// Asked is called when the client has been asked for something, before Run waits for it; an error of it ends the
	// startup; nil: nobody wants to know.
	Asked func() error
	// Keyed is called with the session's cancel key, before the client has it; nil: nobody wants to know.
	Keyed func(wire.CancelKey)
	// Refusable marks a startup packet that is none of protocol 3: the server can only refuse it.
	Refusable bool
	// Old marks one of a protocol before 3, to which servers answer in its form: without lengths.
	Old bool
	// AsIf is the code that a refusal is to name in place of wire.UnknownRequest; 0: none.
	AsIf      uint32
	Verifiers *Cache
	Log       *zap.Logger

	in  serverReader
	out []byte // what goes to the client with the next write
}

// flush sends the client what it is due.
func (a *Exchange) flush() error {
	if err := a.Client.Write(a.out); err != nil {
		return &clientGone{err}
	}
	a.out = a.out[:0]
	return nil
}

// next returns the server's next message; it is valid until the call after.
func (a *Exchange) next() ([]byte, error) {
	m, err := a.awaitServer()
	if err == nil {
		return m, nil
	}
	if ferr := a.flush(); ferr != nil {
		return nil, ferr
	}
	if errors.Is(err, wire.ErrFraming) {
		return nil, fatal.ServerGarbage()
	}
	return nil, &ServerGone{err}
}

// awaitServer is next without what to do about an error.
func (a *Exchange) awaitServer() ([]byte, error) {
	if a.Overdue == nil || a.in.buffered() {
		return a.in.next()
	}
	told := make(chan struct{})
	timer := time.AfterFunc(serverPatience, func() {
		defer close(told)
		a.Overdue()
	})
	m, err := a.in.next()
	if !timer.Stop() {
		<-told
	}
	return m, err
}

// refused passes the server's ErrorResponse on.
func (a *Exchange) refused(m []byte) error {
	if a.AsIf != 0 {
		m = bytes.ReplaceAll(m, versionText(wire.UnknownRequest), versionText(a.AsIf))
	}
	a.out = append(a.out, m...)
	if err := a.flush(); err != nil {
		return err
	}
	var said pgproto3.ErrorResponse
	if said.Decode(m[wire.HeaderSize:]) == nil && strings.HasPrefix(said.Code, "28") {
		return ErrUnauthenticated
	}
	return ErrRefused
}

// answer sends m to the server.
func (a *Exchange) answer(m []byte) error {
	if err := a.Server.Write(m); err != nil {
		return &ServerGone{err}
	}
	return nil
}

// Run does it all; the startup packet was sent. With another target left, a refusal at once is not
// passed on but returned as ErrOtherTarget; nor is what came before it (NegotiateProtocolVersion), for
// the other one will say that again.
func (a *Exchange) Run(ctx context.Context, another bool) (*Greeting, error) {
	g := &Greeting{}
	a.in.r = a.Server.Conn
	if a.Old {
		return nil, a.runOld()
	}
	asked := false
	for {
		m, err := a.next()
		if err != nil {
			return nil, err
		}
		body := m[wire.HeaderSize:]
		answer := false
		switch m[0] {
		case wire.MsgAuthentication:
			if len(body) < 4 {
				return nil, fatal.ServerGarbage()
			}
			if a.Refusable {
				return nil, fatal.ServerGarbage()
			}
			asked = true
			code := binary.BigEndian.Uint32(body)
			if code == wire.AuthOK {
				if err := a.LoggedIn(); err != nil {
					_ = a.flush()
					_ = a.answer(wire.AppendFrame(nil, wire.MsgTerminate))
					return nil, err
				}
			}
			if code == wire.AuthSASL {
				if err := a.sasl(ctx, m); err != nil {
					return nil, err
				}
				continue
			}
			answer = code != wire.AuthOK && code != wire.AuthSASLFinal
		case wire.MsgErrorResponse:
			if !asked && another {
				return nil, ErrOtherTarget
			}
			return nil, a.refused(m)
		case wire.MsgBackendKeyData:
			if a.Keyed != nil {
				a.Keyed(wire.CancelKey(body))
			}
		case wire.MsgParameterStatus:
			g.Settings = *g.Settings.With(body)
		case wire.MsgReadyForQuery:
			if len(body) != 1 {
				return nil, fatal.ServerGarbage()
			}
			g.Txn = body[0]
			a.out = append(a.out, m...)
			if err := a.flush(); err != nil {
				return nil, err
			}
			g.Rest = bytes.Clone(a.in.rest())
			return g, nil
		case wire.MsgNoticeResponse, wire.MsgNegotiateProtocol:
		default:
			return nil, fatal.ServerGarbage()
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
func (a *Exchange) runOld() error {
	m, err := io.ReadAll(io.LimitReader(a.Server.Conn, maxStartupMessage))
	if err != nil {
		return &ServerGone{err}
	}
	if len(m) == 0 || m[0] != wire.MsgErrorResponse {
		return fatal.ServerGarbage()
	}
	a.out = m
	if err := a.flush(); err != nil {
		return err
	}
	return ErrRefused
}

// readPassword reads the one message with which a client answers an authentication request.
func (a *Exchange) readPassword() ([]byte, error) {
	if a.Asked != nil {
		if err := a.Asked(); err != nil {
			return nil, err
		}
	}
	var head [wire.HeaderSize]byte
	if _, err := io.ReadFull(a.Client.Conn, head[:1]); err != nil {
		return nil, &clientGone{err}
	}
	if head[0] != wire.MsgPassword {
		return nil, a.misanswered(head[:1])
	}
	if _, err := io.ReadFull(a.Client.Conn, head[1:]); err != nil {
		return nil, &clientGone{err}
	}
	size, ok := wire.FrameLen(head[:])
	if !ok || size > maxAuthToken+1 { // the length does not count the type
		return nil, a.misanswered(head[:])
	}
	m := make([]byte, size)
	copy(m, head[:])
	if _, err := io.ReadFull(a.Client.Conn, m[wire.HeaderSize:]); err != nil {
		return nil, &clientGone{err}
	}
	return m, nil
}

// misanswered has the server judge the head of a message that it cannot take for an answer, and passes on what it says.
// Whenever this is called the server waits for an answer.
func (a *Exchange) misanswered(head []byte) error {
	if err := a.answer(head); err != nil {
		return err
	}
	for {
		m, err := a.next()
		var gone *ServerGone
		switch {
		case errors.As(err, &gone):
			return ErrRefused // without a word
		case err != nil:
			return err
		case m[0] == wire.MsgErrorResponse:
			return a.refused(m)
		case m[0] != wire.MsgNoticeResponse:
			return fatal.ServerGarbage()
		}
		a.out = append(a.out, m...)
	}
}

// versionText is a protocol version as servers write it.
func versionText(code uint32) []byte { return fmt.Appendf(nil, "%d.%d", code>>16, code&0xffff) }
