package ops

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/internal/pgcluster"
)

// pooledWaiters are sessions whose calls wait, with few connections to the server between them.
type pooledWaiters struct {
	clients, queues, servers int
	memory                   int // by which the proxy may grow with all of them, in bytes
}

// Very many calls wait behind the proxy with few connections to the server: while they wait they
// have none. Each message comes to one of them.
func TestLongWaitersBeforePgbouncer(t *testing.T) {
	t.Parallel()
	w := pooledWaiters{clients: 200, queues: 20, servers: 5, memory: 12 << 20}
	if harness.Long() {
		// Each session takes the proxy two descriptors. See docs/adr/0018-waiting.md for what they take.
		w = pooledWaiters{clients: min(10_000, (descriptors(t)-500)/2), queues: 1000, servers: 20, memory: 104 << 20}
	}
	program := service(t, "pgbouncer")
	database := harness.NewQueueDatabase(t)
	port, err := pgcluster.FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	bouncer := startBouncer(t, program, "transaction", harness.Direct(), w.servers, w.clients+100)
	p := harness.NewPlainProxy(t, "--upstream", bouncer.DSN("postgres"), "--admin", harness.Direct().DSN("postgres"), "--http", fmt.Sprintf("127.0.0.1:%d", port))
	direct := harness.Connect(t, harness.Direct(), database)
	poster := harness.Connect(t, p.Endpoint, database)
	admin := harness.Connect(t, bouncer, "pgbouncer")
	for i := 0; i < w.queues; i += 100 { // few locks a statement
		harness.Ask(t, poster, "select mbus4.create_queue('w' || n, 1) from generate_series($1::int, $2::int) n", i, min(i+100, w.queues)-1)
	}
	before := p.Memory(t, "VmRSS")

	ctx, cancel := context.WithCancel(t.Context())
	conns, began := connectMany(t, ctx, p.Endpoint.DSN(database), w.clients), time.Now()
	t.Logf("%d sessions: the proxy's RSS %.1f MiB before, %.1f MiB with them", len(conns), mib(before), mib(p.Memory(t, "VmRSS")))
	answers := make(chan pooledAnswer, w.clients)
	var calls sync.WaitGroup
	for i, conn := range conns {
		calls.Go(func() {
			defer harness.Close(conn)
			sql := fmt.Sprintf("select data->'n' from mbus4.consume('w%d', wait => '1h')", i%w.queues)
			for {
				n, err := harness.Query(ctx, conn, sql)
				if ctx.Err() != nil {
					return
				}
				if answers <- (pooledAnswer{n, time.Now(), err}); err != nil {
					return
				}
			}
		})
	}
	awaitCalls(t, port, database, w.clients)
	t.Logf("all wait after %v: the proxy's RSS %.1f MiB, %.1f MiB at most", time.Since(began).Round(time.Millisecond), mib(p.Memory(t, "VmRSS")), mib(p.Memory(t, "VmHWM")))

	// There is no goroutine for each of them, and no connection to the server is lent to any.
	var goroutines int
	if _, err := fmt.Sscan(regexp.MustCompile(`(?m)^go_goroutines (\d+)`).FindStringSubmatch(page(t, port, "/metrics"))[1], &goroutines); err != nil || goroutines > 100+w.clients/10 {
		t.Errorf("%d goroutines while all wait, %v", goroutines, err)
	}
	if got := pool(t, admin, database); got["sv_active"] != "0" || got["cl_waiting"] != "0" {
		t.Errorf("pgbouncer's pool while all wait: %v", got)
	}
	harness.Want(t, direct, "0", "select count(*) from pg_stat_activity where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid() and application_name not like 'mbusproxy%'")
	servers := 0
	for _, state := range []string{"sv_active", "sv_idle", "sv_used", "sv_tested", "sv_login"} {
		n, err := strconv.Atoi(pool(t, admin, database)[state])
		if err != nil {
			t.Fatal(err)
		}
		servers += n
	}
	if servers > w.servers {
		t.Errorf("pgbouncer has %d connections to the server, and %d at most", servers, w.servers)
	}

	// One message at a time, then one for each.
	var took []time.Duration
	for i := range 100 {
		harness.Ask(t, poster, fmt.Sprintf("select mbus4.post('w%d', 'n=>%d')", i%w.queues, i))
		posted := time.Now()
		a := awaitAnswer(t, answers)
		if a.err != nil || a.n != fmt.Sprint(i) {
			t.Fatalf("message %d: %q, %v", i, a.n, harness.Describe(a.err))
		}
		took = append(took, max(0, a.at.Sub(posted)))
	}
	slices.Sort(took)
	t.Logf("from the commit of a post to the row at a call that waits: p50 %v, p99 %v", took[len(took)/2].Round(10*time.Microsecond), took[len(took)*99/100].Round(10*time.Microsecond))
	awaitCalls(t, port, database, w.clients)
	posted := time.Now()
	for i := 0; i < w.clients; i += w.queues {
		harness.Ask(t, poster, "select count(mbus4.post('w' || n % $3, hstore('n', n::text))) from generate_series($1::int, $2::int) n", i, min(i+w.queues, w.clients)-1, w.queues)
	}
	got := map[string]bool{}
	for range w.clients {
		a := awaitAnswer(t, answers)
		if a.err != nil || got[a.n] {
			t.Fatalf("%q, %v", a.n, harness.Describe(a.err))
		}
		got[a.n] = true
	}
	t.Logf("a message for each of them: %v", time.Since(posted).Round(time.Millisecond))
	awaitCalls(t, port, database, w.clients)
	rss := p.Memory(t, "VmRSS")
	t.Logf("and all wait again: the proxy's RSS %.1f MiB, %.1f MiB at most; %s", mib(rss), mib(p.Memory(t, "VmHWM")), heap(t, port))
	if grown := p.Memory(t, "VmHWM") - before; grown > w.memory {
		t.Errorf("the proxy has grown by %.1f MiB, and not by %.1f at most", mib(grown), mib(w.memory))
	}
	harness.Want(t, direct, "0", "select count(*) from mbus4.message")
	cancel()
	calls.Wait()
}

