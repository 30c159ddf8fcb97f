package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/relay"
	"mbusproxy/proxy/startup"
	"mbusproxy/proxy/wire"
)

// loginFrom is login from an address of the loopback network.
func loginFrom(t *testing.T, source, addr string) *wireClient {
	t.Helper()
	dialer := net.Dialer{Timeout: proxytest.Patience, LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	w := &wireClient{t: t, wait: 3 * proxytest.Patience} // the flood before it has to be taken first
	w.over(conn)
	w.startup("user", "postgres", "database", "postgres")
	w.until('Z')
	return w
}

// TestUnauthenticatedTakeNoPlace: clients that stop at the password do not count for Config.MaxConnections, nor do they
// hold all the places of logins.
func TestUnauthenticatedTakeNoPlace(t *testing.T) {
	raiseFileLimit(t)
	p := start(t, how{}, func(c *Config) { c.MaxConnections, c.StartupTimeout = 2, time.Minute })
	atPassword := floodFrom(t, "127.0.0.7", p.addr, 3*startup.MaxLogins, packet(3<<16, "user\x00clear_user\x00database\x00postgres\x00\x00"))
	for _, source := range []string{"127.0.0.8", "127.0.0.7"} {
		w := loginFrom(t, source, p.addr)
		if got := w.query("select 'in'"); !strings.Contains(got, "in") {
			t.Error(got)
		}
	}
	late := dialWire(t, p.addr)
	late.startup("user", "postgres")
	if got := late.toEnd(); !strings.Contains(got, "FATAL 53300") {
		t.Errorf("a third session: %s", got)
	}
	// The first of those that held a place had to leave it, and heard why.
	w := &wireClient{t: t}
	w.over(atPassword[0])
	if got := w.toEnd(); !strings.Contains(got, "AuthenticationCleartextPassword") || !strings.Contains(got, "FATAL 53300") {
		t.Error(got)
	}
}

// TestLoginsThatTheServerHolds: whoever holds a lock on a database has logins there wait in the server for as long as he
// likes. They keep no other from logging in and take no session's place, and go on when the lock is gone.
func TestLoginsThatTheServerHolds(t *testing.T) {
	raiseFileLimit(t)
	const most = startup.MaxLogins + 8
	p := start(t, how{}, func(c *Config) { c.MaxConnections, c.StartupTimeout = most, 2*proxytest.Patience })
	owner, err := pgconn.Connect(t.Context(), shared.cluster.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Close(context.Background()) }() // the test's context has ended then
	run := func(sql string) {
		if _, err := owner.Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	run("create database held")
	run("begin; alter database held rename to held_no_more")
	var held []*wireClient
	hold := func(n int) {
		for range n {
			w := dialWire(t, p.addr)
			w.wait = 3 * proxytest.Patience
			w.startup("user", "postgres", "database", "held")
			held = append(held, w)
		}
	}
	hold(most)
	proxytest.Eventually(t, "all are held", func() bool { return p.held.Len() == most })
	w := loginFrom(t, "127.0.0.1", p.addr)
	if n := p.sessions.Census().LoggedIn; n != 1 {
		t.Errorf("%d have the place of a session", n)
	}
	run("rollback")
	refused := 0
	for _, w := range held {
		switch got := w.until('Z', 'E'); {
		case strings.Contains(got, "FATAL 53300") && strings.Contains(got, "--max-connections"):
			refused++
		case !strings.Contains(got, "ReadyForQuery"):
			t.Error(got)
		}
	}
	if refused != 1 { // the place that w has
		t.Errorf("%d are refused", refused)
	}
	for _, w := range append(held, w) {
		_ = w.conn.Close()
	}
	proxytest.Eventually(t, "all have given their places back", func() bool { return p.sessions.Census() == relay.Census{} && p.held.Len() == 0 })
	run("drop database held with (force)")
}

// TestLoginsAtASlowServer: log-ins that the server is late to ask for a password take no session's place meanwhile, and are
// among those that log in again when the client is awaited, where silence costs them their place.
func TestLoginsAtASlowServer(t *testing.T) {
	raiseFileLimit(t)
	asks := make(chan struct{})
	slow := proxytest.Pretend(t, func(c net.Conn) {
		server, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port()))
		if err != nil {
			return
		}
		defer func() { _ = server.Close() }()
		b := make([]byte, 4096)
		n, err := c.Read(b)
		if err != nil {
			return
		}
		if bytes.Contains(b[:n], []byte("clear_user")) {
			<-asks
		}
		_, _ = server.Write(b[:n])
		go func() { _, _ = io.Copy(server, c) }()
		_, _ = io.Copy(c, server)
	})
	p := start(t, how{}, func(c *Config) {
		c.MaxConnections, c.StartupTimeout = 1, 2*proxytest.Patience
		c.Upstream = fmt.Sprintf("host=127.0.0.1 port=%d sslmode=disable", slow.Port)
	})
	floodFrom(t, "127.0.0.7", p.addr, startup.MaxLogins+8, packet(3<<16, "user\x00clear_user\x00database\x00postgres\x00\x00"))
	proxytest.Eventually(t, "the server keeps as many waiting as may wait", func() bool { return p.held.Len() >= startup.MaxLogins })
	query := func(what string) {
		w := loginFrom(t, "127.0.0.8", p.addr)
		if got := w.query("select 'in'"); !strings.Contains(got, "in") {
			t.Errorf("%s: %s", what, got)
		}
		w.send(&pgproto3.Terminate{})
		w.toEnd()
		proxytest.Eventually(t, "the session has given its place back", func() bool { return p.sessions.Census().LoggedIn == 0 })
	}
	query("while the server is awaited")
	close(asks)
	proxytest.Eventually(t, "the server keeps nobody waiting", func() bool { return p.held.Len() == 0 })
	query("while the clients are awaited")
}

