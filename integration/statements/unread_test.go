package statements

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// failing are calls of all functions that can fail, in a database with the queue q, its consumer default, a
// message m in it and a semaphore s.
var failing = []struct {
	call, code string
	set        bool
}{
	{"post('nope', '')", "42704", false},
	{"post(null, '')", "42704", false},
	{"post_nope('a=>1')", "42704", false},
	{"post('nope', '', iid => 'x')", "42704", false},
	{"post('q', '', iid => 'm')", "23505", false},
	{"post('nope', '', 'a=>b')", "42704", false},
	{"post('q', '', 'consume_after=>x')", "22P02", false},
	{"consume('nope')", "42704", true},
	{"consume('q', 'nope')", "42704", true},
	{"consume_q_by_nope()", "42704", true},
	{"consumen('nope', amt => 0)", "42704", true},
	{"consumen('q', amt => -1)", "2201W", true},
	{"dyn_consume('nope', 'true')", "42704", true},
	{"dyn_consume('nope', left('true', 4))", "42704", true},
	{"take_from_q_by_nope('m')", "42704", false},
	{"take_from_nope_by_default('m')", "42704", false},
	{"create_queue('No', 1)", "42602", false},
	{"create_queue('r', 0)", "22023", false},
	{"drop_queue('nope')", "42704", false},
	{"drop_queue('dmq')", "42809", false},
	{"create_consumer('nope', 'c')", "42704", false},
	{"create_consumer('q', 'default')", "42710", false},
	{"create_consumer('q', 'dmq')", "42602", false},
	{"drop_consumer('nope', 'c')", "42704", false},
	{"drop_consumer('q', 'c')", "42704", false},
	{"drop_consumer('dmq', 'default')", "42809", false},
	{"create_trigger(null, 'q')", "22004", false},
	{"create_trigger('q', 'q')", "42P17", false},
	{"clear_queue_nope()", "42704", false},
	{"semaphore_get_or_create(null)", "22004", false},
	{"semaphore_get_or_create('')", "22023", false},
	{"semaphore_update('nope', 1, 1)", "42704", false},
	{"semaphore_update('s', 1, 2)", "22023", false},
	{"semaphore_enqueue('nope', 1, 1)", "42704", false},
	{"semaphore_enqueue('s', 1, 'NaN')", "22023", false},
	{"semaphore_release('nope', 1)", "42704", false},
	{"semaphore_release('s', null)", "22004", false},
	{"get_next_message(null)", "22004", true},
	{"create_run_function('nope')", "42704", false},
	{"estimated_messages('nope')", "42704", false},
	{"peek_nope()", "42704", false},
	{"create_temporary_consumer('nope')", "42704", false},
}

// unread are statements in which nobody reads what the call F gives. called says whether Postgres calls a volatile
// function there; one that yields a set it calls in EXISTS, too.
var unread = []struct {
	sql    string
	called bool
}{
	{"select F", true},
	{"select count(*) from (select F) s", true},
	{"select count(*) from (select F from generate_series(1, 2)) s", true},
	{"select 1 from (select F) s", true},
	{"select x from (select 1 as x, F) s", true},
	{"select count(*) from (select 1, F from (values (1), (2)) v) s", true},
	{"with x as (select F) select count(*) from x", true},
	{"with x as materialized (select F from generate_series(1, 2)) select 1 from x", true},
	{"insert into kept select 1 from (select F) s", true},
	{"select (select count(*) from (select F) s)", true},
	{"select 1 from (select F as f) s limit 1", true},
	{"select exists (select F)", false},
	{"select F limit 0", false},
	{"select 1 from (select F) s limit 0", false},
	{"select 1 from (select F) s where false", false},
	{"select 1 from (select F from generate_series(1, 2)) s where false", false},
	{"with x as (select F) select 1", false},
	{"select 1 where exists (select F)", false},
}

// unreadSets are the same for functions in FROM.
var unreadSets = []struct {
	sql    string
	called bool
}{
	{"select * from F", true},
	{"select count(*) from F", true},
	{"select 1 from F", true},
	{"select exists (select from F)", true},
	{"select exists (select 1 from F)", true},
	{"with x as (select 1 from F) select count(*) from x", true},
	{"select 1 from F limit 0", false},
	{"select 1 from F where false", false},
	{"with x as (select 1 from F) select 1", false},
}