type pooledAnswer struct {
	n   string
	at  time.Time
	err error
}

func awaitAnswer(t *testing.T, answers <-chan pooledAnswer) pooledAnswer {
	t.Helper()
	select {
	case a := <-answers:
		return a
	case <-time.After(harness.AskLimit):
		t.Fatal("no answer")
		return pooledAnswer{}
	}
}

func mib(n int) float64 { return float64(n) / (1 << 20) }

// connectMany opens sessions, a few at a time.
func connectMany(t *testing.T, ctx context.Context, dsn string, n int) []*pgconn.PgConn {
	t.Helper()
	conns, errs := make([]*pgconn.PgConn, n), make([]error, n)
	var dials sync.WaitGroup
	places := make(chan struct{}, 16)
	for i := range conns {
		places <- struct{}{}
		dials.Go(func() {
			conns[i], errs[i] = pgconn.Connect(ctx, dsn)
			<-places
		})
	}
	dials.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("session %d: %v", i, err)
		}
	}
	return conns
}

// page is what a proxy tells of itself over HTTP.
func page(t *testing.T, port int, path string) string {
	t.Helper()
	answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", port, path))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// awaitCalls waits until so many calls wait at the proxy.
func awaitCalls(t *testing.T, port int, database string, n int) {
	t.Helper()
	want := fmt.Sprintf(`mbusproxy_waiting_calls{database="%s"} %d`, database, n)
	deadline := time.Now().Add(harness.AskLimit)
	for !strings.Contains(page(t, port, "/metrics"), want+"\n") {
		if time.Now().After(deadline) {
			t.Fatalf("not %s but %s", want, regexp.MustCompile(`mbusproxy_waiting_calls{.*`).FindString(page(t, port, "/metrics")))
		}
		<-time.After(time.Second) // the page has a line for each queue and more, and the memory it takes is measured, too
	}
}

// heap are the lines about memory in a proxy's metrics.
func heap(t *testing.T, port int) string {
	t.Helper()
	return strings.Join(regexp.MustCompile(`(?m)^go_(memstats_(heap_inuse|stack_inuse|heap_alloc|heap_idle|heap_released|sys)_bytes|goroutines) .*`).FindAllString(page(t, port, "/metrics"), -1), ", ")
}

// pool is pgbouncer's row of SHOW POOLS for a database.
func pool(t *testing.T, admin *pgconn.PgConn, database string) map[string]string {
	t.Helper()
	results, err := admin.Exec(harness.Context(t), "show pools").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	row := map[string]string{}
	for _, values := range results[0].Rows {
		if string(values[0]) != database {
			continue
		}
		for i, f := range results[0].FieldDescriptions {
			row[f.Name] = string(values[i])
		}
	}
	return row
}

// descriptors is how many a process may have.
func descriptors(t *testing.T) int {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return int(limit.Max)
}
