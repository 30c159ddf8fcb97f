package delivery

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// manyWaiting is how many messages wait for one iid.
const manyWaiting = 100_000

// whileMessagesWait are calls that nobody waits for. Nothing that they do may depend on how much else waits.
var whileMessagesWait = []string{
	"select * from mbus4.consume('other')",
	"select * from mbus4.consumen('other', amt => 20)",
	"select x, mbus4.consume(x) from (values ('other'), ('third')) v (x)",
	"select (select count(*) from mbus4.consume('other')) where exists (select from mbus4.consume('other'))",
	"select * from mbus4.dyn_consume('other', 't.data is not null')",
	"select * from mbus4.dyn_consume('other', (select 't.data is not null'))",
	"select x, mbus4.dyn_consume(x, 't.data is not null' || left(x, 0)) from (values ('other'), ('third')) v (x)",
	"select (mbus4.take('nowhere')).iid, (mbus4.take('other.' || current_database() || '.17000000000000001')).iid",
	"select (mbus4.take('o1')).iid",
	"select (mbus4.take_from_other_by_default('nowhere')).iid",
	"select mbus4.post('other', 'a=>1')",
	"select mbus4.post('other', 'a=>1', iid => 'own')",
	"select mbus4.post('other', 'a=>1', 'consume_after=>\"{gate,o2}\"')",
	"select case when true then mbus4.post('other', 'a=>1', 'consume_after=>\"{gate,o2}\"') end",
	"select mbus4.is_msg_exists('gate'), mbus4.is_msg_exists('nowhere'), mbus4.peek_other(), (mbus4.peek('gate')).iid",
	"select mbus4.clear_queue_other()",
}

// tellPlans has a session tell the plans of all statements that it runs, by notices.
const tellPlans = "load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on; set auto_explain.log_level = notice"

// However many messages wait for one, and whatever ANALYZE saw of them, calls that have nothing to do with it
// find their way by indexes and stay below what the server compiles.
func TestManyWaiting(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "gate", "q", "other", "third")
	admin := harness.Connect(t, harness.Direct(), database)
	const analyze = "analyze mbus4.waiting, mbus4.message, mbus4.consumer, mbus4.queue"
	harness.Ask(t, admin, "alter table mbus4.waiting set (autovacuum_enabled = off); alter table mbus4.message set (autovacuum_enabled = off)")
	conn, notices := harness.ConnectNotices(t, database)
	harness.Ask(t, conn, "select mbus4.post('gate', '', iid => 'gate'); select mbus4.post('other', '', 'x=>y', iid => 'o' || n) from generate_series(1, 9) n")
	harness.Ask(t, conn, tellPlans)
	plans := func(state string) {
		t.Helper()
		for _, sql := range whileMessagesWait {
			for _, prepared := range []bool{false, true} {
				*notices = nil
				harness.Ask(t, conn, "begin")
				if prepared {
					harness.Ask(t, conn, "set plan_cache_mode = force_generic_plan; prepare p as "+sql)
					harness.Ask(t, conn, "execute p; deallocate p; reset plan_cache_mode")
				} else {
					harness.Ask(t, conn, sql)
				}
				harness.Ask(t, conn, "rollback")
				wantIndexes(t, state, sql, *notices)
			}
		}
	}
	harness.Ask(t, admin, analyze)
	plans("empty")
	clean := map[string]float64{}
	for _, sql := range whileMessagesWait {
		clean[sql] = harness.PagesTouched(t, fresh(t, database), sql)
	}
	harness.Ask(t, conn, "reset all")
	// As posting to q with consume_after does, only faster.
	harness.Ask(t, admin, fmt.Sprintf(`with m as (
			insert into mbus4.message (id, consumer_id, available_at, added, iid, headers, data, after)
			select nextval('mbus4.post_id'), c.id, 'infinity', now(), 'q.' || current_database() || '.' || n, 'consume_after=>{gate}', 'a=>1', '{gate}'
			from mbus4.consumer c, generate_series(1, %d) n where c.qname = 'q'
			returning id, consumer_id)
		insert into mbus4.waiting (dep, consumer_id, id) select 'gate', consumer_id, id from m`, manyWaiting))
	harness.Ask(t, conn, "set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on; set auto_explain.log_level = notice")
	plans("full, analyzed when empty")
	harness.Ask(t, admin, analyze)
	plans("full, analyzed")
	for _, sql := range whileMessagesWait {
		if got := harness.PagesTouched(t, fresh(t, database), sql); got > 2*clean[sql]+200 {
			t.Errorf("%s touches %v pages, and %v where nothing waits\n%s", sql, got, clean[sql], harness.Ask(t, fresh(t, database), "explain (analyze, buffers) "+sql))
		}
	}
	harness.Ask(t, admin, "vacuum analyze mbus4.waiting, mbus4.message")
	plans("full, vacuumed")
	if got := harness.PagesTouched(t, fresh(t, database), "select * from mbus4.consume('gate')"); got > 3000 {
		t.Errorf("to wake the first of many touches %v pages", got)
	}
}

func fresh(t *testing.T, database string) *pgconn.PgConn {
	t.Helper()
	return harness.Connect(t, harness.Proxied(), database)
}

var readsAll = regexp.MustCompile(`Seq Scan on (mbus4\.)?(waiting|message)\b|JIT:`)

func wantIndexes(t *testing.T, state, sql string, notices []*pgconn.Notice) {
	t.Helper()
	seen := false
	for _, n := range notices {
		seen = seen || strings.Contains(n.Message, "plan:")
		if found := readsAll.FindString(n.Message); found != "" {
			t.Errorf("%s: %s: %s in\n%s", state, sql, found, n.Message)
			return
		}
	}
	if !seen {
		t.Errorf("%s: no plan of %s", state, sql)
	}
}
