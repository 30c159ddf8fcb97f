package proxy

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
)

// narrowBuffer is the size of the sockets' buffers between the proxy and a client of narrowEnding, in bytes.
const narrowBuffer = 4 << 10

// narrowEnding is newEnding with little room between the proxy and a client that does not read.
func narrowEnding(t *testing.T, way endingWay) *ending {
	t.Helper()
	way.dial = func(e *ending) *wireClient {
		dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
			return c.Control(func(fd uintptr) {
				_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, narrowBuffer)
			})
		}}
		conn, err := dialer.DialContext(e.Context(), "tcp", e.proxy.addr)
		if err != nil {
			e.Fatal(err)
		}
		e.Cleanup(func() { _ = conn.Close() })
		w := &wireClient{t: e.T}
		w.over(conn)
		return w
	}
	e := newEnding(t, way, nil)
	if err := syscall.SetsockoptInt(socketTo(t, e.client.conn.LocalAddr()), syscall.SOL_SOCKET, syscall.SO_SNDBUF, narrowBuffer); err != nil {
		t.Fatal(err)
	}
	return e
}

// socketTo is this process's socket with that peer.
func socketTo(t *testing.T, peer net.Addr) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		fd, _ := strconv.Atoi(entry.Name())
		if a, err := syscall.Getpeername(fd); err == nil {
			if a, ok := a.(*syscall.SockaddrInet4); ok && a.Port == peer.(*net.TCPAddr).Port {
				return fd
			}
		}
	}
	t.Fatal("no socket")
	return -1
}

// slowReply is longer than the sockets of a narrow ending take, and one read of the proxy takes all of it.
const slowReply = 60 << 10

// sayLong answers a Query with a long reply, and says more in the same write.
func (s *scripted) sayLong(more ...pgproto3.BackendMessage) {
	s.t.Helper()
	s.say(append([]pgproto3.BackendMessage{
		&pgproto3.DataRow{Values: [][]byte{bytes.Repeat([]byte("x"), slowReply)}},
		&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")}, &pgproto3.ReadyForQuery{TxStatus: 'I'},
	}, more...)...)
}

// longSeen is what a client reads that gets all of sayLong, without the row.
func longSeen(got string) string {
	if !strings.HasPrefix(got, "DataRow") || len(got) < slowReply {
		return fmt.Sprintf("%.100s, %d bytes", got, len(got))
	}
	_, rest, _ := strings.Cut(got, "\n")
	return strings.ReplaceAll(rest, "\n", " | ")
}

// TestEndingsOfSlowClients: a client that reads late gets all that the server has said, and the last message.
func TestEndingsOfSlowClients(t *testing.T) {
	const span = 200 * time.Millisecond
	const all = "CommandComplete SELECT 1 | ReadyForQuery I | "
	cases := map[string]struct {
		want  string
		grace time.Duration
		play  func(e *ending)
	}{
		"drain": {all + saidShutdown, span / 4, func(e *ending) {
			e.server.sayLong()
			e.drain()
			<-time.After(span) // in which a session that does not wait is cut off
		}},
		"server ends": {all + saidEnded, span / 4, func(e *ending) {
			e.server.sayLong()
			_ = e.server.conn.Close()
			<-time.After(span)
		}},
		"lost synchronization": {all + "closed", proxytest.Patience, func(e *ending) {
			e.server.sayLong(&pgproto3.BindComplete{})
			<-time.After(span)
		}},
	}
	for name, c := range cases {
		for way, how := range endingWays() {
			t.Run(fmt.Sprintf("%s, %s", name, way), func(t *testing.T) {
				t.Parallel()
				how.grace = c.grace
				e := narrowEnding(t, how)
				e.client.send(proxytest.Query("select 1"))
				e.server.expect("Query")
				c.play(e)
				if got := longSeen(e.client.toEnd()); got != c.want {
					t.Errorf("got %s\nwant %s", got, c.want)
				}
				_ = e.client.conn.Close()
				e.gone()
				e.proxy.sessions.Counts.LostSync.Store(0)
			})
		}
	}
}

// TestLingers: what a client still sends when it is told of the end does not cost it the last message.
func TestLingers(t *testing.T) {
	for way, how := range endingWays() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			how.grace = proxytest.Patience
			e := newEnding(t, how, nil)
			e.drain()
			e.server.expect("Terminate")
			for range 5 { // the first is read by the proxy, what comes behind would be refused
				e.client.fe.Send(proxytest.Query("select 1"))
				if err := e.client.fe.Flush(); isReset(err) {
					t.Fatal(err)
				}
				<-time.After(10 * time.Millisecond)
			}
			if got := strings.ReplaceAll(e.client.toEnd(), "\n", " | "); got != saidShutdown {
				t.Error(got)
			}
			if n := e.proxy.sessions.Census().Known; n != 1 {
				t.Error("the session did not wait for the client to close")
			}
			_ = e.client.conn.Close()
			e.drained()
		})
	}
}

// TestCloseWithDeafClient: a client that takes nothing does not hold up Close.
func TestCloseWithDeafClient(t *testing.T) {
	for way, how := range endingWays() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			e := narrowEnding(t, how)
			e.client.send(proxytest.Query("select 1"))
			e.server.expect("Query")
			e.server.sayLong()
			<-time.After(100 * time.Millisecond)
			began := time.Now()
			_ = e.proxy.Close()
			if took := time.Since(began); took > 4*time.Second { // the time that crypto/tls gives close_notify is 5 s
				t.Errorf("Close took %v", took)
			}
		})
	}
}
