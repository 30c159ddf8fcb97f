package waiting

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

const waitForOne = `select data->'n' from mbus4.consume('q', wait => '1h')`

// unswept starts a proxy that never looks for what it was not told of.
func unswept(t *testing.T) *harness.Proxy {
	t.Helper()
	return harness.NewProxy(t, "--wait-sweep", "24h")
}

// One message wakes one of those who wait, the one who has waited longest; and all this without a sweep.
func TestWaitInLine(t *testing.T) {
	t.Parallel()
	proxy, database := unswept(t), harness.NewQueueDatabase(t, "q")
	direct, poster := harness.Connect(t, harness.Direct(), database), harness.Connect(t, proxy.Endpoint, database)
	var line []*asked
	for range 6 {
		conn := harness.Connect(t, proxy.Endpoint, database)
		line = append(line, ask(t, conn, waitForOne))
		awaitWaiting(t, direct, conn)
	}
	for i, a := range line[:2] {
		harness.Ask(t, poster, `select mbus4.post('q', $1::hstore) is not null`, fmt.Sprintf("n=>%d", i))
		a.want(t, fmt.Sprint(i))
	}
	// Who gives up has his turn taken by the next.
	if err := line[2].conn.CancelRequest(harness.Context(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := line[2].answer(t); harness.SQLState(err) != "57014" {
		t.Error(err)
	}
	harness.Ask(t, poster, `select mbus4.post('q', 'n=>3')`)
	line[3].want(t, "3")
	harness.Ask(t, poster, `select mbus4.post('q', hstore('n', n::text)) from generate_series(4, 5) n`)
	got := map[string]bool{}
	for _, a := range line[4:] {
		n, err := a.answer(t)
		if err != nil {
			t.Fatal(err)
		}
		got[n] = true
	}
	if !got["4"] || !got["5"] {
		t.Errorf("got %v", got)
	}
}

// What a proxy is told of wakes without a sweep: commits of blocks, a delay that ends, a message
// that comes back, one that waited for another.
func TestWaitWakes(t *testing.T) {
	t.Parallel()
	proxy := unswept(t)
	for name, wake := range map[string]func(t *testing.T, direct, other *pgconn.PgConn){
		"block": func(t *testing.T, _, other *pgconn.PgConn) {
			harness.Ask(t, other, "begin; select mbus4.post('q', 'n=>1'); select 1; commit")
		},
		"block of several messages": func(t *testing.T, _, other *pgconn.PgConn) {
			harness.Ask(t, other, "begin")
			harness.Ask(t, other, "select mbus4.post('q', $1::hstore)", "n=>1")
			harness.Ask(t, other, "select mbus4.semaphore_get_or_create('s')")
			harness.Ask(t, other, "commit")
		},
		"function": func(t *testing.T, _, other *pgconn.PgConn) {
			harness.Ask(t, other, "select case when random() < 2 then mbus4.post('q', 'n=>1') end")
		},
		"delay": func(t *testing.T, _, other *pgconn.PgConn) {
			harness.Ask(t, other, "select mbus4.post('q', 'n=>1', delayed_until => localtimestamp + interval '1 second')")
		},
		"comes back": func(t *testing.T, direct, other *pgconn.PgConn) {
			harness.Ask(t, other, "begin; select mbus4.post('q', 'n=>1'); commit; begin")
			if got := harness.Ask(t, other, "select data->'n' from mbus4.consume('q')"); got == "" {
				t.Log("the waiting call was faster")
			}
			harness.Ask(t, other, "rollback")
		},
		"ordered": func(t *testing.T, direct, other *pgconn.PgConn) {
			harness.Ask(t, other, `select mbus4.create_queue('first', 1)`)
			harness.Ask(t, other, `select mbus4.post('first', '', iid => 'a')`)
			harness.Ask(t, other, `select mbus4.post('q', 'n=>1', headers => '`+strings.ReplaceAll(harness.WaitFor("a"), "'", "''")+`')`)
			harness.Ask(t, other, `select mbus4.consume('first')`)
		},
		"ordered behind what expires": func(t *testing.T, direct, other *pgconn.PgConn) {
			harness.Ask(t, other, `select mbus4.create_queue('first', 1)`)
			harness.Ask(t, other, `select mbus4.post('first', '', iid => 'a', expires => localtimestamp + interval '1 second')`)
			harness.Ask(t, other, `select mbus4.post('q', 'n=>1', headers => '`+strings.ReplaceAll(harness.WaitFor("a"), "'", "''")+`')`)
		},
		"ordered behind what is acknowledged": func(t *testing.T, direct, other *pgconn.PgConn) {
			harness.Ask(t, other, `select mbus4.create_queue('first', 1)`)
			harness.Ask(t, other, `select mbus4.post('first', '', iid => 'a')`)
			harness.Ask(t, other, `select mbus4.post('q', 'n=>1', headers => '`+strings.ReplaceAll(harness.WaitFor("a"), "'", "''")+`')`)
			harness.Want(t, other, "t", `select mbus4.ack($1)`, harness.Ask(t, other, `select lease from mbus4.lease('first')`))
		},
		"ordered behind what is dropped": func(t *testing.T, direct, other *pgconn.PgConn) {
			harness.Ask(t, other, `select mbus4.create_queue('first', 1)`)
			harness.Ask(t, other, `select mbus4.post('first', '', iid => 'a')`)
			harness.Ask(t, other, `select mbus4.post('q', 'n=>1', headers => '`+strings.ReplaceAll(harness.WaitFor("a"), "'", "''")+`')`)
			harness.Ask(t, other, `select mbus4.drop_queue('first')`)
		},
		"redriven": func(t *testing.T, direct, other *pgconn.PgConn) {
			harness.Ask(t, other, `begin; select mbus4.post('q', 'n=>1'); select mbus4.fail(lease) from mbus4.lease('q'); commit`)
			harness.Want(t, other, "1", `select mbus4.redrive('q')`)
		},
		"ordered behind a lease": func(t *testing.T, direct, other *pgconn.PgConn) {
			harness.Ask(t, other, `select mbus4.create_queue('first', 1)`)
			harness.Ask(t, other, `select mbus4.post('first', '', iid => 'a')`)
			harness.Ask(t, other, `select mbus4.post('q', 'n=>1', headers => '`+strings.ReplaceAll(harness.WaitFor("a"), "'", "''")+`')`)
			lease := harness.Ask(t, other, `select lease from mbus4.lease('first', lease => '1h')`)
			// The looks for what was before are over.
			harness.Await(t, direct, `select clock_timestamp() - state_change > interval '300 ms' from pg_stat_activity
				where application_name = 'mbusproxy waiting' and datname = current_database()`)
			harness.Want(t, other, "t", `select mbus4.ack($1)`, lease)
		},
		"grant of a semaphore": func(t *testing.T, _, other *pgconn.PgConn) {
			harness.Ask(t, other, "select mbus4.create_trigger('semaphore_events', 'q')")
			harness.Ask(t, other, "begin; select mbus4.semaphore_get_or_create('s'); select mbus4.semaphore_enqueue('s', 1, 0); commit")
			harness.Ask(t, other, "select mbus4.semaphore_update('s', 1, 0)")
		},
		"schedule": func(t *testing.T, _, other *pgconn.PgConn) {
			harness.Ask(t, other, "select mbus4.schedule('s', '* * * * * *', 'q', 'n=>1')")
		},
		"lease that ends": func(t *testing.T, _, other *pgconn.PgConn) {
			harness.Ask(t, other, "begin; select mbus4.post('q', 'n=>1'); select lease from mbus4.lease('q', lease => '1s'); commit")
		},
		"retry of a lease": func(t *testing.T, _, other *pgconn.PgConn) {
			lease := harness.Ask(t, other, "with p as (select mbus4.post('q', 'n=>1')) select count(*) from p; select lease from mbus4.lease('q', lease => '1h')")
			if lease != "1" {
				harness.Ask(t, other, "select mbus4.retry($1::text, 'again', '0s')", lease[2:])
			}
		},
		"resumed": func(t *testing.T, _, other *pgconn.PgConn) {
			harness.Ask(t, other, `select mbus4.pause_queue('q')`)
			harness.Ask(t, other, `select mbus4.post('q', 'n=>1')`)
			harness.Want(t, other, "", `select data->'n' from mbus4.consume('q', wait => '20ms')`)
			harness.Ask(t, other, `select mbus4.resume_queue('q')`)
		},
		"prepared transaction": func(t *testing.T, direct, other *pgconn.PgConn) {
			harness.Ask(t, other, `begin; select mbus4.post('q', 'n=>1'); prepare transaction 'wakes'`)
			harness.Want(t, other, "", `select data->'n' from mbus4.consume('q', wait => '20ms')`)
			harness.Ask(t, other, `commit prepared 'wakes'`)
		},
		"process_queue": func(t *testing.T, _, other *pgconn.PgConn) {
			harness.Ask(t, other, `select mbus4.add_message('{}')`)
			harness.Ask(t, other, `call mbus4.process_queue(1, $$select mbus4.post('q', 'n=>1')$$)`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabaseAt(t, proxy.Endpoint, "q")
			direct, other, waiter := harness.Connect(t, harness.Direct(), database), harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
			a := ask(t, waiter, waitForOne)
			awaitWaiting(t, direct, waiter)
			wake(t, direct, other)
			want := "1"
			if name == "grant of a semaphore" { // its event has no n
				want = harness.Null
			}
			a.want(t, want)
		})
	}
}

// What is posted past the proxies is found by the sweep.
func TestWaitSweep(t *testing.T) {
	t.Parallel()
	proxy, database := harness.NewProxy(t, "--wait-sweep", "100ms"), harness.NewQueueDatabase(t, "q")
	direct, waiter := harness.Connect(t, harness.Direct(), database), harness.Connect(t, proxy.Endpoint, database)
	a := ask(t, waiter, waitForOne)
	awaitWaiting(t, direct, waiter)
	harness.Ask(t, direct, harness.Stored(t, direct, `select mbus4.at_post('q', 'n=>1', null, null, null, '1')`))
	a.want(t, "1")
}

// A proxy that drains ends waits.
func TestWaitDrain(t *testing.T) {
	t.Parallel()
	proxy, database := harness.NewProxy(t), harness.NewQueueDatabase(t, "q")
	direct, conn, block := harness.Connect(t, harness.Direct(), database), harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
	harness.Ask(t, block, "begin")
	a, b := ask(t, conn, waitForOne), ask(t, block, waitForOne)
	awaitWaiting(t, direct, conn)
	awaitWaiting(t, direct, block)
	stopped := make(chan error, 1)
	go func() { stopped <- proxy.Stop() }()
	for _, a := range []*asked{a, b} {
		if _, err := a.answer(t); harness.SQLState(err) != "57P01" {
			t.Errorf("%v, want 57P01", err)
		}
	}
	harness.Close(block)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// Behind statements that are not committed yet a call cannot wait, and a block that is known to be open is one.
func TestWaitInPipeline(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	ctx := harness.Context(t)
	run := func(statements ...string) error {
		var b pgconn.Batch
		for _, s := range statements {
			b.ExecParams(s, nil, nil, nil, nil)
		}
		_, err := conn.ExecBatch(ctx, &b).ReadAll()
		return err
	}
	const wait = `select 1 from mbus4.consume('q', wait => '10ms')`
	if err := run("select 1", wait); harness.SQLState(err) != "0A000" {
		t.Errorf("%v, want 0A000", err)
	}
	if err := run(wait, "select 1"); err != nil {
		t.Error(harness.Describe(err))
	}
	harness.Ask(t, conn, "begin")
	if err := run("select 1", wait, "select 2", wait); err != nil {
		t.Error(harness.Describe(err))
	}
	harness.Ask(t, conn, "rollback")
	// As JDBC begins a block. The wait commits nothing of it.
	harness.Ask(t, conn, "create table kept (n int)")
	for _, before := range [][]string{{"begin"}, {"start transaction isolation level read committed", "insert into kept values (1)"}, {"insert into kept values (1)", "begin"}} {
		if err := run(append(before, wait)...); err != nil || conn.TxStatus() != 'T' {
			t.Errorf("%v: %s %c", before, harness.Describe(err), conn.TxStatus())
		}
		harness.Ask(t, conn, "rollback")
		harness.Want(t, conn, "0", "select count(*) from kept")
	}
	for _, before := range [][]string{{"begin", "commit", "insert into kept values (1)"}, {"begin", "savepoint s", "rollback to s"}} {
		if err := run(append(before, wait)...); harness.SQLState(err) != "0A000" {
			t.Errorf("%v: %v, want 0A000", before, err)
		}
		harness.Ask(t, conn, "rollback")
	}
	poster := harness.Connect(t, harness.Proxied(), database)
	direct := harness.Connect(t, harness.Direct(), database)
	woken := make(chan error, 1)
	go func() { woken <- run("begin", `insert into kept select 1 from mbus4.consume('q', wait => '1h')`) }()
	awaitWaiting(t, direct, conn)
	harness.Ask(t, poster, "select mbus4.post('q', 'n=>1')")
	if err := <-woken; err != nil || conn.TxStatus() != 'T' {
		t.Errorf("%s %c", harness.Describe(err), conn.TxStatus())
	}
	harness.Want(t, conn, "1", "select count(*) from kept")
	harness.Ask(t, conn, "rollback")
	harness.Want(t, conn, "1", "select data->'n' from mbus4.consume('q')")
	if err := run("begin isolation level serializable", wait); harness.SQLState(err) != "25001" {
		t.Errorf("%v, want 25001", err)
	}
	harness.Ask(t, conn, "rollback")
	harness.Want(t, conn, "0", "select count(*) from kept")
	if err := run("select 1/0", wait); harness.SQLState(err) != "22012" && harness.SQLState(err) != "0A000" {
		t.Error(harness.Describe(err))
	}
	harness.Want(t, conn, "1", "select 1")
	harness.Ask(t, conn, "begin")
	if err := run("select 1/0", wait); harness.SQLState(err) != "22012" {
		t.Error(harness.Describe(err))
	}
	harness.Ask(t, conn, "rollback")
	harness.Want(t, conn, "", wait)
}

// Many who wait get each message once.
func TestWaitMany(t *testing.T) {
	t.Parallel()
	const waiters, messages = 40, 400
	database := harness.NewQueueDatabase(t, "q")
	direct, poster := harness.Connect(t, harness.Direct(), database), harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, direct, "create table got (n int)")
	errs := make(chan error, waiters)
	for range waiters {
		conn := harness.Connect(t, harness.Proxied(), database)
		go func() {
			for {
				n, err := harness.Query(harness.Context(t), conn, "insert into got select (data->'n')::int from mbus4.consume('q', wait => '1h') returning n")
				if err != nil || n == "0" {
					errs <- err
					return
				}
			}
		}()
	}
	for i := 1; i <= messages; i++ {
		harness.Ask(t, poster, "select mbus4.post('q', $1::hstore)", fmt.Sprintf("n=>%d", i))
	}
	harness.Await(t, direct, "select count(*) = $1 from got", messages)
	harness.Ask(t, poster, "select mbus4.post('q', 'n=>0') from generate_series(1, $1)", waiters)
	for range waiters {
		if err := <-errs; err != nil {
			t.Error(harness.Describe(err))
		}
	}
	harness.Want(t, direct, fmt.Sprintf("%d|%d", messages+waiters, messages+1), "select count(*), count(distinct n) from got")
}

// A Query that waits, returns no rows and is committed: what psql sees is what it sees of any such statement.
func TestWaitWithoutRows(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	direct, poster, waiter := harness.Connect(t, harness.Direct(), database), harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, direct, "create table kept (v text)")
	for range 2 {
		tags := make(chan string, 1)
		go func() {
			results, err := waiter.Exec(harness.Context(t), "insert into kept select data->'n' from mbus4.consume('q', wait => '1h')").ReadAll()
			switch {
			case err != nil:
				tags <- harness.Describe(err)
			case len(results) != 1 || len(results[0].FieldDescriptions) != 0:
				tags <- fmt.Sprint(results)
			default:
				tags <- results[0].CommandTag.String() + " " + string(waiter.TxStatus())
			}
		}()
		awaitWaiting(t, direct, waiter)
		harness.Ask(t, poster, "select mbus4.post('q', 'n=>1')")
		if tag := <-tags; tag != "INSERT 0 1 I" {
			t.Error(tag)
		}
	}
	harness.Want(t, direct, "2", "select count(*) from kept")
}
