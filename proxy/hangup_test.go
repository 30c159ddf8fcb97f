package proxy

import (
	"context"
	"net"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/startup"
)

// TestHungUpLogins: those who hang up while they wait for their turn to log in have no connection to the server made for
// them, whatever they have sent before, and nobody waits for them.
func TestHungUpLogins(t *testing.T) {
	raiseFileLimit(t)
	p := start(t, how{}, func(c *Config) { c.StartupTimeout = 2 * proxytest.Patience })
	owner, err := pgconn.Connect(t.Context(), shared.cluster.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Close(context.Background()) }() // the test's context has ended then
	ask := func(sql string) string {
		results, err := owner.Exec(t.Context(), sql).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if last := results[len(results)-1]; len(last.Rows) > 0 {
			return string(last.Rows[0][0])
		}
		return ""
	}
	ask("create database kept")
	ask("create database counted")
	ask("begin; alter database kept rename to kept_no_more")
	const places = 2 * startup.MaxLogins // those of log-ins, and those of what the server keeps waiting
	floodFrom(t, "127.0.0.1", p.addr, places, packet(3<<16, "user\x00postgres\x00database\x00kept\x00\x00"))
	proxytest.Eventually(t, "the server keeps all waiting", func() bool {
		return ask("select count(*) from pg_locks where not granted and classid = 'pg_database'::regclass") == strconv.Itoa(places)
	})
	const each = 100
	said := []string{"", "X\x00\x00\x00\x04", "Q\x00\x00\x00\x0bselect"}
	for _, more := range said {
		for range each {
			c, err := net.Dial("tcp", p.addr)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write(append(packet(3<<16, "user\x00postgres\x00database\x00counted\x00\x00"), more...)); err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
		}
	}
	here := dialWire(t, p.addr)
	here.wait = 3 * proxytest.Patience
	here.startup("user", "postgres", "database", "counted")
	proxytest.Eventually(t, "all wait", func() bool { return p.Stats().Admitted == uint64(places+len(said)*each+1) })
	ask("rollback")
	here.until('Z')
	here.send(&pgproto3.Terminate{})
	proxytest.Eventually(t, "the session is counted", func() bool {
		return ask("select sessions > 0 from pg_stat_database where datname = 'counted'") == "t"
	})
	// One that has said more, and was about to wait when the first place became free, is served.
	if ask("select sessions > 10 from pg_stat_database where datname = 'counted'") == "t" {
		t.Error("the server has had sessions for those who have hung up")
	}
}
