package housekeeping

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/internal/enginetest"
)

var plans = map[string]string{
	"right after the load":         "",
	"analyzed with the backlog":    "analyze mbus4.message",
	"analyzed while it was empty":  "delete from mbus4.message; vacuum analyze mbus4.message; " + loadSQL,
	"analyzed with one other row":  "delete from mbus4.message where id > 1; vacuum analyze mbus4.message; " + loadSQL,
	"analyzed, another's backlog":  "update mbus4.message set consumer_id = consumer_id + 1; analyze mbus4.message",
	"vacuumed, then filled double": "vacuum analyze mbus4.message; " + loadSQL,
}

const loadSQL = `insert into mbus4.message (id, consumer_id, available_at, added, iid, data)
	select nextval('mbus4.post_id'), (select max(id) from mbus4.consumer), clock_timestamp(), now(), random()::text,
	       hstore('payload', repeat('x', 100)) from generate_series(1, 30000)`

// Whatever statistics say, consuming is a look at a range of the primary key.
func TestConsumePlanIsStable(t *testing.T) {
	t.Parallel()
	for when, sql := range plans {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			conn := enginetest.Connect(t, enginetest.Installed(t))
			enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
			enginetest.Exec(t, conn, loadSQL)
			for _, s := range strings.Split(sql, "; ") {
				enginetest.Exec(t, conn, s)
			}
			enginetest.Exec(t, conn, "set plan_cache_mode = force_generic_plan")
			ranged := strings.Replace(fmt.Sprintf(rangeSQL, 2), "limit 1", "limit $2", 1)
			for look, sql := range map[string]string{
				"consume (int, bigint)": ranged,
				"peek (int, bigint)":    "select exists (select from mbus4.message where consumer_id = $1 and available_at <= clock_timestamp() and id < $2)",
			} {
				enginetest.Exec(t, conn, "prepare "+look+" as "+sql)
				name, _, _ := strings.Cut(look, " ")
				plan := enginetest.One[string](t, conn, "explain (costs off, format json) execute "+name+" (2, 100)", pgx.QueryExecModeSimpleProtocol)
				if !strings.Contains(plan, `"message_pkey"`) || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Sort") {
					t.Errorf("%s: %s", name, plan)
				}
			}
		})
	}
}
