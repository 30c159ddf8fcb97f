package security

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// attackDelay is what the 99th percentile of a bystander's statements stays under while others attack, or
// under four times that of one who is connected directly: the attacks load the machine, too.
const attackDelay = 50 * time.Millisecond

// attacks are what one client, or several, may do to hurt the others, besides what they send to the parser
// (parserAttacks). Each runs as a role without any right.
var attacks = []struct {
	name string
	do   func(a *flooder)
}{
	{"nesting", func(a *flooder) {
		const n = 50_000
		for _, pair := range []string{"()", "[]", "(select )", "case when true then  end", "not ", "- "} {
			open, end, _ := strings.Cut(pair, " ")
			if len(pair) == 2 && pair != "- " {
				open, end = pair[:1], pair[1:]
			}
			a.ask("select mbus4.generate_new_msgiid('q'), " + strings.Repeat(open+" ", n) + "1" + strings.Repeat(" "+end, n))
		}
	}},
	{"names", func(a *flooder) {
		a.ask("select mbus4.generate_new_msgiid('q')")
		a.ask(strings.Repeat("deallocate ", a.scaled(20_000)))
		a.ask(strings.Repeat("deallocate a;", a.scaled(20_000)))
	}},
	{"messages that are skipped", func(a *flooder) {
		a.skipped(a.scaled(10_000_000))
	}},
	{"unfinished texts", func(a *flooder) {
		a.unfinished(a.scaled(150))
	}},
	{"silent connections", func(a *flooder) {
		a.silent(a.scaled(2_000))
	}},
}

// flooder is who attacks.
type flooder struct {
	*testing.T
	proxy    *harness.Proxy
	database string
	user     string
	full     bool
}

// scaled is n, or a share of it in short runs.
func (a *flooder) scaled(n int) int {
	if a.full {
		return n
	}
	return max(n/10, min(n, 150))
}

func (a *flooder) dsn() string {
	return strings.Replace(a.proxy.Endpoint.DSN(a.database), "user=postgres", "user="+a.user, 1)
}

// ask sends one text from several sessions at once, each in both protocols, and takes any answer but the end of
// the session.
func (a *flooder) ask(text string) {
	a.Helper()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(a.Context(), 5*time.Minute)
			defer cancel()
			conn, err := pgconn.Connect(ctx, a.dsn())
			if err != nil {
				a.Errorf("connecting: %v", err)
				return
			}
			defer harness.Close(conn)
			_, err = conn.Exec(ctx, text).ReadAll()
			if harness.SQLState(err) == "" && err != nil {
				a.Errorf("%.60s…: %v", text, err)
			}
			if _, err := conn.Prepare(ctx, "", text, nil); harness.SQLState(err) == "" && err != nil {
				a.Errorf("preparing %.60s…: %v", text, err)
			}
			if err := conn.Exec(ctx, "select 1").Close(); err != nil {
				a.Errorf("after %.60s…: %v", text, err)
			}
		})
	}
	all.Wait()
}

// raw is a session's bare connection; it is closed with the attack.
func (a *flooder) raw() net.Conn {
	a.Helper()
	return frontend.Stream(a.T, a.proxy.Endpoint, a.database+" user="+a.user)
}

// skipped has the server skip n messages behind an error.
func (a *flooder) skipped(n int) {
	conn := a.raw()
	batch, err := (&pgproto3.Execute{}).Encode(nil)
	if err != nil {
		a.Fatal(err)
	}
	batch = []byte(strings.Repeat(string(batch), 10_000))
	frontend.Send(a.T, conn, &pgproto3.Parse{Query: "select mbus4.nosuch()"}, &pgproto3.Flush{})
	for range n / 10_000 {
		if _, err := conn.Write(batch); err != nil {
			a.Fatalf("writing: %v", err)
		}
	}
	frontend.Send(a.T, conn, &pgproto3.Sync{})
	if replies, _ := frontend.ReadReplies(conn); len(replies) == 0 || replies[len(replies)-6] != 'Z' {
		a.Errorf("after %d skipped messages: %.100q", n, replies)
	}
}

