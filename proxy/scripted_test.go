package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/relay"
	"mbusproxy/proxy/statements"
)

// ending is one session with a scripted server, from its first ReadyForQuery on. Ends of it are played in each way
// in which a session can be moved.
type ending struct {
	*testing.T
	proxy    *running
	client   *wireClient
	server   *scripted
	rewriter *endingRewriter
	shutdown chan error // the end of what drain has begun
	already  string     // what the client has read before the test reads the rest
}

// endingWays are the ways to move a session, with and without TLS.
func endingWays() map[string]endingWay {
	ways := map[string]endingWay{
		"goroutines":                        {},
		"goroutines, TLS to the client":     {tlsClient: true},
		"goroutines, TLS to the server":     {tlsServer: true},
		"goroutines, TLS to client, server": {tlsClient: true, tlsServer: true},
	}
	if relay.DefaultLoops() > 0 {
		for name, way := range maps.Clone(ways) {
			way.how = how{"loops", 2}
			ways[strings.Replace(name, "goroutines", "loops", 1)] = way
		}
	}
	return ways
}

type endingWay struct {
	how
	tlsClient, tlsServer bool
	pid                  uint32                      // of the server, with which it gives a cancel key; 0: it gives none
	grace                time.Duration               // how long a session that ends waits for its client; 0: as ever
	dial                 func(e *ending) *wireClient // nil: dialWire
}

// endingRewriter holds texts as holdingRewriter does, one also when its context has ended, and panics where a text
// asks for it.
type endingRewriter struct{ *holdingRewriter }

func (r *endingRewriter) Rewrite(ctx context.Context, sc statements.Context, text string) statements.Plan {
	if strings.Contains(text, "mbus4.panic") {
		panic("asked to")
	}
	if strings.Contains(text, "mbus4.deaf") {
		r.entered <- struct{}{}
		<-r.proceed
		return nil
	}
	return r.holdingRewriter.Rewrite(ctx, sc, text)
}

// scripted is the server's end of a session. It does what the test says.
type scripted struct {
	t    *testing.T
	raw  net.Conn // under conn
	conn net.Conn
	be   *pgproto3.Backend
}

// newEnding logs in. change may be nil.
func newEnding(t *testing.T, way endingWay, change func(*Config), parameters ...string) *ending {
	t.Helper()
	e := &ending{T: t, rewriter: &endingRewriter{newHolding()}, shutdown: make(chan error, 1)}
	sessions, over := make(chan *scripted, 4), make(chan struct{})
	t.Cleanup(func() { close(over) })
	at := proxytest.Pretend(t, func(c net.Conn) {
		s := &scripted{t: t, raw: c, conn: c}
		if way.tlsServer {
			s.secure()
		}
		s.be = pgproto3.NewBackend(s.conn, s.conn)
		if m, err := s.be.ReceiveStartupMessage(); err != nil {
			return
		} else if _, cancels := m.(*pgproto3.CancelRequest); cancels {
			return
		}
		s.be.Send(&pgproto3.AuthenticationOk{})
		if way.pid != 0 {
			s.be.Send(&pgproto3.BackendKeyData{ProcessID: way.pid, SecretKey: []byte("key!")})
		}
		s.be.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if s.be.Flush() == nil {
			sessions <- s
			<-over
		}
	})
	mode := "disable"
	if way.tlsServer {
		mode = "require"
	}
	e.proxy = start(t, way.how, func(c *Config) {
		c.Upstream = fmt.Sprintf("host=127.0.0.1 port=%d sslmode=%s", at.Port, mode)
		c.Rewriter, c.TLS, c.Log = e.rewriter, shared.serverTLS(), nil
		if change != nil {
			change(c)
		}
	})
	if way.grace > 0 {
		e.proxy.sessions.Grace = way.grace
		_ = e.proxy.sessions.Census() // with its lock the sessions to come see it
	}
	e.client, e.server = e.login(way, sessions, parameters...)
	return e
}

