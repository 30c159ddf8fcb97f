package ops

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/internal/pgcluster"
)

// scraped are the values of one scrape, by name and labels as they were written.
type scraped map[string]float64

// get fetches a path of --http and gives status and body.
func get(t *testing.T, address, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(harness.Context(t), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func scrape(t *testing.T, address string) scraped {
	t.Helper()
	status, body := get(t, address, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	return parseMetrics(t, body)
}

// metricsWith is the text of metrics once those of a database are among them: on a busy machine it may not answer within
// the time that a scrape gives it.
func metricsWith(t *testing.T, address, database string) (body string) {
	t.Helper()
	harness.Eventually(t, func() string {
		_, body = get(t, address, "/metrics")
		if strings.Contains(body, fmt.Sprintf("mbusproxy_database_up{database=%q} 1\n", database)) {
			return ""
		}
		return "metrics of database " + database + ":\n" + body
	})
	return body
}

func parseMetrics(t *testing.T, body string) scraped {
	t.Helper()
	out := scraped{}
	for _, line := range strings.Split(body, "\n") {
		if i := strings.LastIndexByte(line, ' '); i > 0 && line[0] != '#' {
			v, err := strconv.ParseFloat(line[i+1:], 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			out[strings.TrimPrefix(line[:i], "mbusproxy_")] = v
		}
	}
	return out
}

// proxyWithHTTP starts a proxy with --http.
func proxyWithHTTP(t *testing.T, flags ...string) (*harness.Proxy, string) {
	t.Helper()
	port, err := pgcluster.FreePort("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%v", port)
	return harness.NewProxy(t, append(flags, "--http", address)...), address
}

// Each number is what was done.
func TestMetrics(t *testing.T) {
	t.Parallel()
	proxy, address := proxyWithHTTP(t, "--max-connections", "50")
	database := harness.NewQueueDatabase(t, "q", "other")
	conn := harness.Connect(t, proxy.Endpoint, database)
	for range 5 {
		harness.Ask(t, conn, "select mbus4.post('q', 'a=>1'), mbus4.post_q('a=>1')")
		harness.Ask(t, conn, "select * from mbus4.consume('other')")
	}
	harness.Ask(t, conn, "select mbus4.post('other', 'a=>1', delayed_until => '2199-01-01'); select mbus4.create_temporary_queue()")
	harness.Ask(t, conn, "select lease from mbus4.lease('q', lease => '1 h'); select mbus4.fail(lease, 'x') from mbus4.lease('q', lease => '1 h'); select mbus4.pause_queue('other')")
	for _, refused := range []string{"select mbus4.post('nowhere', 'a=>1')", "select mbus4.post('q')", "select mbus4.post('q', 1)"} {
		if _, err := harness.Query(harness.Context(t), conn, refused); err == nil {
			t.Errorf("%s was not refused", refused)
		}
	}
	inBlock, failed, waits, busy := harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
	harness.Ask(t, inBlock, "begin; select mbus4.consume('q')")
	_, _ = harness.Query(harness.Context(t), failed, "begin; select 1/0")
	ended := make(chan error, 2)
	go func() {
		_, err := harness.Query(context.Background(), waits, "select * from mbus4.consume('other', wait => '1h')")
		ended <- err
	}()
	go func() {
		_, err := harness.Query(context.Background(), busy, "select pg_sleep(3600)")
		ended <- err
	}()
	if _, err := pgconn.Connect(harness.Context(t), proxy.Endpoint.DSN("nosuchdatabase")); err == nil {
		t.Error("there is a database that there is not")
	}
	if _, err := pgconn.Connect(harness.Context(t), consoleDSN(proxy.Endpoint, "nobody_at_all", database)); harness.SQLState(err) != "28000" {
		t.Errorf("a role that there is not: %v", err)
	}
	label := func(name string, pairs ...string) string {
		var b strings.Builder
		for i := 0; i < len(pairs); i += 2 {
			fmt.Fprintf(&b, ",%s=%q", pairs[i], pairs[i+1])
		}
		return name + "{" + strings.TrimPrefix(b.String(), ",") + "}"
	}
	consumer := func(queue, state string) string {
		return label("consumer_messages", "consumer", "default", "database", database, "queue", queue, "state", state)
	}
	want := scraped{
		label("sessions", "state", "idle"): 1, label("sessions", "state", "active"): 1, label("sessions", "state", "waiting"): 1,
		label("sessions", "state", "idle in transaction"): 1, label("sessions", "state", "idle in transaction (aborted)"): 1, label("sessions", "state", "starting"): 0,
		"console_sessions": 0, "startups": 0,
		"max_sessions": 50, "draining": 0, "panics_total": 0, "lost_synchronization_total": 0,
		label("startups_failed_total", "sqlstate", "authentication"):                                    1,
		label("startups_failed_total", "sqlstate", "server"):                                            1,
		label("calls_total", "function", "post", "outcome", "ok"):                                       6,
		label("calls_total", "function", "post", "outcome", "error"):                                    1,
		label("calls_total", "function", "post_<q>", "outcome", "ok"):                                   5,
		label("calls_total", "function", "lease", "outcome", "ok"):                                      2,
		label("statements_refused_total", "sqlstate", "42883"):                                          2,
		label("waiting_calls", "database", database):                                                    1,
		label("database_up", "database", database):                                                      1,
		label("queue_consumers", "database", database, "queue", "q"):                                    1,
		consumer("q", "ready"):                                                                          7,
		consumer("q", "held"):                                                                           1,
		consumer("q", "leased"):                                                                         1,
		label("consumer_dead_messages", "consumer", "default", "database", database, "queue", "q"):      1,
		consumer("other", "delayed"):                                                                    1,
		label("consumer_paused", "consumer", "default", "database", database, "queue", "other"):         1,
		label("consumer_paused", "consumer", "default", "database", database, "queue", "q"):             0,
		label("consumer_messages_exact", "consumer", "default", "database", database, "queue", "other"): 1,
	}
	harness.Eventually(t, func() string { // until the sessions have got where they are to be
		got := scrape(t, address)
		var wrong []string
		for name, v := range want {
			if g, ok := got[name]; !ok || g != v {
				wrong = append(wrong, fmt.Sprintf("%s is %v, not %v", name, g, v))
			}
		}
		for name := range got {
			if strings.Contains(name, "temp.") || strings.Contains(name, "mbus4_temp") {
				t.Errorf("a temporary queue is shown: %s", name)
			}
		}
		if oldest := got[label("consumer_oldest_ready_seconds", "consumer", "default", "database", database, "queue", "q")]; oldest <= 0 || oldest > 300 {
			wrong = append(wrong, fmt.Sprintf("the oldest message is %v s old", oldest))
		}
		if in, out := got[`bytes_total{from="client"}`], got[`bytes_total{from="server"}`]; in < 500 || out < 500 || in > 1e6 || out > 1e6 {
			wrong = append(wrong, fmt.Sprintf("%v bytes from clients, %v from servers", in, out))
		}
		for _, m := range [][2]string{{"client", "Query"}, {"client", "Terminate"}, {"server", "DataRow"}, {"server", "ReadyForQuery"}} {
			if got[label("protocol_messages_total", "from", m[0], "message", m[1])] < 1 {
				wrong = append(wrong, fmt.Sprintf("no message %s from a %s", m[1], m[0]))
			}
		}
		if got["prepared_statements_total"] < 1 {
			wrong = append(wrong, "nothing was prepared")
		}
		if got[label("service_worked_timestamp_seconds", "database", database, "service", "housekeeping")] < float64(time.Now().Add(-time.Hour).Unix()) {
			wrong = append(wrong, "housekeeping has not worked")
		}
		return strings.Join(wrong, "\n")
	})
	// Whoever has cancelled is counted, and one that knows no key.
	if err := busy.CancelRequest(harness.Context(t)); err != nil {
		t.Error(err)
	}
	if err := waits.CancelRequest(harness.Context(t)); err != nil {
		t.Error(err)
	}
	for range 2 {
		if harness.SQLState(<-ended) != "57014" {
			t.Error("it was not cancelled")
		}
	}
	harness.Eventually(t, func() string {
		got := scrape(t, address)
		canceled, idle := got[`cancel_requests_total{session="known"}`], got[label("sessions", "state", "idle")]
		if canceled == 2 && idle == 3 {
			return ""
		}
		return fmt.Sprintf("%v cancel requests, %v idle", canceled, idle)
	})
}

// How long grants take is counted for each, a series for each database.
func TestMetricsOfGrants(t *testing.T) {
	t.Parallel()
	proxy, address := proxyWithHTTP(t)
	database := harness.NewQueueDatabaseAt(t, proxy.Endpoint, "q")
	conn := harness.Connect(t, proxy.Endpoint, database)
	harness.Ask(t, conn, "select mbus4.semaphore_get_or_create('k'), mbus4.semaphore_get_or_create('l')")
	harness.Ask(t, conn, "select mbus4.semaphore_update('k', active => 1, try_release => 0)")
	granted := func(n int) {
		t.Helper()
		var got scraped
		harness.Eventually(t, func() string {
			got = scrape(t, address)
			grants := got[fmt.Sprintf("semaphore_grants_total{database=%q}", database)]
			if grants == float64(n) {
				return ""
			}
			return fmt.Sprintf("%v grants of %d", grants, n)
		})
		count, sum := got[fmt.Sprintf("semaphore_grant_seconds_count{database=%q}", database)], got[fmt.Sprintf("semaphore_grant_seconds_sum{database=%q}", database)]
		if count < float64(n-1) || count > float64(n) || sum <= 0 || sum > 60 { // of what the first look finds it is not known
			t.Errorf("%v grants of %d in %v s", count, n, sum)
		}
		if all := got[fmt.Sprintf("semaphore_grant_seconds_bucket{database=%q,le=\"+Inf\"}", database)]; all != count {
			t.Errorf("%v in all classes, %v in all", all, count)
		}
	}
	harness.Ask(t, conn, "select mbus4.semaphore_enqueue('l', 1, 1)")
	harness.Await(t, conn, "select count(*) = 1 from mbus4.semaphore_task where status = 'ACQUIRED'")
	harness.Ask(t, conn, "select mbus4.semaphore_enqueue('k', n, 1) from generate_series(1, 3) n")
	granted(2)
	harness.Ask(t, conn, "select mbus4.semaphore_release('k', 1)")
	granted(3)
	harness.Ask(t, conn, "select mbus4.semaphore_release('k', 2)")
	granted(4)
}

// promtool agrees with names and types, the alert rules do what they say, and rules and dashboard
// name only what there is.
func TestMetricsWithPromtool(t *testing.T) {
	t.Parallel()
	proxy, address := proxyWithHTTP(t)
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, proxy.Endpoint, database)
	harness.Ask(t, conn, "select mbus4.post('q', 'a=>1')")
	_, _ = harness.Query(harness.Context(t), conn, "select mbus4.post('q')")
	metrics := metricsWith(t, address, database)
	promtool := func(stdin string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Stdin = strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("mbusproxy_")) && stdin != "" {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
	promtool(metrics, "check", "metrics")
	root := filepath.Join("..", "..", "contrib")
	rules := filepath.Join(root, "prometheus", "mbusproxy.rules.yml")
	promtool("", "check", "rules", rules)
	promtool("", "test", "rules", filepath.Join(root, "prometheus", "mbusproxy.rules.test.yml"))
	for _, file := range []string{rules, filepath.Join(root, "grafana", "mbusproxy.json")} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`\bmbusproxy_\w+`).FindAllString(string(b), -1)
		if len(names) < 8 {
			t.Errorf("%s names %d metrics", file, len(names))
		}
		for _, name := range names {
			of, _ := strings.CutSuffix(name, "_bucket")
			if !strings.Contains(metrics, "# TYPE "+name+" ") && !strings.Contains(metrics, "# TYPE "+of+" histogram") {
				t.Errorf("%s: there is no %s", file, name)
			}
		}
	}
}

// /readyz says no as soon as the proxy drains, while /healthz and /metrics go on.
func TestReady(t *testing.T) {
	t.Parallel()
	proxy, address := proxyWithHTTP(t)
	conn := harness.Connect(t, proxy.Endpoint, harness.NewQueueDatabase(t, "q"))
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := get(t, address, path); status != http.StatusOK || body != "ok\n" {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _ := get(t, address, "/nothing"); status != http.StatusNotFound {
		t.Errorf("/nothing: %d", status)
	}
	harness.Ask(t, conn, "begin") // so that the drain lasts
	stopped := make(chan error, 1)
	go func() { stopped <- proxy.Stop() }()
	harness.Eventually(t, func() string {
		status, body := get(t, address, "/readyz")
		if status == http.StatusServiceUnavailable && body == "draining\n" {
			return ""
		}
		return fmt.Sprintf("draining: %d %s", status, body)
	})
	if got := scrape(t, address); got["draining"] != 1 {
		t.Errorf("draining: %v", got["draining"])
	}
	harness.Ask(t, conn, "commit")
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// No row that members of mbus4_user may write, and no name in any encoding, takes the numbers away.
func TestMetricsOfOddRows(t *testing.T) {
	t.Parallel()
	proxy, address := proxyWithHTTP(t)
	odd, bytes := harness.NewQueueDatabase(t, "q", "ancient"), harness.NewDatabase(t)
	harness.Admin(t, "drop database "+bytes)
	harness.Admin(t, "create database "+bytes+" template template0 encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C'")
	// From a database without an encoding others are made whose names are no UTF-8, or read like
	// what such a name is shown as.
	maker := harness.Connect(t, harness.Direct(), bytes)
	for _, name := range []string{bytes + "\xff", bytes + `\xff`} {
		harness.Ask(t, maker, `create database "`+name+`" template template1`)
		t.Cleanup(func() {
			conn, err := pgconn.Connect(context.Background(), harness.Direct().DSN(bytes))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(context.Background()) }()
			if _, err := conn.Exec(context.Background(), `drop database "`+name+`" with (force)`).ReadAll(); err != nil {
				t.Error(err)
			}
		})
		cfg, err := pgconn.ParseConfig(proxy.Endpoint.DSN(bytes))
		if err != nil {
			t.Fatal(err)
		}
		cfg.Database = name
		c, err := pgconn.ConnectConfig(harness.Context(t), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close(context.Background()) }()
		harness.Ask(t, c, "select mbus4.create_queue('q', 1)")
	}
	conn := harness.Connect(t, proxy.Endpoint, odd)
	harness.Ask(t, conn, "set role mbus4_user")
	harness.Ask(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid)
		select k.id, k.id, case k.qname when 'q' then '-infinity'::timestamptz else '4713-01-02 BC' end, now(), 'odd' from mbus4.consumer k where k.qname in ('q', 'ancient')`)
	got := parseMetrics(t, metricsWith(t, address, odd))
	for name, want := range map[string]float64{
		fmt.Sprintf(`database_up{database=%q}`, odd):                                                      1,
		fmt.Sprintf(`consumer_messages{consumer="default",database=%q,queue="q",state="ready"}`, odd):     1,
		fmt.Sprintf(`consumer_oldest_ready_seconds{consumer="default",database=%q,queue="q"}`, odd):       0,
		fmt.Sprintf(`consumer_oldest_ready_seconds{consumer="default",database=%q,queue="ancient"}`, odd): 1e9,
	} {
		if v, is := got[name]; !is || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
}
