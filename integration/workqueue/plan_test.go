package workqueue

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// What a claim costs does not grow with the queue, nor with what is claimed or not yet due.
func TestWorkQueuePlans(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), harness.NewQueueDatabase(t))
	harness.Ask(t, conn, "select mbus4.release_messages(0)")
	calls := []struct {
		sql   string
		pages float64 // at most
	}{
		{"select * from mbus4.get_next_message(1)", 100},
		{"select mbus4.get_next_message(p) from (values (1), (2), (3)) v (p)", 100},
		{"select mbus4.add_message('{}')", 40},
		{"select mbus4.complete_message((select min(id) from mbus4.work_queue))", 100},
		{"select mbus4.release_messages(-1)", 2000}, // may read a table of which much is claimed
	}
	fill := func(n int, process, due string) {
		t.Helper()
		harness.Ask(t, conn, fmt.Sprintf("insert into mbus4.work_queue(payload, process_id, next_attempt_at) select to_jsonb(i), %s, %s from generate_series(1, %d) i", process, due, n))
	}
	look := func(what string) {
		t.Helper()
		for _, c := range calls {
			got := harness.PagesTouched(t, conn, c.sql)
			for range 2 { // an autovacuum under way sends an update to pages that have no room any more
				if got > c.pages {
					got = min(got, harness.PagesTouched(t, conn, c.sql))
				}
			}
			t.Logf("%s: %s: %v pages", what, c.sql, got)
			if got > c.pages {
				t.Errorf("%s: %s touches %v pages, more than %v", what, c.sql, got, c.pages)
			}
		}
	}
	look("empty")
	fill(2000, "null", "now()")
	look("2,000")
	fill(98_000, "null", "now()")
	look("100,000")
	harness.Ask(t, conn, "delete from mbus4.work_queue")
	vacuumed(t, conn)
	fill(100_000, "7", "now()")
	fill(100_000, "null", "now() + interval '1 hour'")
	fill(3, "null", "now()")
	look("3 of 200,003 claimed or not due")
	harness.Ask(t, conn, "analyze mbus4.work_queue")
	look("analyzed")
	start := time.Now()
	harness.Ask(t, conn, "call mbus4.process_queue(1)")
	t.Logf("process_queue of the 3: %v", time.Since(start).Round(time.Microsecond))
	if time.Since(start) > 5*time.Second {
		t.Error("process_queue looks at what is claimed or not due")
	}
	harness.Want(t, conn, "200000", "select count(*) from mbus4.work_queue")
	harness.Want(t, conn, "100000", "select mbus4.release_messages(7)")
	look("released")
}

// Messages of one time, some of them new and some that come back, are claimed in the order of their ids by
// one call after another. Calls of one statement take the new ones first that stand behind the first of them, and lack
// none. What a claim costs does not grow with them.
func TestWorkQueueTies(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), harness.NewQueueDatabase(t))
	harness.Ask(t, conn, "select mbus4.release_messages(0)")
	// Due in a while: a new message at a time before now counts as one that comes back.
	harness.Ask(t, conn, "insert into mbus4.work_queue(payload, fresh, next_attempt_at) select '{}', i in (2, 5, 7), now() + interval '5 s' from generate_series(1, 50000) i")
	harness.Want(t, conn, "2,5,7", "select string_agg(id::text, ',' order by id) from mbus4.work_queue where fresh")
	harness.Await(t, conn, "select clock_timestamp() > next_attempt_at from mbus4.work_queue where id = 1")
	for _, analyzed := range []bool{false, true} {
		for _, sql := range []string{"select * from mbus4.get_next_message(1)", "select mbus4.get_next_message(p) from (values (1), (2), (3)) v (p)"} {
			if got := harness.PagesTouched(t, conn, sql); got > 100 {
				t.Errorf("analyzed: %v, %s touches %v pages", analyzed, sql, got)
			}
		}
		harness.Ask(t, conn, "vacuum (analyze) mbus4.work_queue")
	}
	for _, want := range []string{"1", "2", "3", "4,5,6,7", "8", "9,10"} {
		sql := fmt.Sprintf("select string_agg((m.c).id::text, ',' order by (m.c).id) from (select mbus4.get_next_message(9) as c from generate_series(1, %d)) m", strings.Count(want, ",")+1)
		harness.Want(t, conn, want, sql)
	}
	other := harness.Connect(t, harness.Proxied(), harness.Ask(t, conn, "select current_database()"))
	harness.Ask(t, conn, "delete from mbus4.work_queue")
	added := harness.Ask(t, conn, "insert into mbus4.work_queue(payload) values ('{}') returning id")
	behind := harness.Ask(t, conn, "insert into mbus4.work_queue(payload, fresh) values ('{}', false) returning id")
	harness.Ask(t, other, "begin")
	harness.Want(t, other, added, "select id from mbus4.get_next_message(1)")
	harness.Want(t, conn, behind, "select id from mbus4.get_next_message(1)")
	harness.Ask(t, other, "rollback")
	harness.Want(t, conn, added, "select id from mbus4.get_next_message(1)")
	harness.Want(t, conn, "", "select id from mbus4.get_next_message(1)")
}