func (e *ending) login(way endingWay, sessions <-chan *scripted, parameters ...string) (*wireClient, *scripted) {
	e.Helper()
	var w *wireClient
	if way.dial != nil {
		w = way.dial(e)
	} else {
		w = dialWire(e.T, e.proxy.addr)
	}
	if way.tlsClient {
		overTLS(w)
	}
	w.startup(append([]string{"user", "postgres", "database", "postgres"}, parameters...)...)
	w.until('Z')
	server := <-sessions
	w.send(proxytest.Query("select 'runs'")) // Shutdown reaches sessions that run
	server.expect("Query")
	server.answer('I')
	w.until('Z')
	return w, server
}

// secure has the server speak TLS.
func (s *scripted) secure() {
	var request [8]byte
	if _, err := io.ReadFull(s.conn, request[:]); err != nil {
		return
	}
	_, _ = s.conn.Write([]byte{'S'})
	s.conn = tls.Server(s.conn, &tls.Config{Certificates: []tls.Certificate{shared.cert}, MinVersion: tls.VersionTLS12})
}

// expect reads the next message, which must have that name.
func (s *scripted) expect(name string) {
	s.t.Helper()
	if got := s.receive(); got != name {
		s.t.Fatalf("the server got %s, want %s", got, name)
	}
}

// receive returns the name of the next message, or how the stream ended.
func (s *scripted) receive() string {
	_ = s.conn.SetReadDeadline(time.Now().Add(proxytest.Patience))
	m, err := s.be.Receive()
	if err != nil {
		return streamEnd(err)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
}

// rest returns the names of what comes up to the end.
func (s *scripted) rest() string {
	var all []string
	for {
		all = append(all, s.receive())
		if last := all[len(all)-1]; strings.HasPrefix(last, "(") {
			return strings.Join(all, " ")
		}
	}
}

// streamEnd tells how a stream has ended. Where the proxy closes with unread input it is a reset, and which it is
// depends on the time: the peer that reads on gets the same.
func streamEnd(err error) string {
	if ne, ok := err.(net.Error); ok && ne.Timeout() { //nolint:errorlint // pgproto3 returns it bare
		return "(nothing comes)"
	}
	return "(end)"
}

func (s *scripted) say(messages ...pgproto3.BackendMessage) {
	s.t.Helper()
	for _, m := range messages {
		s.be.Send(m)
	}
	_ = s.conn.SetWriteDeadline(time.Now().Add(proxytest.Patience))
	if err := s.be.Flush(); err != nil {
		s.t.Fatalf("the server cannot write: %v", err)
	}
}

// answer is a reply to a Query that leaves the session in the transaction status.
func (s *scripted) answer(status byte) {
	s.t.Helper()
	s.say(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 0")}, &pgproto3.ReadyForQuery{TxStatus: status})
}

const answered = "CommandComplete SELECT 0 | ReadyForQuery I | "

// reset closes with a reset.
func reset(raw net.Conn) {
	_ = raw.(*net.TCPConn).SetLinger(0)
	_ = raw.Close()
}

// socket is what the client's connection goes over.
func (w *wireClient) socket() net.Conn {
	if secured, ok := w.conn.(*tls.Conn); ok {
		return secured.NetConn()
	}
	return w.conn
}

// finishSending ends the client's sending as its kind of connection does.
func (e *ending) finishSending() {
	if secured, ok := e.client.conn.(*tls.Conn); ok {
		_ = secured.CloseWrite()
		return
	}
	_ = e.client.conn.(*net.TCPConn).CloseWrite()
}

// drain begins Shutdown, and returns when it has reached the session.
func (e *ending) drain() {
	e.proxy.sessions.Drain()
	go func() { e.shutdown <- e.proxy.Shutdown(context.Background()) }()
}

// drained waits for the end of Shutdown.
func (e *ending) drained() {
	e.Helper()
	select {
	case err := <-e.shutdown:
		if err != nil {
			e.Error(err)
		}
	case <-time.After(proxytest.Patience):
		e.Fatalf("Shutdown does not return\n%s", stacks())
	}
}

// gone waits until the proxy has forgotten the session.
func (e *ending) gone() {
	e.Helper()
	proxytest.Eventually(e.T, "the session has ended", func() bool { return e.proxy.sessions.Census().Known == 0 })
}

// isReset reports whether the connection was reset.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
