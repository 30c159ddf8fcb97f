package waiting

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// asked is a call under way in a session of its own.
type asked struct {
	conn *pgconn.PgConn
	done chan struct{}
	got  string
	err  error
}

// ask sends a statement and does not wait for the answer. What is unanswered when the test ends is given up.
func ask(t *testing.T, conn *pgconn.PgConn, sql string, args ...any) *asked {
	t.Helper()
	a := &asked{conn: conn, done: make(chan struct{})}
	ctx, giveUp := context.WithCancel(context.Background())
	go func() {
		defer close(a.done)
		a.got, a.err = harness.Query(ctx, conn, sql, args...)
	}()
	t.Cleanup(func() {
		giveUp()
		<-a.done
	})
	return a
}

// answer waits for it.
func (a *asked) answer(t *testing.T) (string, error) {
	t.Helper()
	select {
	case <-a.done:
	case <-time.After(harness.AskLimit):
		t.Fatal("no answer")
	}
	return a.got, a.err
}

// want waits for it and compares it.
func (a *asked) want(t *testing.T, expected string) {
	t.Helper()
	if got, err := a.answer(t); err != nil || got != expected {
		t.Errorf("got %q, %v, want %q", got, err, expected)
	}
}

// awaitWaiting waits until the session waits: its server has looked and is idle.
func awaitWaiting(t *testing.T, direct *pgconn.PgConn, of *pgconn.PgConn) {
	t.Helper()
	harness.Await(t, direct, `select state in ('idle', 'idle in transaction') and query like '%at_await%' and backend_xmin is null
		from pg_stat_activity where pid = $1`, int(of.PID()))
}

func TestWaitForPost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, sql string
		args        []any
	}{
		"simple":              {sql: `select data->'n' from mbus4.consume('q', wait => '20s')`},
		"star":                {sql: `select (c).data->'n' from mbus4.consume('q', 'default', '20s'::interval) c`},
		"family":              {sql: `select data->'n' from mbus4.consume_q_by_default(wait => '20s')`},
		"parameters":          {sql: `select data->'n' from mbus4.consume($1, wait => $2)`, args: []any{"q", "20s"}},
		"many":                {sql: `select data->'n' from mbus4.consumen('q', amt => 5, wait => '20s')`},
		"all":                 {sql: `select data->'n' from mbus4.consumen('q', amt => null, wait => '20s')`},
		"all leased":          {sql: `select data->'n' from mbus4.lease('q', amt => null, lease => '1 min', wait => '20s')`},
		"JSON":                {sql: `select data->'n' from mbus4.consume_json('q', wait => '20s')`},
		"dyn":                 {sql: `select data->'n' from mbus4.dyn_consume('q', $$(t.data->'n') <> '0'$$, wait => '20s')`},
		"block":               {before: "begin", sql: `select data->'n' from mbus4.consume('q', wait => '20s')`},
		"parameters in block": {before: "begin", sql: `select data->'n' from mbus4.consume($1, wait => $2)`, args: []any{"q", "20s"}},
		"lease":               {sql: `select data->'n' from mbus4.lease('q', wait => '20s')`},
		"insert":              {sql: `insert into kept select data->'n' from mbus4.consume('q', wait => '20s') returning v`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q")
			direct, poster, waiter := harness.Connect(t, harness.Direct(), database), harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
			harness.Ask(t, direct, "create table kept (v text)")
			if c.before != "" {
				harness.Ask(t, waiter, c.before)
			}
			a := ask(t, waiter, c.sql, c.args...)
			awaitWaiting(t, direct, waiter)
			idle := "idle|t|t"
			if c.before != "" {
				idle = "idle in transaction|f|t"
			}
			harness.Want(t, direct, idle, `select state, xact_start is null, backend_xid is null and backend_xmin is null from pg_stat_activity where pid = $1`, int(waiter.PID()))
			harness.Ask(t, poster, `select mbus4.post('q', 'n=>1') is not null`)
			a.want(t, "1")
			if c.before != "" {
				harness.Ask(t, waiter, "rollback")
				a := ask(t, poster, `select data->'n' from mbus4.consume('q', wait => '20s')`)
				a.want(t, "1")
			}
			harness.Want(t, waiter, "", `select data->'n' from mbus4.consume('q', wait => '50ms')`)
		})
	}
}

