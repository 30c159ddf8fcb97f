package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
)

const repeated = proxytest.PreparingMark + " select 1"

// The messages of the server to a Query that a prepared statement runs, and that which says that it is gone.
var (
	cleared  = &pgproto3.CloseComplete{}
	vanished = &pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "26000", Message: "gone"}
	hello    = &pgproto3.NoticeResponse{Severity: "NOTICE", SeverityUnlocalized: "NOTICE", Code: "00000", Message: "hello"}
	ready    = &pgproto3.ReadyForQuery{TxStatus: 'I'}
)

// asPrepared reads the messages that take the place of a Query.
func (s *scripted) asPrepared() {
	s.t.Helper()
	for _, name := range []string{"Close", "Bind", "Describe", "Execute", "Close", "Sync"} {
		s.expect(name)
	}
}

// prepare sends the Query until it has been run by a prepared statement.
func (e *ending) prepare(query pgproto3.FrontendMessage) {
	e.Helper()
	for prepared := false; !prepared; {
		e.client.send(query)
		for replied := false; !replied; {
			_ = e.server.conn.SetReadDeadline(time.Now().Add(proxytest.Patience))
			m, err := e.server.be.Receive()
			if err != nil {
				e.Fatal(err)
			}
			switch m := m.(type) {
			case *pgproto3.Query:
				if replied = m.String == repeated; !replied { // it is that for the server's process
					e.server.say(&pgproto3.DataRow{Values: [][]byte{[]byte("7")}})
				}
				e.server.answer('I')
			case *pgproto3.Sync:
				e.server.say(cleared, cleared, &pgproto3.ParseComplete{})
				e.server.runs()
				prepared, replied = true, true
			}
		}
		e.client.until('Z')
	}
}

// runs is the reply to what takes the place of a Query, from Bind on.
func (s *scripted) runs() {
	s.t.Helper()
	s.say(&pgproto3.BindComplete{}, &pgproto3.NoData{}, &pgproto3.CommandComplete{CommandTag: []byte("SELECT 0")}, cleared, ready)
}

// refuse tells the proxy that the statement is gone, but not yet that the server is ready. Behind
// it comes a notice, which the client gets.
func (e *ending) refuse() {
	e.Helper()
	e.server.say(cleared, vanished, hello)
	e.already = e.client.until('N') + " | "
}

// TestResendEndings: a session ends as any other does, and loses nothing, while a Query is sent again.
func TestResendEndings(t *testing.T) {
	const noticed = `NoticeResponse NOTICE 00000 "hello" | `
	query := proxytest.Query(repeated)
	expired := func(c *Config) { c.DrainTimeout = 1 }
	for name, c := range map[string]endingCase{
		"nothing happens": {client: noticed + answered + "closed", server: "(end)", play: func(e *ending) {
			e.refuse()
			e.server.say(ready)
			e.server.expect("Query")
			e.server.answer('I')
			e.already += strings.ReplaceAll(e.client.until('Z'), "\n", " | ") + " | "
			e.finishSending()
			e.server.expect("(end)")
			_ = e.server.conn.Close()
		}, noServer: true},
		"the client's stream ends": {client: noticed + answered + "closed", noServer: true, play: func(e *ending) {
			e.finishSending()
			e.refuse()
			e.server.say(ready)
			e.server.expect("Query")
			e.server.answer('I')
			e.server.expect("(end)")
			_ = e.server.conn.Close()
		}},
		"the client's stream ends, and the statement is there": {client: answered + "closed", noServer: true, play: func(e *ending) {
			e.finishSending()
			e.server.say(cleared)
			e.server.runs()
			e.server.expect("(end)")
			_ = e.server.conn.Close()
		}},
		"the client's stream ends, and the server": {client: saidEnded, noServer: true, play: func(e *ending) {
			e.finishSending()
			_ = e.server.conn.Close()
		}},
		"Terminate": {client: noticed + answered + "closed", noServer: true, play: func(e *ending) {
			e.client.send(&pgproto3.Terminate{})
			e.refuse()
			e.server.say(ready)
			e.server.expect("Query")
			e.server.expect("Terminate")
			e.server.answer('I')
			_ = e.server.conn.Close()
		}},
		"another Query": {client: noticed + answered + answered + "closed", noServer: true, play: func(e *ending) {
			e.client.send(proxytest.Query("select 2"))
			e.refuse()
			e.server.say(ready)
			e.server.expect("Query")
			e.server.expect("Query")
			e.server.answer('I')
			e.server.answer('I')
			e.finishSending()
			e.server.expect("(end)")
			_ = e.server.conn.Close()
		}},
		"half a message": {client: noticed + answered + answered + "closed", noServer: true, play: func(e *ending) {
			next := proxytest.Encoded(e.T, proxytest.Query("select 2"))
			e.client.write(next[:3])
			e.refuse()
			e.server.say(ready)
			e.server.expect("Query")
			e.client.write(next[3:])
			e.server.expect("Query")
			e.server.answer('I')
			e.server.answer('I')
			e.finishSending()
			e.server.expect("(end)")
			_ = e.server.conn.Close()
		}},
		"the server ends": {client: noticed + "closed", noServer: true, play: func(e *ending) {
			e.refuse()
			_ = e.server.conn.Close()
		}},
		"the server ends at once": {client: saidEnded, noServer: true, play: func(e *ending) {
			e.server.say(cleared, vanished)
			_ = e.server.conn.Close()
		}},
		"the server ends, and a message waits": {client: noticed + "closed", noServer: true, play: func(e *ending) {
			e.client.send(proxytest.Query("select 2"))
			e.refuse()
			_ = e.server.conn.Close()
		}},
		"the server says why it ends": {client: noticed + `ErrorResponse FATAL 57P01 "leaving" | closed`, noServer: true, play: func(e *ending) {
			e.refuse()
			e.server.say(&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01", Message: "leaving"})
			_ = e.server.conn.Close()
		}},
		"drain": {client: noticed + answered + saidShutdown, server: "Terminate (end)", play: func(e *ending) {
			e.refuse()
			e.drain()
			e.server.say(ready)
			e.server.expect("Query")
			e.server.answer('I')
		}},
		"drain, and a message waits": {client: noticed + answered + answered + saidShutdown, server: "Terminate (end)", play: func(e *ending) {
			e.client.send(proxytest.Query("select 2"))
			e.refuse()
			e.drain()
			e.server.say(ready)
			e.server.expect("Query")
			e.server.expect("Query")
			e.server.answer('I')
			e.server.answer('I')
		}},
		"expired": {client: noticed + saidShutdown, server: "(end)", change: expired, play: func(e *ending) {
			e.refuse()
			e.drain()
		}},
		"expired, and a message waits": {client: noticed + saidShutdown, server: "(end)", change: expired, play: func(e *ending) {
			e.client.send(proxytest.Query("select 2"))
			e.refuse()
			e.drain()
		}},
		"the client is reset": {client: "closed", server: "(end)", play: func(e *ending) {
			e.refuse()
			e.already = ""
			reset(e.client.socket())
		}},
		"Close, and a message waits": {client: noticed + "closed", server: "(end)", play: func(e *ending) {
			e.client.send(proxytest.Query("select 2"))
			e.refuse()
			_ = e.proxy.Close()
		}},
		"the next call": {client: noticed + answered + answered + "closed", noServer: true, play: func(e *ending) {
			e.refuse()
			e.server.say(ready)
			e.server.expect("Query")
			e.server.answer('I')
			e.already += strings.ReplaceAll(e.client.until('Z'), "\n", " | ") + " | "
			e.client.send(query, &pgproto3.Terminate{})
			e.server.expect("Query")
			e.server.expect("Terminate")
			e.server.answer('I')
			_ = e.server.conn.Close()
		}},
	} {
		for way, how := range endingWays() {
			how.pid = 7
			for _, atOnce := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, plan at once %v", name, way, atOnce), func(t *testing.T) {
					t.Parallel()
					e := newEnding(t, how, func(cfg *Config) {
						if c.change != nil {
							c.change(cfg)
						}
						cfg.Rewriter = proxytest.Preparing{AtOnce: atOnce}
					})
					e.prepare(query)
					e.client.send(query)
					e.server.asPrepared()
					c.play(e)
					client := e.already + strings.ReplaceAll(e.client.toEnd(), "\n", " | ")
					_ = e.client.conn.Close()
					if strings.HasPrefix(client, "NoData | ") || strings.HasPrefix(c.client, answered) {
						client = strings.TrimPrefix(client, "NoData | ") // as the scripted server says
					}
					if client != c.client {
						t.Errorf("client: %s\nwant: %s", client, c.client)
					}
					if !c.noServer {
						if server := e.server.rest(); server != c.server {
							t.Errorf("server: %s\nwant: %s", server, c.server)
						}
					}
					e.gone()
					if n := e.proxy.sessions.Counts.LostSync.Swap(0) + e.proxy.sessions.Counts.Panics.Load(); n > 0 {
						t.Errorf("%d sessions lost synchronization or panicked", n)
					}
				})
			}
		}
	}
}

