package delivery

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// heldSQL is what a session's locks tell the hinter: which queues its transaction has posted to.
const heldSQL = `
select string_agg(what, ' ' order by what) from (
	select distinct coalesce(q.qname, l.relation::regclass::text) as what
	from pg_locks l
	left join mbus4.queue q on l.locktype = 'advisory' and l.classid = 1835169140 and l.objid = hashtext(q.qname) & 63
	where l.pid = %d and l.mode in ('RowExclusiveLock', 'ShareLock')
	  and (l.relation in ('mbus4.post_id'::regclass, 'mbus4.message_id'::regclass) or q.qname is not null)) x`

// newPostingTest makes a database whose queues a, b and c are of different classes.
func newPostingTest(t *testing.T) (database string, admin, conn *pgconn.PgConn) {
	t.Helper()
	database = harness.NewQueueDatabase(t, "a", "b", "c")
	admin, conn = harness.Connect(t, harness.Direct(), database), harness.Connect(t, harness.Proxied(), database)
	harness.Want(t, admin, "4", "select count(distinct hashtext(q) & 63) from unnest('{a,b,c,dmq}'::text[]) q")
	return database, admin, conn
}

// Whoever posts says so by locks before anything is stored, in whatever way it is posted.
func TestPostsTellTheirQueues(t *testing.T) {
	t.Parallel()
	_, admin, conn := newPostingTest(t)
	harness.Ask(t, conn, "select mbus4.create_queue('chosen', 1); select mbus4.create_consumer('some', 'chosen', '(t.data->''a'')::int = 1')")
	harness.Ask(t, conn, "select mbus4.create_trigger('b', 'c'); select mbus4.create_view('a', viewname => 'into_a')")
	harness.Ask(t, conn, "select mbus4.post('c', 'a=>1', iid => 'first'); select mbus4.post('a', 'a=>1', 'consume_after=>{first}')")
	for sql, want := range map[string]string{
		"select mbus4.post('a', 'a=>1')": "a mbus4.post_id",
		"select mbus4.post_a('a=>1')":    "a mbus4.post_id",
		"select mbus4.post('A', 'a=>1')": "a mbus4.post_id",
		"select count(mbus4.post('a', hstore('n', n::text))) from generate_series(1,3) n": "a mbus4.post_id",
		"select mbus4.post(q, 'a=>1') from unnest('{a,c}'::text[]) q":                     "a c mbus4.post_id",
		"select mbus4.post('a', 'a=>1', delayed_until => now() + interval '1 h')":         "a mbus4.post_id",
		"select mbus4.post('a', 'a=>1', headers => 'k=>v', iid => 'mine')":                "a mbus4.post_id",
		"select mbus4.post('a', 'a=>1', 'consume_after=>{first}')":                        "a mbus4.post_id",
		"select mbus4.post('b', 'a=>1')":                                                  "b c mbus4.post_id",
		"select mbus4.post('chosen', 'a=>1')":                                             "chosen mbus4.post_id",
		"select case when true then mbus4.post('a', 'a=>1') end":                          "a mbus4.post_id",
		"insert into into_a (data) values ('a=>1')":                                       "a mbus4.post_id",
		"select mbus4.post('dmq', 'a=>1')":                                                "dmq mbus4.post_id",
		"select iid from mbus4.consume('c')":                                              "a mbus4.post_id", // wakes one of a
		"select mbus4.generate_new_msgiid('a')":                                           "mbus4.post_id",
		"select * from mbus4.consume('a')":                                                "∅",
	} {
		harness.Ask(t, conn, "begin")
		harness.Ask(t, conn, sql)
		if got := harness.Ask(t, admin, fmt.Sprintf(heldSQL, conn.PID())); got != want {
			t.Errorf("%s: the transaction holds %q, want %q", sql, got, want)
		}
		harness.Ask(t, conn, "rollback")
	}
}

// Somebody without any right, who takes the locks that posts ask for, stops nobody, and nothing is hidden.
func TestPostsBesideAdvisoryLocks(t *testing.T) {
	t.Parallel()
	database, admin, conn := newPostingTest(t)
	hostile := harness.ConnectAs(t, harness.Direct(), database, harness.NewRole(t))
	harness.Ask(t, hostile, "select count(pg_advisory_lock(1835169140, n)) from generate_series(0, 63) n")
	harness.Ask(t, conn, "begin")
	for _, sql := range []string{"select mbus4.post('a', 'a=>1')", "select count(mbus4.post('a', 'a=>1')) from generate_series(1,3)"} {
		harness.Ask(t, conn, sql)
		harness.Want(t, admin, "mbus4.message_id mbus4.post_id", fmt.Sprintf(heldSQL, conn.PID()))
	}
	harness.Ask(t, conn, "commit")
	harness.Want(t, conn, "4", "select count(*) from mbus4.consumen('a', amt => 10)")
}
