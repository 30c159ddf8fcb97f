package proxy

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

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
	const all = "CommandComplete SELECT 1 | ReadyForQuery I | "
	cases := map[string]struct {
		want string
		play func(e *ending)
	}{
		"drain": {all + saidShutdown, func(e *ending) {
			e.server.sayLong()
			e.drain()
			<-time.After(3 * lingerTime / 2) // the span in which a session that ends is cut off
		}},
		"server ends": {all + saidEnded, func(e *ending) {
			e.server.sayLong()
			_ = e.server.conn.Close()
			<-time.After(3 * lingerTime / 2)
		}},
		"out of step": {all + "closed", func(e *ending) {
			e.server.sayLong(&pgproto3.BindComplete{})
			<-time.After(lingerTime / 4)
		}},
	}
	for name, c := range cases {
		for way, how := range endingWays() {
			t.Run(fmt.Sprintf("%s, %s", name, way), func(t *testing.T) {
				t.Parallel()
				how.narrow = true
				e := newEnding(t, how, nil)
				e.client.send(query("select 1"))
				e.server.expect("Query")
				c.play(e)
				if got := longSeen(e.client.toEnd()); got != c.want {
					t.Errorf("got %s\nwant %s", got, c.want)
				}
				_ = e.client.conn.Close()
				e.gone()
				e.proxy.counts.desyncs.Store(0)
			})
		}
	}
}

// TestLingers: what a client still sends when it is told of the end does not cost it the last message.
func TestLingers(t *testing.T) {
	for way, how := range endingWays() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			e := newEnding(t, how, nil)
			e.drain()
			e.server.expect("Terminate")
			for range 5 { // the first is read by the proxy, what comes behind would be refused
				e.client.fe.Send(query("select 1"))
				if err := e.client.fe.Flush(); isReset(err) {
					t.Fatal(err)
				}
				<-time.After(10 * time.Millisecond)
			}
			if got := strings.ReplaceAll(e.client.toEnd(), "\n", " | "); got != saidShutdown {
				t.Error(got)
			}
			if n := e.proxy.sessionCount(); n != 1 {
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
			how.narrow = true
			e := newEnding(t, how, nil)
			e.client.send(query("select 1"))
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