func TestWaitRefused(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	for _, c := range []struct{ code, sql string }{
		{"42704", `select * from mbus4.consume('nosuch', wait => '1s')`},
		{"42704", `select * from mbus4.consume('q', 'nosuch', wait => '1s')`},
		{"22007", `select * from mbus4.consume('q', wait => 'soon')`},
		{"0A000", `select 1; select * from mbus4.consume('q', wait => '1s')`},
		{"0A000", `explain select * from mbus4.consume('q', wait => '1s')`},
		{"0A000", `prepare p as select * from mbus4.consume('q', wait => '1s')`},
		{"0A000", `select mbus4.consume('q', wait => '1s') from generate_series(1, 2)`},
		{"0A000", `select case when random() < 2 then (select count(*) from mbus4.consume('q', wait => '1s')) end`},
		{"0A000", `select * from mbus4.consume('q', wait => '1s'), mbus4.consume('q', wait => '1s') d`},
		{"0A000", `select * from mbus4.consume('q', wait => now() - now())`},
		// What the call says wrongly else it is told before it waits.
		{"2201W", `select * from mbus4.consumen('q', amt => -1, wait => '1h')`},
		{"22P02", `select * from mbus4.consumen('q', amt => 'many', wait => '1h')`},
		{"2201W", `select * from mbus4.lease('q', amt => -1, wait => '1h')`},
		{"22023", `select * from mbus4.lease('q', lease => '0', wait => '1h')`},
		{"22007", `select * from mbus4.lease('q', lease => 'long', wait => '1h')`},
		{"42601", `select * from mbus4.dyn_consume('q', 'true (', wait => '1h')`},
		{"22012", `select * from mbus4.dyn_consume('q', '1 / 0 = 1', wait => '1h')`},
	} {
		harness.Refused(t, conn, c.code, c.sql)
	}
	for _, level := range []string{"repeatable read", "serializable"} {
		harness.Ask(t, conn, "begin isolation level "+level)
		harness.Refused(t, conn, "25001", `select * from mbus4.consume('q', wait => '1s')`)
		harness.Refused(t, conn, "25P02", `select * from mbus4.consume('q', wait => '1s')`)
		harness.Ask(t, conn, "rollback")
	}
	long := strings.Repeat("x", 40<<10)
	harness.Refused(t, conn, "54000", `select * from mbus4.consume('q', wait => '1s') /* `+long+` */`)
	harness.Refused(t, conn, "54000", `select $1 from mbus4.consume('q', wait => $2)`, long, "1s")
	harness.Refused(t, conn, "2201W", `select * from mbus4.consumen($1, amt => $2, wait => $3)`, "q", -1, "1h")
	harness.Refused(t, conn, "22023", `select * from mbus4.lease($1, lease => $2, wait => $3)`, "q", "366 days", "1h")
	harness.Want(t, conn, "", `select * from mbus4.consume('q', wait => null)`)
	harness.Want(t, conn, "", `select * from mbus4.consume('q', wait => '-1s')`)
	harness.Want(t, conn, "", `select * from mbus4.consume($1, wait => $2)`, "q", nil)
}