// TestResend: a real server gets the Query again, behind it what had to wait, and cancel requests reach it.
func TestResend(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		for _, atOnce := range []bool{false, true} {
			p := start(t, way, func(c *Config) { c.Rewriter = proxytest.Preparing{AtOnce: atOnce} })
			admin := login(t, fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port()))
			w := login(t, p.addr)
			const sleep = proxytest.PreparingMark + " select pg_sleep(current_setting('mbus4.sleep')::float)"
			begin := func() {
				w = login(t, p.addr)
				w.query("set mbus4.sleep = 0")
				for range 4 {
					w.query(repeated)
					w.query(sleep)
				}
				if got := w.query("select count(*) from pg_prepared_statements"); !strings.Contains(got, `"2"`) {
					t.Fatal(got)
				}
				w.query("/* nothing shows it */ select dea_all()")
			}
			admin.query("create or replace function dea_all() returns void language plpgsql as $$ begin execute 'deall' || 'ocate all'; end $$")
			begin()
			w.send(proxytest.Query(repeated), proxytest.Query("select 2"), proxytest.Parse("", "select 3"), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync(), proxytest.Query(repeated))
			var got string
			for range 4 {
				got += w.until('Z') + "\n"
			}
			const one = "RowDescription ?column?:23\nDataRow [\"1\"]\nCommandComplete SELECT 1\nReadyForQuery I\n"
			if want := one + strings.ReplaceAll(one, `"1"`, `"2"`) + "ParseComplete\nBindComplete\n" + strings.ReplaceAll(strings.SplitN(one, "\n", 2)[1], `"1"`, `"3"`) + one; got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			begin()
			w.query("set mbus4.sleep = 600")
			w.send(proxytest.Query(sleep))
			proxytest.Eventually(t, "it sleeps", func() bool {
				return strings.Contains(admin.query("select wait_event from pg_stat_activity where pid = "+pid(w)), "PgSleep")
			})
			if err := sendCancel(p.addr, cancelOf(w)); err != nil {
				t.Fatal(err)
			}
			w.send(proxytest.Query("select 2")) // not before: the server signals twice, see TestCancelBehindOthers
			if got := w.until('Z'); !strings.Contains(got, "57014") {
				t.Error(got)
			}
			if got := w.until('Z'); !strings.Contains(got, `"2"`) {
				t.Error(got)
			}
		}
	})
}
