package calls

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// The text of a post holds the way that is common, and a function does the rest: see
// docs/adr/0015-common-way.md. These tests change between two runs of one text what is common, in
// every way, and read the result or do not.

// repeated are the ways to post a message to q once, with a text that is the same each time, and
// whether they read the iid.
var repeated = []string{ //nolint:gochecknoglobals // constant
	"select mbus4.post('q', 'k=>1')",
	"select mbus4.post('q', 'k=>1', 'h=>1')",
	"select mbus4.post('q', 'k=>1', delayed_until => '2001-01-01')",
	"select count(*) from (select mbus4.post('q', 'k=>1') offset 0) x",
	"select exists (select from (select mbus4.post('q', 'k=>1', 'h=>1') offset 0) x)",
	"with x as (select mbus4.post('q', 'k=>1')) select 1 from x",
	"select mbus4.post('q', 'k=>1') from generate_series(1, 1)",
	"insert into log select mbus4.post(n, 'k=>1') from unnest(array['q']) n",
}

// got lists who has got messages, and how many; the messages are gone then.
func got(t *testing.T, conn *pgconn.PgConn) string {
	t.Helper()
	who := harness.Ask(t, conn, `
		select coalesce(string_agg(w.who, ' ' order by w.who), '')
		from (select c.qname || ':' || c.name || '=' || count(*) as who from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id group by c.qname, c.name) w`)
	harness.Ask(t, conn, "delete from mbus4.message")
	return who
}

// A text that was prepared while all consumers got everything is right under every change: of
// others, of its own transaction, and of its own statement's snapshot.
func TestCommonWayUnderChange(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		other := harness.Connect(t, harness.Proxied(), s.Database)
		s.Want(t, "", "create table log (iid text)")
		for _, post := range repeated {
			run := func(want string) {
				t.Helper()
				for range 2 {
					if _, err := harness.Query(harness.Context(t), s.Conn, post); err != nil {
						t.Fatalf("%s: %s", post, harness.Describe(err))
					}
				}
				if now := got(t, s.Conn); now != want {
					t.Errorf("%s: %s, want %s", post, now, want)
				}
			}
			run("q:default=2")
			harness.Ask(t, other, "select mbus4.create_consumer('q', 'all')")
			run("q:all=2 q:default=2")
			harness.Ask(t, other, "select mbus4.create_consumer('q', 'one', $$t.data->'k' = '1'$$)")
			harness.Ask(t, other, "select mbus4.create_consumer('q', 'two', $$t.data->'k' = '2'$$)")
			run("q:all=2 q:default=2 q:one=2")
			harness.Ask(t, other, "select mbus4.create_consumer('q', 'odd', $$(t.data->'k')::int % 2 = 1$$)")
			harness.Ask(t, other, "select mbus4.create_consumer('q', 'even', $$(t.data->'k')::int % 2 = 0$$)")
			run("q:all=2 q:default=2 q:odd=2 q:one=2")
			harness.Ask(t, other, "select mbus4.create_trigger('q', 'r')")
			run("q:all=2 q:default=2 q:odd=2 q:one=2 r:default=2")
			for _, name := range []string{"all", "one", "two", "odd", "even"} {
				harness.Ask(t, other, fmt.Sprintf("select mbus4.drop_consumer('q', '%s')", name))
			}
			run("q:default=2 r:default=2")
			harness.Ask(t, other, "select mbus4.drop_trigger('q', 'r')")
			run("q:default=2")

			// What is its own and not committed.
			s.Want(t, "", "begin")
			s.Want(t, "", "select mbus4.create_consumer('q', 'mine', $$t.data->'k' = '1'$$)")
			run("q:default=2 q:mine=2")
			s.Want(t, "", "savepoint before")
			s.Want(t, "", "select mbus4.drop_consumer('q', 'default')")
			s.Want(t, "", "select mbus4.drop_consumer('q', 'mine')")
			run("")
			s.Want(t, "", "rollback to before")
			run("q:default=2 q:mine=2")
			s.Want(t, "", "rollback")
			run("q:default=2")

			// Snapshots that stand.
			for _, level := range []string{"repeatable read", "serializable"} {
				s.Want(t, "", "begin isolation level "+level)
				s.Want(t, "1", "select 1")
				s.Want(t, "2", "select count(*) from mbus4.consumer where qname in ('q', 'r')")
				harness.Ask(t, other, "select mbus4.create_consumer('q', 'late', $$t.data->'k' = '1'$$)")
				run("q:default=2")
				s.Want(t, "", "rollback")
				run("q:default=2 q:late=2")
				harness.Ask(t, other, "select mbus4.drop_consumer('q', 'late')")
			}

			// A queue that goes, with a trigger that names it, and comes again.
			harness.Ask(t, other, "select mbus4.create_trigger('gone', 'r')")
			s.Refused(t, "42704", "select mbus4.post('gone', 'k=>1')")
			s.Refused(t, "42704", "select mbus4.post('gone', 'k=>1', 'h=>1')")
			harness.Ask(t, other, "select mbus4.drop_trigger('gone', 'r')")
			harness.Ask(t, other, "select mbus4.drop_queue('q')")
			if _, err := harness.Query(harness.Context(t), s.Conn, post); harness.SQLState(err) != "42704" {
				t.Errorf("%s to no queue: %v", post, err)
			}
			harness.Ask(t, other, "select mbus4.create_queue('q', 1)")
			run("q:default=2")
		}
	})
}

