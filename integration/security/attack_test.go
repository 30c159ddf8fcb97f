package security

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/internal/pgcluster"
)

// attackDelay is what the 99th percentile of a bystander's statements stays under while others attack, or
// under four times that of one who is connected directly: the attacks load the machine, too.
const attackDelay = 50 * time.Millisecond

// attacks are what one client, or several, may do to hurt the others, besides what they send to the parser
// (parserAttacks). Each runs as a role without any right, or as a member of mbus4_user where it writes.
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
		a.unfinished(a.scaled(150), 8<<20, "QP")
	}},
	{"silent connections", func(a *flooder) {
		a.silent(a.scaled(2_000))
	}},
	{"silence at the password", func(a *flooder) {
		a.halfLogins(a.scaled(30_000), 1_500)
	}},
	{"new texts of many tokens", func(a *flooder) {
		a.texts(60, 10, 2_000)
	}},
	{"new texts of very many tokens", func(a *flooder) {
		a.texts(a.scaled(300)/10, 1, 60_000)
	}},
	{"new texts in many parentheses", func(a *flooder) {
		a.nested(4, a.scaled(600)/4, 1_900)
	}},
	{"unfinished texts that are not long", func(a *flooder) {
		a.unfinished(a.scaled(300), 130<<10, "Q")
	}},
	{"calls in calls", func(a *flooder) {
		a.ask("select " + strings.Repeat("mbus4.peek(", 400) + "'q'" + strings.Repeat(")", 400))
	}},
	{"connections to --http", func(a *flooder) {
		a.silentHTTP(a.scaled(400))
	}},
	{"scrapes", func(a *flooder) {
		a.scrape(a.scaled(400))
	}},
	{"scrapes that do not wait", func(a *flooder) {
		a.requests("/metrics", a.scaled(4_000))
	}},
	{"questions that do not wait", func(a *flooder) {
		a.requests("/healthz", a.scaled(4_000))
	}},
	{"requests that hang up", func(a *flooder) {
		a.hangUps(a.http, []byte("GET /page/login HTTP/1.1\r\nHost: x\r\n\r\n"), a.scaled(30_000))
	}},
	{"log-ins that hang up", func(a *flooder) {
		a.hangUps(a.address(), a.startup(a.user), a.scaled(15_000))
	}},
	{"refused statements", func(a *flooder) {
		a.refused(a.scaled(100_000))
	}},
	{"served statements that do not wait", func(a *flooder) {
		a.calls(a.scaled(100)/10, true)
	}},
	{"calls that do not wait", func(a *flooder) {
		a.calls(a.scaled(100)/10, false)
	}},
	{"long texts with a call", func(a *flooder) {
		a.longCalls(8, 5, 7<<20)
	}},
	{"long texts that the server runs for long", func(a *flooder) {
		a.longRuns(20, 7<<20)
	}},
	{"prepared statements that become long", func(a *flooder) {
		a.prepares(30, a.scaled(3_000))
	}},
	{"cancels of nobody", func(a *flooder) {
		a.cancels(a.scaled(2_000))
	}},
	{"cancels that hang up", func(a *flooder) {
		a.hangUps(a.address(), cancelOfNobody(), a.scaled(60_000))
	}},
	{"messages of nobody", func(a *flooder) {
		a.write(`insert into mbus4.message (id, consumer_id, available_at, added)
		         select n, 1000000 + n, now(), now() from generate_series(1, $1::int) n`, a.scaled(1_000_000))
	}},
	{"schedules", func(a *flooder) {
		a.write("insert into mbus4.schedule (name, cron, timezone, qname) select 's' || n, '* * * * * *', 'UTC', 'q' from generate_series(1, $1::int) n on conflict do nothing", a.scaled(3_000))
	}},
	{"changes of semaphores", func(a *flooder) {
		a.write("insert into mbus4.semaphore_change (semaphore_id) select -2147483648 + n from generate_series(0, $1::int) n", a.scaled(10_000))
	}},
}

// bystanderAsks is how many statements a bystander runs at least while others attack, who attack again until then.
func bystanderAsks() int64 {
	if harness.Long() {
		return 500
	}
	return 100 // the bound of make test is so wide that the slowest one tells
}

// bystander is a session that works while others attack.
type bystander struct {
	conn  *pgconn.PgConn
	asked atomic.Int64
	times []time.Duration // complete when work has returned
}

// work runs statements one after another until ctx ends, each third of them a text that nobody has sent before.
func (b *bystander) work(ctx context.Context, t *testing.T, call string) {
	for n := 0; ctx.Err() == nil; n++ {
		for _, text := range []string{"select 1", call, fmt.Sprintf("%s as n%d", call, n)} {
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

// watchHealth asks /healthz again and again until ctx ends, each time by a new connection, and gives the longest that it took.
func watchHealth(ctx context.Context, t *testing.T, address string) (longest time.Duration) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	for ctx.Err() == nil {
		began := time.Now()
		answer, err := client.Get("http://" + address + "/healthz")
		if err != nil {
			t.Errorf("/healthz after %v: %v", time.Since(began), err)
			return longest
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("/healthz: %s", answer.Status)
		}
		longest = max(longest, time.Since(began))
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return longest
}

// TestAttacks makes one attack after the other: the proxy lives, its memory stays bounded, and a bystander gets
// right answers in time.
func TestAttacks(t *testing.T) {
	port, err := pgcluster.FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	proxy := harness.NewPlainProxy(t, "--http", address)
	database := harness.NewQueueDatabaseAt(t, proxy.Endpoint, "q")
	user, member := harness.NewRole(t), harness.NewRole(t)
	harness.Admin(t, "grant mbus4_user to "+member)
	watcher := harness.Connect(t, harness.Direct(), database)
	for _, attack := range attacks {
		t.Run(attack.name, func(t *testing.T) {
			ours, others := &bystander{conn: harness.Connect(t, proxy.Endpoint, database)}, &bystander{conn: harness.Connect(t, harness.Direct(), database)}
			ctx, stop := context.WithCancel(t.Context())
			var working sync.WaitGroup
			working.Go(func() { ours.work(ctx, t, "select mbus4.peek_q()") })
			working.Go(func() { others.work(ctx, t, "select exists (select from mbus4.message)") })
			var health time.Duration
			working.Go(func() { health = watchHealth(ctx, t, address) })
			peak := proxy.Peak(t, func() {
				for round := 0; ours.asked.Load() < bystanderAsks() || others.asked.Load() < bystanderAsks(); round++ {
					harness.Await(t, watcher, "select not exists (select from pg_stat_activity where usename in ($1, $2))", user, member)
					attack.do(&flooder{round: round, T: t, proxy: proxy, http: address, database: database, user: user, member: member, full: harness.Long()})
				}
			})
			stop()
			working.Wait()
			t.Logf("RSS %d MiB at most; a bystander's p99 %v (%d statements), directly %v (%d); /healthz %v at most",
				peak>>20, ours.p99(), len(ours.times), others.p99(), len(others.times), health)
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
			if health > limit*20 {
				t.Errorf("/healthz takes %v", health)
			}
		})
	}
}