// TestWaitEnds: what ends a running statement ends a wait.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "r")
	direct := harness.Connect(t, harness.Direct(), database)
	const wait = `select data->'n' from mbus4.consume('q', wait => '1h')`
	refusedWith := func(t *testing.T, a *asked, code string) {
		t.Helper()
		if _, err := a.answer(t); harness.SQLState(err) != code {
			t.Errorf("%v, want %s", err, code)
		}
	}
	t.Run("cancel", func(t *testing.T) {
		conn := harness.Connect(t, harness.Proxied(), database)
		for _, args := range [][]any{nil, {}} {
			a := ask(t, conn, wait, args...)
			awaitWaiting(t, direct, conn)
			if err := conn.CancelRequest(harness.Context(t)); err != nil {
				t.Fatal(err)
			}
			refusedWith(t, a, "57014")
			harness.Want(t, conn, "1", "select 1")
		}
	})
	t.Run("statement_timeout", func(t *testing.T) {
		conn := harness.Connect(t, harness.Proxied(), database)
		harness.Ask(t, conn, "set statement_timeout = '300ms'")
		refusedWith(t, ask(t, conn, wait), "57014")
		refusedWith(t, ask(t, conn, `select data->'n' from mbus4.consume($1, wait => $2)`, "q", "1h"), "57014")
	})
	t.Run("idle timeouts do not", func(t *testing.T) {
		conn := harness.Connect(t, harness.Proxied(), database)
		harness.Ask(t, conn, "set idle_session_timeout = '6s'; set idle_in_transaction_session_timeout = '6s'")
		ask(t, conn, `select 1 from mbus4.consume('q', wait => '7s')`).want(t, "")
		harness.Ask(t, conn, "begin")
		ask(t, conn, `select 1 from mbus4.consume('q', wait => '7s')`).want(t, "")
		harness.Ask(t, conn, "commit")
	})
	t.Run("client gone", func(t *testing.T) {
		conn := harness.Connect(t, harness.Proxied(), database)
		pid := conn.PID()
		ask(t, conn, wait)
		awaitWaiting(t, direct, conn)
		if err := harness.Abort(conn); err != nil {
			t.Fatal(err)
		}
		// Nothing is taken for it.
		poster := harness.Connect(t, harness.Proxied(), database)
		harness.Ask(t, poster, "select mbus4.post('q', 'n=>1')")
		harness.AwaitBackendGone(t, direct, pid)
		harness.Want(t, poster, "1", "select data->'n' from mbus4.consume('q')")
	})
	t.Run("server gone", func(t *testing.T) {
		conn := harness.Connect(t, harness.Proxied(), database)
		a := ask(t, conn, wait)
		awaitWaiting(t, direct, conn)
		harness.Ask(t, direct, "select pg_terminate_backend($1)", int(conn.PID()))
		refusedWith(t, a, "57P01")
	})
	t.Run("paused queue", func(t *testing.T) { // a paused queue is an empty one
		conn, other := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
		a := ask(t, conn, `select data->'n' from mbus4.consume('r', wait => '2s')`)
		awaitWaiting(t, direct, conn)
		harness.Ask(t, other, "select mbus4.pause_queue('r')")
		harness.Ask(t, other, "select mbus4.post('r', 'n=>1')")
		a.want(t, "")
		harness.Ask(t, other, "select mbus4.resume_queue('r')")
		harness.Want(t, other, "1", "select data->'n' from mbus4.consume('r')")
	})
	t.Run("dropped queue", func(t *testing.T) {
		conn, other := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
		a := ask(t, conn, `select data->'n' from mbus4.consume('r', wait => '1h')`)
		awaitWaiting(t, direct, conn)
		harness.Ask(t, other, "select mbus4.drop_queue('r')")
		refusedWith(t, a, "42704")
	})
	harness.Want(t, direct, "0", "select count(*) from mbus4.message")
}

// Who may consume may wait, and nobody else.
func TestWaitRights(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	member, stranger := harness.NewRole(t), harness.NewRole(t)
	harness.Admin(t, "grant mbus4_user to "+member)
	direct := harness.Connect(t, harness.Direct(), database)
	conn := harness.ConnectAs(t, harness.Proxied(), database, member)
	poster := harness.Connect(t, harness.Proxied(), database)
	for _, call := range []string{
		"consume('q', wait => '1h')", "dyn_consume('q', '1=1', wait => '1h')", "take('m', wait => '1h')", "take_from_q_by_default('m', wait => '1h')", "lease('q', wait => '1h')",
	} {
		a := ask(t, conn, "select data->'n' from mbus4."+call)
		awaitWaiting(t, direct, conn)
		harness.Ask(t, poster, "select mbus4.post('q', 'n=>1', iid => 'm')")
		a.want(t, "1")
	}
	harness.Refused(t, harness.ConnectAs(t, harness.Proxied(), database, stranger), "42501", "select * from mbus4.consume('q', wait => '1h')")
	// Who loses them while he waits gets nothing: he is told when he is woken, or when his time is over.
	harness.Ask(t, poster, "select mbus4.purge_queue('q')") // the leased one
	for _, wait := range []string{"1h", "1s"} {
		a := ask(t, conn, "select data->'n' from mbus4.consume('q', wait => '"+wait+"')")
		awaitWaiting(t, direct, conn)
		harness.Admin(t, "revoke mbus4_user from "+member)
		if wait == "1h" {
			harness.Ask(t, poster, "select mbus4.post('q', 'n=>1', iid => 'm')")
		}
		if _, err := a.answer(t); harness.SQLState(err) != "42501" {
			t.Errorf("%s: %v, want 42501", wait, err)
		}
		harness.Admin(t, "grant mbus4_user to "+member)
		if wait == "1h" {
			harness.Want(t, poster, "m", "select iid from mbus4.consume('q')")
		}
	}
}