// What the planner leaves out, since nobody reads it, holds neither the checks nor the work.
func TestUnreadCallsFail(t *testing.T) {
	t.Parallel()
	database := newUnreadDatabase(t)
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, harness.Connect(t, harness.Direct(), database), "create function fails() returns int language plpgsql volatile as $$ begin raise using errcode = 'XX999'; end $$")
	for _, s := range append(unread[:len(unread):len(unread)], unreadSets...) {
		checkUnread(t, conn, s.sql, "fails()", "XX999", s.called)
	}
	for _, f := range failing {
		for _, s := range unread {
			if f.set && strings.HasSuffix(s.sql, "limit 1") {
				continue
			}
			checkUnread(t, conn, s.sql, "mbus4."+f.call, f.code, s.called || f.set && strings.Contains(s.sql, "exists"))
		}
		for _, s := range unreadSets {
			checkUnread(t, conn, s.sql, "mbus4."+f.call, f.code, s.called)
		}
	}
}

// The work is done, too.
func TestUnreadCallsWork(t *testing.T) {
	t.Parallel()
	database := newUnreadDatabase(t)
	conn := harness.Connect(t, harness.Proxied(), database)
	for _, c := range []struct{ call, state, done string }{
		{"post('q', 'x=>1')", "select count(*) > 1 from mbus4.message", "t"},
		{"post('q', 'x=>1', iid => 'new')", "select count(*) > 1 from mbus4.message", "t"},
		{"consume('q')", "select count(*) from mbus4.message", "0"},
		{"dyn_consume('q', 'true')", "select count(*) from mbus4.message", "0"},
		{"take('m')", "select count(*) from mbus4.message", "0"},
		{"take_from_q_by_default('m')", "select count(*) from mbus4.message", "0"},
		{"create_queue('r', 1)", "select count(*) from mbus4.consumer where qname = 'r'", "1"},
		{"drop_queue('q')", "select count(*) from mbus4.consumer where qname = 'q'", "0"},
		{"add_message('{}')", "select count(*) > 0 from mbus4.work_queue", "t"},
		{"semaphore_enqueue('s', 1, 1)", "select count(*) from mbus4.semaphore_task", "1"},
	} {
		for _, s := range unread {
			want := c.done
			harness.Ask(t, conn, "begin")
			if !s.called && (!strings.Contains(c.call, "consume('") || !strings.Contains(s.sql, "exists")) {
				want = harness.Ask(t, conn, c.state)
			}
			sql := strings.ReplaceAll(s.sql, "F", "mbus4."+c.call)
			if strings.Contains(sql, "generate_series(1, 2)") && (strings.Contains(c.call, "iid") || strings.Contains(c.call, "drop_") || strings.Contains(c.call, "create_")) ||
				strings.Contains(sql, "(2)) v") && (strings.Contains(c.call, "iid") || strings.Contains(c.call, "drop_")) || strings.HasSuffix(sql, "limit 1") {
				harness.Ask(t, conn, "rollback")
				continue // fails at the second row
			}
			harness.Ask(t, conn, sql)
			if got := harness.Ask(t, conn, c.state); got != want {
				t.Errorf("%s: %s gives %s, want %s", sql, c.state, got, want)
			}
			harness.Ask(t, conn, "rollback")
		}
	}
}

// A NOTICE is an effect as well.
func TestUnreadCallsNotify(t *testing.T) {
	t.Parallel()
	conn, notices := harness.ConnectNotices(t, newUnreadDatabase(t))
	for _, call := range []string{"create_queue('q', 3)", "create_trigger('q', 'nowhere')", "create_consumer('q', 'c', noindex => true)"} {
		for _, s := range unread {
			if strings.Contains(s.sql, "generate_series") || strings.Contains(s.sql, "values") {
				continue
			}
			*notices = nil
			harness.Ask(t, conn, "begin")
			harness.Ask(t, conn, strings.ReplaceAll(s.sql, "F", "mbus4."+call))
			harness.Ask(t, conn, "rollback")
			if got := len(*notices) == 1; got != s.called {
				t.Errorf("%s in %s: %d notices", call, s.sql, len(*notices))
			}
		}
	}
}

func checkUnread(t *testing.T, conn *pgconn.PgConn, sql, call, code string, called bool) {
	t.Helper()
	sql = strings.ReplaceAll(sql, "F", call)
	harness.Ask(t, conn, "begin")
	got, err := harness.Query(harness.Context(t), conn, sql)
	harness.Ask(t, conn, "rollback")
	switch {
	case called && (err == nil || harness.SQLState(err) != code):
		t.Errorf("%s: got %q, %v; want SQLSTATE %s", sql, got, err, code)
	case !called && err != nil:
		t.Errorf("%s: %s", sql, harness.Describe(err))
	}
}

func newUnreadDatabase(t *testing.T) string {
	t.Helper()
	database := harness.NewQueueDatabase(t, "q")
	harness.Ask(t, harness.Connect(t, harness.Proxied(), database), "create table kept (n int); select mbus4.post('q', '', iid => 'm'), mbus4.semaphore_get_or_create('s')")
	return database
}
