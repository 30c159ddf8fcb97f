package proxy

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/scram"
)

// wireClient is a client that speaks the protocol message by message.
type wireClient struct {
	t    testing.TB
	conn net.Conn
	fe   *pgproto3.Frontend
	key  pgproto3.BackendKeyData
	wait time.Duration // bounds each wait for a message; 0: patience
}

// dialWire connects without saying anything.
func dialWire(t testing.TB, addr string) *wireClient {
	t.Helper()
	network := "tcp"
	if strings.HasPrefix(addr, "/") {
		network = "unix"
	}
	conn, err := net.DialTimeout(network, addr, proxytest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	w := &wireClient{t: t}
	w.over(conn)
	t.Cleanup(func() { _ = conn.Close() })
	return w
}

// over goes on over conn.
func (w *wireClient) over(conn net.Conn) {
	w.conn, w.fe = conn, pgproto3.NewFrontend(conn, conn)
	w.extend()
}

// extend gives the next message its time: on a busy machine a test as a whole may take longer.
func (w *wireClient) extend() {
	_ = w.conn.SetDeadline(time.Now().Add(max(w.wait, proxytest.Patience)))
}

// login starts a session as postgres and reads up to ReadyForQuery.
func login(t testing.TB, addr string) *wireClient {
	t.Helper()
	w := dialWire(t, addr)
	w.startup("user", "postgres", "database", "postgres")
	w.until('Z')
	return w
}

func (w *wireClient) startup(parameters ...string) {
	m := &pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{}}
	for i := 0; i < len(parameters); i += 2 {
		m.Parameters[parameters[i]] = parameters[i+1]
	}
	w.send(m)
}

// send writes messages in one go.
func (w *wireClient) send(messages ...pgproto3.FrontendMessage) {
	w.t.Helper()
	w.extend()
	for _, m := range messages {
		w.fe.Send(m)
	}
	if err := w.fe.Flush(); err != nil {
		w.t.Fatalf("sending: %v", err)
	}
}

// write writes bytes as they are.
func (w *wireClient) write(b []byte) {
	w.t.Helper()
	w.extend()
	if _, err := w.conn.Write(b); err != nil {
		w.t.Fatalf("writing: %v", err)
	}
}

// receive returns the next message described as text, and its type; 0 at the end of the stream.
func (w *wireClient) receive() (byte, string) {
	w.t.Helper()
	w.extend()
	m, err := w.fe.Receive()
	if err != nil {
		if ne, ok := err.(net.Error); ok && ne.Timeout() { //nolint:errorlint // pgproto3 returns it bare
			w.t.Fatalf("no message comes")
		}
		return 0, "closed"
	}
	if k, ok := m.(*pgproto3.BackendKeyData); ok {
		w.key = pgproto3.BackendKeyData{ProcessID: k.ProcessID, SecretKey: bytes.Clone(k.SecretKey)}
	}
	return describe(m)
}

// until reads up to and including a message of one of the types and returns all as text.
func (w *wireClient) until(types ...byte) string {
	w.t.Helper()
	var lines []string
	for {
		typ, text := w.receive()
		lines = append(lines, text)
		if bytes.IndexByte(types, typ) >= 0 {
			return strings.Join(lines, "\n")
		}
		if typ == 0 {
			w.t.Fatalf("closed while waiting for %q:\n%s", types, strings.Join(lines, "\n"))
		}
	}
}

// toEnd reads up to the end of the stream.
func (w *wireClient) toEnd() string {
	w.t.Helper()
	var lines []string
	for {
		typ, text := w.receive()
		lines = append(lines, text)
		if typ == 0 {
			return strings.Join(lines, "\n")
		}
	}
}

// query runs a simple query.
func (w *wireClient) query(sql string) string {
	w.t.Helper()
	w.send(&pgproto3.Query{String: sql})
	return w.until('Z')
}

// readAll reads to the end with the test's patience.
func readAll(t *testing.T, conn net.Conn) []byte {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(proxytest.Patience))
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// challenge has the server's challenge taken up by x.
func (w *wireClient) challenge(x *scram.Client) {
	w.t.Helper()
	m, err := w.fe.Receive()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := x.Challenged(m.(*pgproto3.AuthenticationSASLContinue).Data); err != nil {
		w.t.Fatal(err)
	}
}

// pid is the process of w's server, in SQL.
func pid(w *wireClient) string { return strconv.Itoa(int(w.key.ProcessID)) }
