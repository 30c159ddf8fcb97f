package proxy

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
)

// The last messages of the proxy.
const (
	saidShutdown = `ErrorResponse FATAL 57P01 "terminating connection due to administrator command" | closed`
	saidEnded    = `ErrorResponse FATAL 57P01 "terminating connection because the Postgres server closed it unexpectedly" ` +
		`hint "In a moment you should be able to reconnect to the database and repeat your command." | closed`
)

// endingCases are scripts of how a session ends, with what its client and its server have seen by then.
func endingCases() map[string]endingCase {
	expired := func(c *Config) { c.DrainTimeout = 1 }
	return map[string]endingCase{
		"Terminate": {client: "closed", server: "Terminate (end)", play: func(e *ending) {
			e.client.send(&pgproto3.Terminate{})
			e.server.expect("Terminate")
			_ = e.server.conn.Close()
		}, noServer: true},
		"Terminate behind a request": {client: answered + "closed", noServer: true, play: func(e *ending) {
			e.client.send(proxytest.Query("select 1"), &pgproto3.Terminate{})
			e.server.expect("Query")
			e.server.expect("Terminate")
			e.server.answer('I')
			_ = e.server.conn.Close()
		}},
		"half close": {client: "closed", server: "(end)", play: func(e *ending) {
			e.finishSending()
			_ = e.server.receive()
			_ = e.server.conn.Close()
		}, noServer: true},
		"half close behind a request": {client: answered + "closed", noServer: true, play: func(e *ending) {
			e.client.send(proxytest.Query("select 1"))
			e.finishSending()
			e.server.expect("Query")
			e.server.expect("(end)")
			e.server.answer('I')
			_ = e.server.conn.Close()
		}},
		"half close within a statement of the Rewriter": {client: answered + "closed", noServer: true, play: func(e *ending) {
			e.client.send(proxytest.Query("select /*mbus4*/"))
			<-e.rewriter.entered
			e.finishSending()
			e.rewriter.proceed <- struct{}{}
			e.server.expect("Query")
			e.server.expect("(end)")
			e.server.answer('I')
			_ = e.server.conn.Close()
		}},
		"server ends without a word": {client: saidEnded, noServer: true, play: func(e *ending) {
			_ = e.server.conn.Close()
		}},
		"server ends within a transaction": {client: "CommandComplete SELECT 0 | ReadyForQuery T | " + saidEnded, noServer: true, play: func(e *ending) {
			e.client.send(proxytest.Query("begin"))
			e.server.expect("Query")
			e.server.answer('T')
			_ = e.server.conn.Close()
		}},
		"server is reset": {client: saidEnded, noServer: true, play: func(e *ending) {
			e.client.send(proxytest.Query("select 1"))
			e.server.expect("Query")
			reset(e.server.raw)
		}},
		"server says why": {client: `ErrorResponse FATAL 57P02 "crash" | closed`, noServer: true, play: func(e *ending) {
			e.server.say(&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P02", Message: "crash"})
			_ = e.server.conn.Close()
		}},
		"server ends within a message": {client: "closed", noServer: true, play: func(e *ending) {
			e.client.send(proxytest.Query("select 1"))
			e.server.expect("Query")
			_, _ = e.server.conn.Write([]byte("C\x00\x00\x00\x10SEL"))
			_ = e.server.conn.Close()
		}},
		"server ends after half a message": {client: "closed", noServer: true, play: func(e *ending) {
			e.client.write([]byte("p\x00\x00\x00\x10pass"))
			var got [9]byte
			_, _ = io.ReadFull(e.server.conn, got[:])
			_ = e.server.conn.Close()
		}},
		"server ends while the Rewriter has a statement": {client: saidEnded, noServer: true, play: func(e *ending) {
			e.client.send(proxytest.Query("select /*mbus4*/"))
			<-e.rewriter.entered
			_ = e.server.conn.Close()
		}},
		"client is reset while the Rewriter does not listen": {client: "closed", server: "(end)", play: func(e *ending) {
			e.client.send(proxytest.Query("select mbus4.deaf"))
			<-e.rewriter.entered
			defer func() { e.rewriter.proceed <- struct{}{} }()
			reset(e.client.socket())
			e.server.expect("(end)")
		}},
		"lost synchronization": {client: answered + "closed", server: "(end)", lostSync: true, play: func(e *ending) {
			e.client.send(proxytest.Query("select 1"))
			e.server.expect("Query")
			e.server.answer('I')
			e.server.say(&pgproto3.BindComplete{})
		}},
		"panic": {client: "closed", server: "(end)", play: func(e *ending) {
			e.client.send(proxytest.Query("select mbus4.panic"))
		}},
		"drain": {client: saidShutdown, server: "Terminate (end)", play: func(e *ending) { e.drain() }},
		"drain within a request": {client: answered + saidShutdown, server: "Terminate (end)", play: func(e *ending) {
			e.client.send(proxytest.Query("select 1"))
			e.server.expect("Query")
			e.drain()
			e.server.answer('I')
		}},
		"drain within a transaction": {
			client: "CommandComplete SELECT 0 | ReadyForQuery T | " + answered + saidShutdown, server: "Terminate (end)", play: func(e *ending) {
				e.client.send(proxytest.Query("begin"))
				e.server.expect("Query")
				e.drain()
				e.server.answer('T')
				e.client.send(proxytest.Query("commit"))
				e.server.expect("Query")
				e.server.answer('I')
			},
		},
		"drain while the Rewriter has a statement": {client: answered + saidShutdown, server: "Terminate (end)", play: func(e *ending) {
			e.client.send(proxytest.Query("select /*mbus4*/"))
			<-e.rewriter.entered
			e.drain()
			select {
			case <-time.After(50 * time.Millisecond): // in which a session would end that does not wait
			case err := <-e.shutdown:
				e.Fatalf("the session was ended: %v", err)
			}
			e.rewriter.proceed <- struct{}{}
			e.server.expect("Query")
			e.server.answer('I')
		}},
		"drain after Terminate": {client: "closed", noServer: true, play: func(e *ending) {
			e.client.send(&pgproto3.Terminate{})
			e.server.expect("Terminate")
			e.drain()
			_ = e.server.conn.Close()
		}},
		"expired after Terminate": {client: "closed", server: "(end)", change: expired, play: func(e *ending) {
			e.client.send(&pgproto3.Terminate{})
			e.server.expect("Terminate")
			e.drain()
		}},
		"expired after a half close": {client: "closed", server: "(end)", change: expired, play: func(e *ending) {
			e.finishSending()
			e.server.expect("(end)")
			e.drain()
		}},
		"expired after a half close behind a request": {client: saidShutdown, server: "(end)", change: expired, play: func(e *ending) {
			e.client.send(proxytest.Query("select 1"))
			e.finishSending()
			e.server.expect("Query")
			e.server.expect("(end)")
			e.drain()
		}},
		"expired within a request": {client: saidShutdown, server: "(end)", change: expired, play: func(e *ending) {
			e.client.send(proxytest.Query("select 1"))
			e.server.expect("Query")
			e.drain()
		}},
		"expired within a transaction": {client: "CommandComplete SELECT 0 | ReadyForQuery T | " + saidShutdown, server: "(end)", change: expired, play: func(e *ending) {
			e.client.send(proxytest.Query("begin"))
			e.server.expect("Query")
			e.server.answer('T')
			first := e.client.until('Z')
			e.already = strings.ReplaceAll(first, "\n", " | ") + " | "
			e.drain()
		}},
		"expired within a reply": {client: "closed", server: "(end)", change: expired, play: func(e *ending) {
			e.client.send(proxytest.Query("select 1"))
			e.server.expect("Query")
			_, _ = e.server.conn.Write([]byte("C\x00\x00\x00\x10SEL"))
			var got [8]byte
			_, _ = io.ReadFull(e.client.conn, got[:])
			e.drain()
		}},
		"expired while the Rewriter has a statement": {client: saidShutdown, server: "Terminate (end)", change: expired, play: func(e *ending) {
			e.client.send(proxytest.Query("select /*mbus4*/"))
			<-e.rewriter.entered
			e.drain()
		}},
		"expired with replication": {
			client: "closed", server: "(end)", change: expired, parameters: []string{"replication", "database"}, play: func(e *ending) { e.drain() },
		},
		"server ends with replication": {client: "closed", noServer: true, parameters: []string{"replication", "database"}, play: func(e *ending) {
			_ = e.server.conn.Close()
		}},
		"Close": {client: "closed", server: "(end)", play: func(e *ending) {
			e.client.send(proxytest.Query("select 1"))
			e.server.expect("Query")
			_ = e.proxy.Close()
		}},
	}
}

// endingCase is a script. It leaves to the test to read what is left for both peers.
type endingCase struct {
	play           func(e *ending)
	client, server string
	noServer       bool // it has closed
	lostSync       bool
	change         func(*Config)
	parameters     []string // of the startup packet
}

// TestEndings: sessions that loops move and those that goroutines move end in the same way, with and without TLS.
func TestEndings(t *testing.T) {
	for name, c := range endingCases() {
		for way, how := range endingWays() {
			t.Run(fmt.Sprintf("%s, %s", name, way), func(t *testing.T) {
				t.Parallel()
				e := newEnding(t, how, c.change, c.parameters...)
				c.play(e)
				client := e.already + strings.ReplaceAll(e.client.toEnd(), "\n", " | ")
				_ = e.client.conn.Close()
				if client != c.client {
					t.Errorf("client: %s\nwant: %s", client, c.client)
				}
				if !c.noServer {
					if server := e.server.rest(); server != c.server {
						t.Errorf("server: %s\nwant: %s", server, c.server)
					}
				}
				e.gone()
				if n := e.proxy.sessions.Counts.LostSync.Swap(0); (n == 1) != c.lostSync {
					t.Errorf("%d sessions lost synchronization", n)
				}
				if n := e.proxy.sessions.Counts.Panics.Load(); (n == 1) != (name == "panic") {
					t.Errorf("%d panics", n)
				}
			})
		}
	}
}
