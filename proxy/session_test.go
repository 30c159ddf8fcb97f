package proxy

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
)

func TestCancel(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		for _, mode := range []string{"disable", "require"} {
			t.Run("server sslmode "+mode, func(t *testing.T) {
				p := start(t, way, func(c *Config) { c.Upstream = shared.upstream("sslmode=" + mode) })
				w := login(t, p.addr)
				w.send(&pgproto3.Query{String: "select pg_sleep(3600)"})
				pid := w.key.ProcessID
				admin := login(t, fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port()))
				proxytest.Eventually(t, "the query runs", func() bool {
					return strings.Contains(admin.query(fmt.Sprintf("select state from pg_stat_activity where pid = %d and query like '%%3600%%'", pid)), "active")
				})
				wrong := dialWire(t, p.addr)
				wrong.send(&pgproto3.CancelRequest{ProcessID: pid, SecretKey: []byte{1, 2, 3, 4}})
				if got := readAll(t, wrong.conn); len(got) > 0 {
					t.Errorf("answer to a wrong key: %q", got)
				}
				right := dialWire(t, p.addr)
				right.send(&pgproto3.CancelRequest{ProcessID: pid, SecretKey: w.key.SecretKey})
				if got := readAll(t, right.conn); len(got) > 0 {
					t.Errorf("answer to a cancel request: %q", got)
				}
				if got := w.until('Z'); !strings.Contains(got, "57014") {
					t.Error(got)
				}
				w.send(&pgproto3.Terminate{})
				w.toEnd()
				proxytest.Eventually(t, "the key is forgotten", func() bool {
					return p.sessions.Census().Keys == 0
				})
			})
		}
	})
}

func TestReplicationIsAPlainRelay(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = proxytest.Marking{Visible: true} })
		for _, value := range []string{"database", "true"} {
			w := dialWire(t, p.addr)
			w.startup("user", "postgres", "database", "postgres", "replication", value)
			w.until('Z')
			if got := w.query("IDENTIFY_SYSTEM"); !strings.Contains(got, "systemid") {
				t.Error(got)
			}
			if got := w.query("mbus4.one"); !strings.Contains(got, "ErrorResponse ERROR") || strings.Contains(got, "[") {
				t.Errorf("touched: %s", got)
			}
			if value == "true" {
				w.send(&pgproto3.Query{String: "START_REPLICATION PHYSICAL 0/1000000"})
				if got := w.until('W', 'E'); strings.Contains(got, "CopyBothResponse") {
					w.send(&pgproto3.CopyDone{})
					w.until('Z')
				}
			}
			w.send(&pgproto3.Terminate{})
			w.toEnd()
		}
	})
}

func TestNotificationsReachAnIdleSession(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = proxytest.Marking{} })
		ear, mouth := login(t, p.addr), login(t, p.addr)
		ear.query("listen /*mbus4*/ door")
		mouth.query("notify door, 'knock'")
		if got := ear.until('A'); got != "NotificationResponse door knock" {
			t.Error(got)
		}
	})
}

func TestServerBackendTerminated(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, nil)
		w, admin := login(t, p.addr), login(t, p.addr)
		admin.query(fmt.Sprintf("select pg_terminate_backend(%d)", w.key.ProcessID))
		if got := w.toEnd(); !strings.HasPrefix(got, `ErrorResponse FATAL 57P01`) || !strings.HasSuffix(got, "closed") {
			t.Error(got)
		}
		_ = w.conn.Close()
		proxytest.Eventually(t, "the session has ended", func() bool { return p.sessions.Census().Known == 1 })
	})
}

// TestImpossibleLength: what the server makes of it is what the client sees.
func TestImpossibleLength(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter = proxytest.Marking{} })
		for _, bytes := range []string{"Q\x00\x00\x00\x03", "Q\xff\xff\xff\xff", "X\x7f\xff\xff\xffabc", "?\x00\x00\x00\x04"} {
			var got [2]string
			for i, addr := range []string{p.addr, fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port())} {
				w := login(t, addr)
				w.write([]byte(bytes))
				got[i] = w.toEnd()
			}
			if got[0] != got[1] {
				t.Errorf("%q: %s\nwithout the proxy: %s", bytes, got[0], got[1])
			}
		}
	})
}

