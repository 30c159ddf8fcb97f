package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/wire"
)

// TestTargetSessionAttrs: hosts are asked once for many sessions, and one that is silent or gone
// does not keep sessions from one that fits.
func TestTargetSessionAttrs(t *testing.T) {
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = deaf.Close() }()
	asked := new(atomic.Int32)
	front := countingRelay(t, asked)
	upstream := fmt.Sprintf("postgres://127.0.0.1:%d,127.0.0.1:%d/?sslmode=prefer&connect_timeout=600&target_session_attrs=",
		deaf.Addr().(*net.TCPAddr).Port, front)
	t.Run("fits", func(t *testing.T) {
		p := start(t, how{}, func(c *Config) {
			c.Upstream, c.Admin = upstream+"read-write", shared.cluster.DSN("postgres")
		})
		const n = 10
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				if err := rawLoginQuietly(p.addr); err != nil {
					t.Error(err)
				}
			})
		}
		began := time.Now()
		all.Wait()
		if took := time.Since(began); took > proxytest.Patience { // less than the deaf one is waited for
			t.Errorf("%d sessions took %v", n, took)
		}
		// Each session is one connection; what is more are questions.
		if got := asked.Load(); got < n+1 || got > n+4 {
			t.Errorf("%d connections for %d sessions", got, n)
		}
	})
	t.Run("none fits", func(t *testing.T) {
		p := start(t, how{}, func(c *Config) {
			c.Upstream = strings.Replace(upstream, "connect_timeout=60", "connect_timeout=1", 1) + "standby"
			c.Admin = shared.cluster.DSN("postgres")
		})
		w := dialWire(t, p.addr)
		w.startup("user", "postgres")
		if got := w.toEnd(); !strings.Contains(got, `FATAL 08001 "mbusproxy found no Postgres server that takes this kind of session"`) {
			t.Error(got)
		}
	})
	t.Run("the database's search path", func(t *testing.T) {
		ctx := t.Context()
		admin, err := pgconn.Connect(ctx, shared.cluster.DSN("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = admin.Close(ctx) }()
		run := func(conn *pgconn.PgConn, sql string) {
			t.Helper()
			if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		run(admin, "create database shadowed")
		defer func() { _, _ = admin.Exec(context.WithoutCancel(ctx), "drop database shadowed with (force)").ReadAll() }()
		own, err := pgconn.Connect(ctx, shared.cluster.DSN("shadowed"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = own.Close(ctx) }()
		run(own, "create schema shadow")
		run(own, "create table shadow.seen (who text)")
		run(own, `create function shadow.pg_is_in_recovery() returns boolean language sql as
			'insert into shadow.seen values (current_user); select true'`)
		run(own, "alter database shadowed set search_path = shadow, pg_catalog")
		p := start(t, how{}, func(c *Config) { c.Upstream, c.Admin = upstream+"primary", shared.cluster.DSN("shadowed") })
		if err := rawLoginQuietly(p.addr); err != nil {
			t.Error(err)
		}
		seen, err := own.Exec(ctx, "select who from shadow.seen").ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(seen[0].Rows) > 0 {
			t.Errorf("a function of the database's was run as %s", seen[0].Rows[0][0])
		}
	})
	t.Run("nobody to ask as", func(t *testing.T) {
		_, err := New(Config{Listen: []string{"127.0.0.1:0"}, Upstream: upstream + "primary"})
		if err == nil || !strings.Contains(err.Error(), "needs a role") {
			t.Errorf("got %v", err)
		}
	})
}

// rawLoginQuietly goes through startup and closes.
func rawLoginQuietly(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(packet(3<<16, "user\x00postgres\x00database\x00postgres\x00\x00")); err != nil {
		return err
	}
	var all []byte
	var b [1024]byte
	for len(all) < 6 || all[len(all)-6] != wire.MsgReadyForQuery {
		n, err := conn.Read(b[:])
		if err != nil {
			return err
		}
		all = append(all, b[:n]...)
	}
	return nil
}

// countingRelay passes connections on to the shared cluster and counts them.
func countingRelay(t *testing.T, count *atomic.Int32) (port int) {
	t.Helper()
	return proxytest.Pretend(t, func(c net.Conn) {
		count.Add(1)
		relayTo(c, fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port()))
	}).Port
}

// relayTo moves bytes both ways until one side ends.
func relayTo(client net.Conn, address string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}