// What is not asked for is not done: where the work stands under a condition that is false, nothing
// is posted, whatever the queue has.
func TestCommonWayNotTaken(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		for _, more := range []string{"select 1", "select mbus4.create_consumer('q', 'one', $$t.data->'k' = '1'$$)", "select mbus4.create_trigger('q', 'r')"} {
			harness.Ask(t, s.Conn, more)
			for _, text := range []string{
				"select mbus4.post('q', 'k=>1') limit 0", "select mbus4.post('q', 'k=>1', 'h=>1') limit 0",
				"select mbus4.post('q', 'k=>1') where false", "select mbus4.post('q', 'k=>1', iid => 'i') where false",
				"select case when false then mbus4.post('q', 'k=>1') end",
				"select mbus4.post('q', 'k=>1') from generate_series(1, 0)",
				"with x as (select mbus4.post('q', 'k=>1')) select 1", "select exists (select mbus4.post('q', 'k=>1'))",
			} {
				for range 2 {
					if _, err := harness.Query(harness.Context(t), s.Conn, text); err != nil {
						t.Fatalf("%s: %s", text, harness.Describe(err))
					}
				}
				if now := got(t, s.Conn); now != "" {
					t.Errorf("%s: %s", text, now)
				}
			}
		}
	})
}

// The queues of others do not send anybody the dearer way: while a snapshot is held, temporary queues come and go.
func TestCommonWayBesideOthers(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	holder := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, holder, "begin isolation level repeatable read")
	harness.Ask(t, holder, "select count(*) from mbus4.queue")
	conn := harness.Connect(t, harness.Proxied(), database)
	calls := func() string {
		return harness.Ask(t, conn, "select coalesce(sum(calls), 0) from pg_stat_xact_user_functions where funcname ~ '^(receives$|at_post_given_)'")
	}
	harness.Ask(t, conn, "set track_functions = 'all'")
	n := 300
	if harness.Long() {
		n = 100_000
	}
	others := harness.Connect(t, harness.Proxied(), database)
	for i := range n {
		queue := harness.Ask(t, others, "select mbus4.create_temporary_queue()")
		harness.Ask(t, others, "select mbus4.drop_queue('"+queue+"')")
		if i%50 > 0 {
			continue
		}
		harness.Ask(t, conn, "begin")
		harness.Ask(t, conn, "select mbus4.post('q', 'k=>1')")
		if c := calls(); c != "0" {
			t.Fatalf("after %d temporary queues of others the function was called %s times", i, c)
		}
		harness.Ask(t, conn, "commit")
	}
	for i, selector := range []string{"t.data->'k' = '1'", "t.data->'k' like '1%'"} { // the first is compared in the statement itself
		harness.Ask(t, conn, "select mbus4.create_consumer('q', $1, $2)", fmt.Sprint("c", i), selector)
		harness.Ask(t, conn, "begin")
		harness.Ask(t, conn, "select mbus4.post('q', 'k=>1')")
		if c := calls(); c != fmt.Sprint(i) {
			t.Errorf("where a consumer has the selector %s the function was called %s times", selector, c)
		}
		harness.Ask(t, conn, "commit")
		harness.Want(t, conn, "1", "select count(*) from mbus4.consume('q', $1)", fmt.Sprint("c", i))
	}
}

// In dmq nothing waits, and so the iid that selectors see there says when the message was posted.
func TestIIDForSelectorsOfDMQ(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"r"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_trigger('dmq', 'r', $$t.iid not like 'dmq.%.26%'$$)") // 26: the microseconds of 2053
		for _, post := range []string{"select mbus4.post('dmq', '', delayed_until => '2053-06-01')", "select mbus4.post('dmq', '', 'h=>1', delayed_until => '2053-06-01')"} {
			iid := harness.Ask(t, s.Conn, post)
			s.Want(t, "t", "select $1 not like 'dmq.%.26%'", iid)
			if now := got(t, s.Conn); now != "dmq:default=1 r:default=1" {
				t.Errorf("%s: %s", post, now)
			}
		}
	})
}
