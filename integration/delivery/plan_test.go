package delivery

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

// The cost of a call does not grow with the queue. Pages touched are counted rather than time; the
// bounds leave room for reading all of a small table, which is right, and none for a backlog. The
// sizes are those at which the planner, left to its defaults, has been seen to read whole backlogs.
func TestPlansDoNotGrow(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "other")
	conn := harness.Connect(t, harness.Proxied(), database)
	calls := []struct {
		sql   string
		pages float64 // at most
	}{
		{"select * from mbus4.consume('q')", 500},
		{"select * from mbus4.consumen('q', amt => 20)", 1200},
		{"select q, mbus4.consume(q) from (values ('q'), ('other')) v (q)", 800},
		{"select mbus4.post('q', 'a=>1')", 500},
		{"select mbus4.post('q', 'a=>1', 'consume_after=>\"{probe,q.nowhere.1}\"')", 600},
		{"select mbus4.is_msg_exists('probe'), mbus4.is_msg_exists('nowhere'), mbus4.peek_q(), (mbus4.peek('probe')).iid", 600},
		{"select (mbus4.take('nowhere')).iid", 500},
		{"select * from mbus4.dyn_consume('q', 't.data is not null')", 500},
		{"select * from mbus4.dyn_consume('q', (select 't.data is not null'))", 500},
		{"select q, mbus4.dyn_consume(q, 't.data is not null' || left(q, 0)) from (values ('q'), ('other')) v (q)", 800},
	}
	harness.Ask(t, conn, "select mbus4.post('other', '', iid => 'probe')")
	size := 0
	for _, to := range []int{0, 50, 2000, 60_000, 120_000, 200_000} {
		harness.Ask(t, conn, "select count(p) from (select mbus4.post('q', hstore('n', n::text)) as p from generate_series(1, $1::int) n) s", to-size)
		size = to
		for _, c := range calls {
			if got := harness.PagesTouched(t, conn, c.sql); got > c.pages {
				t.Errorf("with %d messages %s touches %v pages, more than %v", size, c.sql, got, c.pages)
			}
		}
	}
}

// Messages that wait do not slow the others down, and waking one looks at few of them.
func TestPlansWithManyWaiting(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "gate")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.post('gate', '', iid => 'gate' || n) from generate_series(1, 200) n")
	harness.Ask(t, conn, `select count(p) from (select mbus4.post('q', '', hstore('consume_after', '{gate' || n % 200 + 1 || '}')) as p
		from generate_series(1, 40000) n) s`)
	for _, c := range []struct {
		sql   string
		pages float64
	}{
		{"select mbus4.post('q', 'a=>1')", 500},
		{"select * from mbus4.consume('q')", 600},
		{"select * from mbus4.consume('q')", 600},
		{"select * from mbus4.consume('gate')", 6000}, // wakes the first hundred
	} {
		if got := harness.PagesTouched(t, conn, c.sql); got > c.pages {
			t.Errorf("%s touches %v pages, more than %v", c.sql, got, c.pages)
		}
	}
}

// Nor does a table of which the planner knows nothing yet.
func TestPlansWithoutStatistics(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, harness.Connect(t, harness.Direct(), database), "alter table mbus4.message set (autovacuum_enabled = off)")
	for i := range 4 {
		harness.Ask(t, conn, "select count(p) from (select mbus4.post('q', 'a=>1', iid => 'own' || n) as p from generate_series($1::int, $2) n) s", 4000*i+1, 4000*(i+1))
	}
	for _, sql := range []string{
		"select mbus4.is_msg_exists('nowhere'), mbus4.is_msg_exists('own16000'), mbus4.is_msg_exists('q.nowhere.1')",
		"select mbus4.peek_q('nowhere'), mbus4.peek_q('own16000'), (mbus4.peek('own16000')).iid",
		"select case when true then mbus4.is_msg_exists('nowhere') end, case when true then mbus4.peek_q('nowhere') end",
		"select (mbus4.take('own16000')).iid, (mbus4.take('nowhere')).iid",
		"select mbus4.post('q', 'a=>1', 'consume_after=>\"{own16000,nowhere}\"')",
		"select mbus4.post('q', 'a=>1', iid => 'another')",
		"select * from mbus4.consume('q')",
	} {
		harness.PagesTouched(t, conn, sql)                        // the first time the session reads the catalogue, and makes plans
		if got := harness.PagesTouched(t, conn, sql); got > 250 { // the table has more
			t.Errorf("%s touches %v pages", sql, got)
		}
	}
}