// backendGone reports whether the server process has ended.
func backendGone(t *testing.T, admin *wireClient, pid uint32) func() bool {
	return func() bool {
		t.Helper()
		return strings.Contains(admin.query(fmt.Sprintf("select count(*) from pg_stat_activity where pid = %d", pid)), `DataRow ["0"]`)
	}
}

func TestClientKilled(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, nil)
		admin := login(t, p.addr)
		for name, leave := range map[string]func(*wireClient){
			"closed":      func(w *wireClient) { _ = w.conn.Close() },
			"reset":       func(w *wireClient) { _ = w.conn.(*net.TCPConn).SetLinger(0); _ = w.conn.Close() },
			"half closed": func(w *wireClient) { _ = w.conn.(*net.TCPConn).CloseWrite() },
			"mid-message": func(w *wireClient) { w.write([]byte("Q\x00\x00\x01\x00sel")); _ = w.conn.Close() },
			"while copying": func(w *wireClient) {
				w.send(&pgproto3.Query{String: "copy items from stdin"})
				w.until('G')
				_ = w.conn.Close()
			},
		} {
			t.Run(name, func(t *testing.T) {
				w := login(t, p.addr)
				w.query("begin")
				pid := w.key.ProcessID
				leave(w)
				proxytest.Eventually(t, "the backend has ended", backendGone(t, admin, pid))
				proxytest.Eventually(t, "the session has ended", func() bool { return p.sessions.Census().Known == 1 })
			})
		}
	})
}

// TestLastWordsOfAClient: what a client sends before it closes is executed, as without a proxy.
func TestLastWordsOfAClient(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, nil)
		admin := login(t, p.addr)
		admin.query("create table if not exists words (way text, n int)")
		for i := range 20 {
			w := login(t, p.addr)
			w.send(&pgproto3.Query{String: fmt.Sprintf("insert into words values ('%s', %d)", way.name, i)}, &pgproto3.Terminate{})
			_ = w.conn.Close()
		}
		proxytest.Eventually(t, "all rows are there", func() bool {
			return strings.Contains(admin.query("select count(*) from words where way = '"+way.name+"'"), `DataRow ["20"]`)
		})
	})
}

func TestPanicEndsOneSession(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter, c.Log = proxytest.Marking{}, nil })
		bystander, w := login(t, p.addr), login(t, p.addr)
		w.send(&pgproto3.Query{String: "select mbus4.panic()"})
		if got := w.toEnd(); got != "closed" {
			t.Error(got)
		}
		if n := p.sessions.Counts.Panics.Load(); n != 1 {
			t.Errorf("%d panics counted", n)
		}
		if got := bystander.query("select 'still here'"); !strings.Contains(got, "still here") {
			t.Error(got)
		}
		proxytest.Eventually(t, "the session has ended", func() bool { return p.sessions.Census().Known == 1 })
	})
}

func TestLostSyncEndsTheSession(t *testing.T) {
	server := proxytest.Pretend(t, func(c net.Conn) {
		var b [512]byte
		_, _ = c.Read(b[:])
		_, _ = c.Write([]byte("R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05I"))
		_, _ = c.Read(b[:])
		_, _ = c.Write([]byte("2\x00\x00\x00\x04Z\x00\x00\x00\x05I")) // BindComplete for a Query
		_, _ = io.Copy(io.Discard, c)
	})
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) {
			c.Log = nil
			c.Upstream = fmt.Sprintf("host=127.0.0.1 port=%d sslmode=disable", server.Port)
		})
		w := login(t, p.addr)
		w.send(&pgproto3.Query{String: "select 1"})
		if got := w.toEnd(); got != "closed" {
			t.Error(got)
		}
		proxytest.Eventually(t, "the session has ended", func() bool { return p.sessions.Census().Known == 0 })
		if n := p.sessions.Counts.LostSync.Swap(0); n != 1 {
			t.Errorf("%d sessions counted as having lost synchronization", n)
		}
	})
}