// unfinished begins n long messages that never end.
func (a *flooder) unfinished(n int) {
	text := []byte("select mbus4.post('q', '" + strings.Repeat("x", 8<<20-100))
	var conns []net.Conn
	for i := range n {
		conn := a.raw()
		conns = append(conns, conn)
		head := []byte{'Q', 0, 0x80, 0, 0}
		if i%2 == 1 {
			head = []byte{'P', 0, 0x80, 0, 0, 0}
		}
		if err := conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			a.Fatal(err)
		}
		_, _ = conn.Write(append(head, text...)) // the proxy may refuse to take it all
	}
	for _, c := range conns {
		_ = c.Close()
	}
}

// silent opens n connections that say nothing, and as many that begin to.
func (a *flooder) silent(n int) {
	var conns []net.Conn
	for i := range n {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", a.proxy.Endpoint.Host, a.proxy.Endpoint.Port), 10*time.Second)
		if err != nil {
			break // the system's own limit
		}
		conns = append(conns, conn)
		if i%2 == 1 {
			_, _ = conn.Write([]byte{0, 0, 39, 16, 0, 3})
		}
	}
	conn, err := pgconn.Connect(harness.Context(a.T), a.proxy.Endpoint.DSN(a.database))
	if err != nil {
		a.Errorf("beside %d silent connections nobody else gets in: %v", len(conns), err)
	} else {
		harness.Close(conn)
	}
	for _, c := range conns {
		_ = c.Close()
	}
}

// bystanderAsks is how many statements a bystander runs at least while others attack, who attack again until then.
const bystanderAsks = 500

// bystander is a session that works while others attack.
type bystander struct {
	conn  *pgconn.PgConn
	asked atomic.Int64
	times []time.Duration // complete when work has returned
}

// work runs statements one after another until ctx ends.
func (b *bystander) work(ctx context.Context, t *testing.T, call string) {
	for ctx.Err() == nil {
		for _, text := range []string{"select 1", call} {
			began := time.Now()
			if _, err := b.conn.Exec(t.Context(), text).ReadAll(); err != nil {
				t.Errorf("the bystander's %s: %v", text, err)
				return
			}
			b.times = append(b.times, time.Since(began))
			b.asked.Add(1)
		}
		_, _ = b.conn.Exec(t.Context(), "select pg_sleep(0.002)").ReadAll()
	}
}

// p99 is the 99th percentile of what the statements took.
func (b *bystander) p99() time.Duration {
	if len(b.times) == 0 {
		return 0
	}
	slices.Sort(b.times)
	return b.times[len(b.times)*99/100]
}

// TestAttacks makes one attack after the other: the proxy lives, its memory stays bounded, and a bystander gets
// right answers in time.
func TestAttacks(t *testing.T) {
	proxy := harness.NewPlainProxy(t)
	database := harness.NewQueueDatabase(t, "q")
	user := harness.NewRole(t)
	for _, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			ours, others := &bystander{conn: harness.Connect(t, proxy.Endpoint, database)}, &bystander{conn: harness.Connect(t, harness.Direct(), database)}
			ctx, stop := context.WithCancel(t.Context())
			var working sync.WaitGroup
			working.Go(func() { ours.work(ctx, t, "select mbus4.peek_q()") })
			working.Go(func() { others.work(ctx, t, "select exists (select from mbus4.message)") })
			peak := proxy.Peak(t, func() {
				for ours.asked.Load() < bystanderAsks || others.asked.Load() < bystanderAsks {
					attack.do(&flooder{T: t, proxy: proxy, database: database, user: user, full: harness.Long()})
				}
			})
			stop()
			working.Wait()
			t.Logf("RSS %d MiB at most; a bystander's p99 %v (%d statements), directly %v (%d)",
				peak>>20, ours.p99(), len(ours.times), others.p99(), len(others.times))
			if peak > attackMemory {
				t.Errorf("the proxy takes %d MiB", peak>>20)
			}
			limit := max(attackDelay, 4*others.p99())
			if !harness.Long() {
				limit *= 10 // the other tests run beside it
			}
			if ours.p99() > limit {
				t.Errorf("a bystander waits %v at the 99th percentile, directly %v", ours.p99(), others.p99())
			}
		})
	}
}