// TestLimitHoldsForThoseWhoLogInTogether: the last place goes to one of two that were both let as far as the password.
func TestLimitHoldsForThoseWhoLogInTogether(t *testing.T) {
	p := start(t, how{}, func(c *Config) { c.MaxConnections = 1 })
	var both []*wireClient
	for range 2 {
		w := dialWire(t, p.addr)
		w.startup("user", "clear_user", "database", "postgres")
		w.until('R')
		both = append(both, w)
	}
	var got []string
	for _, w := range both {
		w.write(wire.AppendPassword(nil, []byte("secret\x00")))
		got = append(got, w.until('Z', 'E'))
	}
	if !strings.Contains(got[0], "ReadyForQuery") || !strings.Contains(got[1], "FATAL 53300") || strings.Contains(got[1], "AuthenticationOk") {
		t.Errorf("first\n%s\nsecond\n%s", got[0], got[1])
	}
	// The place is free again after the session.
	_ = both[0].conn.Close()
	proxytest.Eventually(t, "the session has ended", func() bool { return p.sessions.Census().Known == 0 })
	login(t, p.addr)
}

// TestManyLogInAtOnce: honest clients are not taken for silent ones, however many come at once.
func TestManyLogInAtOnce(t *testing.T) {
	raiseFileLimit(t)
	p := start(t, how{}, nil)
	conns := floodFrom(t, "127.0.0.1", p.addr, 4*startup.MaxLogins, packet(3<<16, "user\x00clear_user\x00database\x00postgres\x00\x00"))
	done := make(chan string, len(conns))
	for _, c := range conns {
		go func() {
			_ = c.SetDeadline(time.Now().Add(proxytest.Patience))
			var head [9]byte
			for {
				if _, err := io.ReadFull(c, head[:1]); err != nil {
					done <- err.Error()
					return
				}
				if head[0] == wire.MsgReadyForQuery {
					done <- ""
					return
				}
				if _, err := io.ReadFull(c, head[1:5]); err != nil {
					done <- err.Error()
					return
				}
				size, _ := wire.FrameLen(head[:5])
				body := make([]byte, size-wire.HeaderSize)
				if _, err := io.ReadFull(c, body); err != nil {
					done <- err.Error()
					return
				}
				switch {
				case head[0] == wire.MsgErrorResponse:
					done <- string(body)
					return
				case head[0] == wire.MsgAuthentication && body[3] == wire.AuthCleartextPassword:
					_, _ = c.Write(wire.AppendPassword(nil, []byte("secret\x00")))
				}
			}
		}()
	}
	for range conns {
		if failed := <-done; failed != "" {
			t.Fatal(failed)
		}
	}
}