// A message that is inserted as claimed is given once it is released, also where the hint has passed it.
func TestWorkQueueInsertedClaimed(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), harness.NewQueueDatabase(t))
	harness.Ask(t, conn, "select mbus4.release_messages(0)")
	id, at, _ := strings.Cut(harness.Ask(t, conn, "insert into mbus4.work_queue(payload, process_id) values ('{}', 7) returning id, (extract(epoch from next_attempt_at) * 1000000)::bigint"), "|")
	harness.Await(t, conn, "select pg_sequence_last_value('mbus4.hint_work') > $1", at)
	harness.Want(t, conn, "1", "select mbus4.release_messages(7)")
	harness.Want(t, conn, id, "select id from mbus4.get_next_message(1)")
}

// vacuumed returns when nothing is left of the rows that are deleted. A single
// vacuum leaves them where somebody has a snapshot just then: autovacuum, as it analyzes another
// table, or the proxy's housekeeping.
func vacuumed(t *testing.T, conn *pgconn.PgConn) {
	t.Helper()
	harness.Eventually(t, func() string {
		harness.Ask(t, conn, "vacuum mbus4.work_queue")
		if n := harness.Ask(t, conn, "select n_dead_tup from pg_stat_user_tables where relid = 'mbus4.work_queue'::regclass"); n != "0" {
			return "vacuum leaves " + n + " dead rows"
		}
		return ""
	})
}

// With an old snapshot held, dead rows stay, and a claim has to step over them.
func TestWorkQueueOldSnapshot(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t)
	conn, holder := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, conn, "select mbus4.release_messages(0)")
	const dead = 50_000
	claim := func(what string) {
		t.Helper()
		const n = 100
		addMessages(t, conn, n)
		start := time.Now()
		for range n {
			harness.Ask(t, conn, "select * from mbus4.get_next_message(1)")
		}
		each := time.Since(start) / n
		t.Logf("get_next_message, %s: %v each", what, each.Round(time.Microsecond))
		if each > 200*time.Millisecond {
			t.Errorf("get_next_message, %s: %v each", what, each)
		}
		harness.Ask(t, conn, "delete from mbus4.work_queue")
	}
	process := func(what string, n int) {
		t.Helper()
		addMessages(t, conn, n)
		start := time.Now()
		harness.Ask(t, conn, "call mbus4.process_queue(1, 'select 1')")
		each := time.Since(start) / time.Duration(n)
		t.Logf("process_queue, %s: %v each", what, each.Round(time.Microsecond))
		if each > 5*time.Millisecond {
			t.Errorf("process_queue, %s: %v each", what, each)
		}
	}
	process("no dead rows", 2000)
	claim("no dead rows")
	harness.Ask(t, holder, "begin isolation level repeatable read; select 1")
	process(fmt.Sprintf("%d rows that die", dead), dead) // all of it within the time that harness.Ask waits: each claim must not step over all
	process(fmt.Sprintf("%d dead rows", dead), 200)
	claim(fmt.Sprintf("%d dead rows", dead))
	harness.Ask(t, holder, "rollback")
	vacuumed(t, conn)
	process("vacuumed", 2000)
}

// A message that comes back may stand before the hint; process_queue begins at the hint all the same,
// and steps over no dead row before it.
func TestProcessQueueOfWhatComesBack(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t)
	conn, direct, holder := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database), harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, conn, "select mbus4.release_messages(0)")
	harness.Ask(t, holder, "begin isolation level repeatable read; select 1")
	harness.Ask(t, direct, "insert into mbus4.work_queue(payload) select to_jsonb(i) from generate_series(1, 20000) i")
	last := harness.Ask(t, direct, "select (extract(epoch from max(next_attempt_at)) * 1000000)::bigint from mbus4.work_queue")
	harness.Ask(t, direct, "delete from mbus4.work_queue")
	const back = 100
	harness.Ask(t, direct, fmt.Sprintf("insert into mbus4.work_queue(payload, process_id, next_attempt_at) select '{}', 7, now() - interval '1 hour' from generate_series(1, %d)", back))
	harness.Want(t, conn, fmt.Sprint(back), "select mbus4.release_messages(7)")
	harness.Await(t, direct, "select pg_sequence_last_value('mbus4.hint_work') > $1", last)
	touched := func() int {
		n, err := strconv.Atoi(harness.Ask(t, direct, "select idx_blks_hit + idx_blks_read from pg_statio_user_indexes where indexrelname = 'work_queue_fresh'"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, c := range []*pgconn.PgConn{conn, direct} { // what they did so far is not told yet
		harness.Ask(t, c, "select pg_stat_force_next_flush()")
	}
	before := touched()
	harness.Ask(t, conn, "call mbus4.process_queue(1)")
	harness.Ask(t, conn, "select pg_stat_force_next_flush()")
	pages := touched() - before
	t.Logf("%d pages of the index of what nobody has claimed yet", pages)
	if pages < back || pages > 20*back {
		t.Errorf("%d messages touch %d pages of the index of what nobody has claimed yet", back, pages)
	}
	harness.Want(t, direct, "0", "select count(*) from mbus4.work_queue")
}