// A call that stands behind others without having looked waits as any other, and one whose session
// says otherwise looks first.
func TestWaitBehindOthers(t *testing.T) {
	t.Parallel()
	proxy, database := unswept(t), harness.NewQueueDatabase(t, "q")
	direct := harness.Connect(t, harness.Direct(), database)
	poster, first, second := harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
	// Both have waited before.
	for _, conn := range []*pgconn.PgConn{first, second} {
		harness.Want(t, conn, "", `select 1 from mbus4.consume('q', wait => '1ms')`)
	}
	standing := func(t *testing.T, of *pgconn.PgConn, before string) {
		t.Helper()
		// Its last statement is still the one before, as far as the server knows.
		harness.Await(t, direct, `select state = 'idle' and query = $2 from pg_stat_activity where pid = $1`, int(of.PID()), before)
	}
	for i := range 4 {
		a := ask(t, first, waitForOne)
		awaitWaiting(t, direct, first)
		harness.Ask(t, second, "select 'before'")
		b := ask(t, second, waitForOne)
		if i > 1 { // by then the proxy has found out what it asks a session once
			standing(t, second, "select 'before'")
		}
		harness.Ask(t, poster, `select count(mbus4.post('q', 'n=>1')) from generate_series(1, 2)`)
		a.want(t, "1")
		b.want(t, "1")
	}
	a := ask(t, first, waitForOne)
	awaitWaiting(t, direct, first)
	harness.Ask(t, second, "set statement_timeout = '300ms'")
	began := time.Now()
	if _, err := ask(t, second, waitForOne).answer(t); harness.SQLState(err) != "57014" || time.Since(began) > 3*time.Second { // nothing else would end it
		t.Errorf("%v after %v, want 57014 after 300 ms", err, time.Since(began))
	}
	harness.Ask(t, second, "reset statement_timeout")
	harness.Want(t, second, "", `select 1 from mbus4.consume('q', wait => '1200 ms')`)
	// Without a look it waits no longer than that, and can be cancelled.
	harness.Want(t, second, "", `select 1 from mbus4.consume('q', wait => '2s')`)
	harness.Ask(t, second, "set statement_timeout = '3s'")
	for range 2 { // the second time it knows that
		began := time.Now()
		if _, err := ask(t, second, waitForOne).answer(t); harness.SQLState(err) != "57014" || time.Since(began) > 8*time.Second {
			t.Errorf("%v after %v, want 57014 after 3 s", err, time.Since(began))
		}
	}
	harness.Ask(t, second, "reset statement_timeout")
	harness.Want(t, second, "", `select 1 from mbus4.consume('q', wait => '10ms')`)
	b := ask(t, second, waitForOne)
	for canceled := false; !canceled; { // the request may come before the call
		if err := second.CancelRequest(harness.Context(t)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-b.done:
			canceled = true
		case <-time.After(50 * time.Millisecond):
		}
	}
	if _, err := b.answer(t); harness.SQLState(err) != "57014" {
		t.Error(err)
	}
	harness.Ask(t, poster, `select mbus4.post('q', 'n=>1')`)
	a.want(t, "1")
}

// A delay that was there before anybody waited wakes at its end, also where the Watcher is busy with others.
func TestWaitForDelayFromBefore(t *testing.T) {
	t.Parallel()
	proxy, database := unswept(t), harness.NewQueueDatabase(t, "q", "r")
	direct := harness.Connect(t, harness.Direct(), database)
	poster, other, waiter := harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
	b := ask(t, other, `select data->'n' from mbus4.consume('r', wait => '1h')`)
	awaitWaiting(t, direct, other)
	harness.Ask(t, poster, `select mbus4.post('q', 'n=>1', delayed_until => localtimestamp + interval '2 seconds')`)
	time.Sleep(300 * time.Millisecond) // the look that follows the post is over
	a := ask(t, waiter, waitForOne)
	a.want(t, "1")
	harness.Ask(t, poster, `select mbus4.post('r', 'n=>2')`)
	b.want(t, "2")
}
