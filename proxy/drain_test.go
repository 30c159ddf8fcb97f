package proxy

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
)

func TestDrain(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, nil)
		idle, sleeping, inBlock := login(t, p.addr), login(t, p.addr), login(t, p.addr)
		fresh := dialWire(t, p.addr)
		fresh.startup("user", "clear_user", "database", "postgres")
		fresh.until('R')
		inBlock.query("begin")
		sleeping.send(&pgproto3.Query{String: "select pg_advisory_lock(77)"})
		sleeping.until('Z')
		busy := login(t, p.addr)
		busy.send(&pgproto3.Query{String: "select pg_advisory_lock_shared(77); select 'done'"})
		admin := login(t, fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port()))
		proxytest.Eventually(t, "the query waits", func() bool {
			return strings.Contains(admin.query(fmt.Sprintf("select wait_event from pg_stat_activity where pid = %d", busy.key.ProcessID)), "advisory")
		})
		sleeping.query("begin")
		ended := make(chan error, 1)
		go func() { ended <- p.Shutdown(context.Background()) }()
		const goodbye = `ErrorResponse FATAL 57P01 "terminating connection due to administrator command"` + "\nclosed"
		if got := idle.toEnd(); got != goodbye {
			t.Errorf("idle session: %s", got)
		}
		if got := fresh.toEnd(); got != goodbye {
			t.Errorf("startup under way: %s", got)
		}
		if _, err := net.Dial("tcp", p.addr); err == nil {
			t.Error("still accepting")
		}
		proxytest.Eventually(t, "the idle session's backend has ended", backendGone(t, admin, idle.key.ProcessID))
		if got := inBlock.query("select 'in block'"); !strings.Contains(got, "in block") {
			t.Errorf("session in a block: %s", got)
		}
		inBlock.send(&pgproto3.Query{String: "commit"})
		if got := inBlock.toEnd(); got != "CommandComplete COMMIT\nReadyForQuery I\n"+goodbye {
			t.Errorf("session in a block: %s", got)
		}
		sleeping.query("select pg_advisory_unlock(77)")
		if got := busy.toEnd(); !strings.Contains(got, "done") || !strings.HasSuffix(got, goodbye) {
			t.Errorf("busy session: %s", got)
		}
		select {
		case err := <-ended:
			t.Errorf("Shutdown returned with a session left: %v", err)
		default:
		}
		sleeping.send(&pgproto3.Query{String: "rollback"})
		sleeping.toEnd()
		for _, w := range []*wireClient{idle, sleeping, inBlock, busy, fresh} {
			_ = w.conn.Close()
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(proxytest.Patience):
			t.Fatalf("Shutdown does not return\n%s", stacks())
		}
	})
}

func TestDrainTimeout(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.DrainTimeout = 50 * time.Millisecond })
		inBlock, busy, deaf := login(t, p.addr), login(t, p.addr), login(t, p.addr)
		inBlock.query("begin")
		busy.send(&pgproto3.Query{String: "select pg_sleep(5)"})
		deaf.send(&pgproto3.Query{String: "select repeat('x', 1000) from generate_series(1, 100000)"})
		ended := make(chan error, 1)
		go func() { ended <- p.Shutdown(context.Background()) }()
		for _, w := range []*wireClient{inBlock, busy} {
			if got := w.toEnd(); !strings.Contains(got, "FATAL 57P01") {
				t.Error(got)
			}
			_ = w.conn.Close()
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(proxytest.Patience):
			t.Fatalf("Shutdown does not return\n%s", stacks())
		}
	})
}

// TestDrainTimeoutCancels: what a session ran when it was cut off does not run on in the server.
func TestDrainTimeoutCancels(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		p := start(t, way, func(c *Config) { c.DrainTimeout = 50 * time.Millisecond })
		admin := login(t, fmt.Sprintf("127.0.0.1:%d", shared.cluster.Port()))
		var busy []*wireClient
		for range 3 {
			w := login(t, p.addr)
			w.send(&pgproto3.Query{String: "select pg_sleep(600)"})
			proxytest.Eventually(t, "the query runs", func() bool {
				return strings.Contains(admin.query(fmt.Sprintf("select wait_event from pg_stat_activity where pid = %d", w.key.ProcessID)), "PgSleep")
			})
			busy = append(busy, w)
		}
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		for _, w := range busy {
			if got := w.toEnd(); !strings.Contains(got, "57014") && !strings.Contains(got, "FATAL 57P01") {
				t.Error(got)
			}
			proxytest.Eventually(t, "the backend has ended", backendGone(t, admin, w.key.ProcessID))
		}
	})
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		before := runtime.NumGoroutine()
		p := start(t, way, nil)
		for range 5 {
			w := login(t, p.addr)
			defer func() { _ = w.conn.Close() }()
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		p.wait(t)
		proxytest.Eventually(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
	})
}