// TestLoginsBesideAFlood: while somebody opens connections that say nothing, or stop at the password, as fast as they
// can, each client that logs in gets its session; with the password, clients of other addresses.
func TestLoginsBesideAFlood(t *testing.T) {
	raiseFileLimit(t)
	for _, c := range []struct {
		name    string
		send    []byte
		sources []string
	}{
		{"silent", nil, []string{"127.0.0.8", "127.0.0.7"}},
		{"at the password", packet(3<<16, "user\x00clear_user\x00database\x00postgres\x00\x00"), []string{"127.0.0.8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, how{}, func(c *Config) { c.MaxConnections = 1 })
			ctx, cancel := context.WithCancel(t.Context())
			opened := new(atomic.Int64)
			var flooding sync.WaitGroup
			for range 3 {
				flooding.Go(func() { flood(ctx, "127.0.0.7", p.addr, c.send, opened) })
			}
			defer flooding.Wait()
			defer cancel()
			proxytest.Eventually(t, "the places are taken", func() bool { return opened.Load() > startup.MaxStartups })
			for _, source := range c.sources {
				var took []time.Duration
				for range 2 {
					began := time.Now()
					w := loginFrom(t, source, p.addr)
					took = append(took, time.Since(began))
					w.send(&pgproto3.Terminate{})
					w.toEnd()
					proxytest.Eventually(t, "the session has given its place back", func() bool { return p.sessions.Census().LoggedIn == 0 })
				}
				slices.Sort(took)
				t.Logf("from %s: median %v, longest %v, %d connections were opened", source, took[len(took)/2], took[len(took)-1], opened.Load())
			}
		})
	}
}

// TestLoginsBesideRenewedSilence: somebody has four times as many connections as there are places, stops with all at the
// password, and opens a new one for each that is closed. Whoever else is at the same address logs in all the same, and
// a client of another address has time for its password.
func TestLoginsBesideRenewedSilence(t *testing.T) {
	raiseFileLimit(t)
	p := start(t, how{}, func(c *Config) { c.StartupTimeout = time.Minute })
	atPassword := packet(3<<16, "user\x00scram_user\x00database\x00postgres\x00\x00")
	ctx, cancel := context.WithCancel(t.Context())
	closed := new(atomic.Int64)
	var flooding sync.WaitGroup
	for range 5 * startup.MaxLogins {
		flooding.Go(func() { renew(ctx, "127.0.0.7", p.addr, atPassword, closed) })
	}
	defer flooding.Wait()
	defer cancel()
	someAreClosed := func() {
		until := closed.Load() + startup.MaxLogins/2
		proxytest.Eventually(t, "silent connections are closed", func() bool { return closed.Load() >= until })
	}
	someAreClosed()
	var took []time.Duration
	for range 3 {
		began := time.Now()
		w := loginFrom(t, "127.0.0.7", p.addr)
		took = append(took, time.Since(began))
		_ = w.conn.Close()
	}
	slices.Sort(took)
	t.Logf("log-ins took %v", took) // on a machine with nothing else to do about 1 s
	dialer := net.Dialer{Timeout: proxytest.Patience, LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.8")}}
	slowly := func() (got string, silent time.Duration) {
		conn, err := dialer.DialContext(t.Context(), "tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		slow := &wireClient{t: t}
		slow.over(conn)
		slow.startup("user", "clear_user", "database", "postgres")
		slow.until('R')
		began := time.Now()
		someAreClosed() // many have come and gone meanwhile
		silent = time.Since(began)
		slow.write(wire.AppendPassword(nil, []byte("secret\x00")))
		return slow.until('Z', 'E'), silent
	}
	for range 10 {
		got, silent := slowly()
		if strings.Contains(got, "ReadyForQuery") {
			return
		}
		if silent < 2*time.Second { // of the three that it has
			t.Fatalf("after %v: %s", silent, got)
		}
		t.Logf("silent for %v: the machine has too much to do", silent)
	}
	t.Fatal("no log-in came to its password in time")
}

// renew has one connection at a time until ctx ends: it sends the bytes, waits until the connection is closed, counts
// that and opens the next.
func renew(ctx context.Context, source, addr string, send []byte, closed *atomic.Int64) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	for ctx.Err() == nil {
		c, err := dialer.DialContext(ctx, "tcp", addr)
		if err != nil {
			continue
		}
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		_, _ = c.Write(send)
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
		stop()
		closed.Add(1)
	}
}

// flood opens connections until ctx ends, and keeps the last 1,000 of them.
func flood(ctx context.Context, source, addr string, send []byte, opened *atomic.Int64) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	held := make([]net.Conn, 1000)
	defer func() {
		for _, c := range held {
			if c != nil {
				_ = c.Close()
			}
		}
	}()
	for at := 0; ctx.Err() == nil; at = (at + 1) % len(held) {
		c, err := dialer.DialContext(ctx, "tcp", addr)
		if err != nil {
			continue // the proxy's queue is full
		}
		_, _ = c.Write(send)
		if held[at] != nil {
			_ = held[at].Close()
		}
		held[at] = c
		opened.Add(1)
	}
}
