package proxy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/wire"
)

// TestConnectionStorm opens 1,000 connections, or 5,000, and drops them wherever they are in startup, politely
// or with a reset. Nothing of them stays.
func TestConnectionStorm(t *testing.T) {
	const abreast = 48
	n := int64(1000)
	if thorough() {
		n = 5000
	}
	raiseFileLimit(t)
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.Rewriter, c.TLS = proxytest.Marking{}, shared.serverTLS() })
		bystander := login(t, p.addr)
		bystander.query("select 'here'") // only after its answer all goroutines of the session are known to run
		goroutines, files := runtime.NumGoroutine(), openFiles(t)
		stages := []string{
			"", "\x00\x00\x00", sslRequest, sslRequest + "\x16\x03\x01",
			"\x00\x00\x00\x29\x00\x03\x00\x00user\x00clear",
			string(packet(3<<16, "user\x00clear_user\x00database\x00postgres\x00\x00")),
			string(packet(3<<16, "user\x00postgres\x00database\x00postgres\x00\x00")),
			string(packet(3<<16, "user\x00postgres\x00database\x00nowhere\x00\x00")),
			string(packet(3<<16, "user\x00postgres\x00database\x00postgres\x00\x00")) + "Q\x00\x00\x00\x0dselect 1\x00",
			string(packet(wire.CodeCancel, "\x00\x00\x00\x01\x00\x00\x00\x02")),
		}
		var next atomic.Int64
		var clients sync.WaitGroup
		for worker := range abreast {
			rnd := rand.New(rand.NewPCG(uint64(worker), 6))
			clients.Go(func() {
				for next.Add(1) <= n {
					if err := dropMidway(p.addr, stages[rnd.IntN(len(stages))], rnd.IntN(3), rnd.IntN(2) == 0); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		clients.Wait()
		// The clients are gone before the proxy has taken the last of their connections, and each asks for a
		// server process. On a machine that is busy that may take longer than anything should; what must not
		// happen is that nothing goes on.
		moving(t, "the sessions have ended", func() (int, bool) {
			return int(p.arrived.Load()) + runtime.NumGoroutine(), p.sessions.Census().Known == 1 && p.starting.Load() == 0
		})
		moving(t, "goroutines have ended", func() (int, bool) { n := runtime.NumGoroutine(); return n, n <= goroutines })
		proxytest.Eventually(t, "files are closed", func() bool { return openFiles(t) <= files })
		keys := p.sessions.Census().Keys
		if keys != 1 {
			t.Errorf("%d cancel keys are known", keys)
		}
		_ = bystander.conn.SetDeadline(time.Now().Add(proxytest.Patience)) // counted from its login so far
		if got := bystander.query("select 'still here'"); !strings.Contains(got, "still here") {
			t.Error(got)
		}
		if n := p.sessions.Counts.Panics.Load(); n > 0 {
			t.Errorf("%d panics", n)
		}
	})
}

// moving polls until ok, which must become true as long as the first result changes.
func moving(t *testing.T, what string, look func() (now int, ok bool)) {
	t.Helper()
	for {
		before, ok := look()
		if ok {
			return
		}
		proxytest.Eventually(t, what, func() bool {
			now, ok := look()
			return ok || now != before
		})
	}
}

// dropMidway connects, sends, reads up to a number of times, and closes.
func dropMidway(addr, send string, reads int, reset bool) error {
	conn, err := net.DialTimeout("tcp", addr, proxytest.Patience)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Millisecond))
	_, _ = conn.Write([]byte(send))
	var b [512]byte
	for range reads {
		if _, err := conn.Read(b[:]); err != nil {
			break
		}
	}
	if reset {
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
	return nil
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestCancelStorm sends 500 cancel requests, or 2,000, with right and wrong keys while 20 sessions run
// queries: only those whose key was sent are cancelled.
func TestCancelStorm(t *testing.T) {
	const sessions, abreast = 20, 16
	n := int64(500)
	if thorough() {
		n = 2000
	}
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, nil)
		all := make([]*wireClient, sessions)
		keys := make([]wire.CancelKey, sessions)
		for i := range all {
			all[i] = login(t, p.addr)
			_ = all[i].conn.SetDeadline(time.Now().Add(3 * proxytest.Patience))
			keys[i] = wire.CancelKey(append([]byte{
				byte(all[i].key.ProcessID >> 24), byte(all[i].key.ProcessID >> 16),
				byte(all[i].key.ProcessID >> 8), byte(all[i].key.ProcessID),
			}, all[i].key.SecretKey...))
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var cancelled [sessions]atomic.Int64
		var working, storming sync.WaitGroup
		for i, w := range all {
			working.Go(func() {
				for ctx.Err() == nil {
					if err := sleepOnce(w, &cancelled[i]); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		var next atomic.Int64
		for worker := range abreast {
			rnd := rand.New(rand.NewPCG(uint64(worker), 7))
			storming.Go(func() {
				for next.Add(1) <= n {
					k := []byte(keys[2*rnd.IntN(sessions/2)]) // the key of a session with an even number
					switch rnd.IntN(4) {
					case 0: // the secret of another
						copy(k[4:], keys[2*rnd.IntN(sessions/2)+1][4:])
					case 1: // near misses of an odd one
						k = []byte(keys[2*rnd.IntN(sessions/2)+1])
						k[rnd.IntN(len(k))] ^= 1 << rnd.IntN(8)
					}
					if err := sendCancel(p.addr, wire.CancelKey(k).Request()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		storming.Wait()
		cancel()
		working.Wait()
		var hits int64
		for i := range cancelled {
			c := cancelled[i].Load()
			hits += c
			if i%2 == 1 && c > 0 {
				t.Errorf("session %d was cancelled %d times without its key", i, c)
			}
			if i%2 == 0 && c == 0 {
				t.Errorf("session %d was never cancelled", i)
			}
		}
		t.Logf("%d queries cancelled by %d requests", hits, n)
	})
}

// sleepOnce runs one query, which may be cancelled.
func sleepOnce(w *wireClient, cancelled *atomic.Int64) error {
	w.fe.Send(&pgproto3.Query{String: "select pg_sleep(0.05)"})
	if err := w.fe.Flush(); err != nil {
		return err
	}
	for {
		m, err := w.fe.Receive()
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			if m.Code != "57014" {
				return fmt.Errorf("%s %s", m.Code, m.Message)
			}
			cancelled.Add(1)
		case *pgproto3.ReadyForQuery:
			return nil
		}
	}
}

// sendCancel sends a packet and waits for the proxy to close.
func sendCancel(addr string, p []byte) error {
	conn, err := net.DialTimeout("tcp", addr, proxytest.Patience)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(proxytest.Patience))
	if _, err := conn.Write(p); err != nil {
		return err
	}
	var b [1]byte
	if _, err := conn.Read(b[:]); err == nil {
		return fmt.Errorf("a cancel request was answered with %q", b)
	}
	return nil
}
