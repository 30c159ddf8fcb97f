package schema_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/internal/enginetest"
)

// Whatever statistics say, and in a session that has asked while there was nothing, too: to look at
// what is dead, and to run a batch of an operation, costs what the few messages cost that it deals
// with, and not what lies beside and behind them.
func TestDeadIsARange(t *testing.T) {
	t.Parallel()
	for when, sql := range map[string]string{
		"not analyzed":           "",
		"analyzed":               "analyze mbus4.message; analyze mbus4.operation; analyze mbus4.operation_log",
		"analyzed with one left": "analyze mbus4.message",
	} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			name := enginetest.Installed(t)
			early, conn := enginetest.Connect(t, name), enginetest.Connect(t, name)
			q := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
			asked := map[string]int{ // pages, at most
				"select count(*) from mbus4.dead_messages('q', amt => 5)":                                         200,
				"select count(*) from mbus4.dead_messages('q', amt => 5, until => now() - interval '30 minutes')": 200,
				"select count(*) from mbus4.count_dead(until => now() - interval '30 minutes')":                   200,
				"select (mbus4.operation_run(mbus4.operation_begin('redrive', 'q'), 5)).done":                     1000,
				"select (mbus4.operation_run(mbus4.operation_begin('purge', 'q'), 5)).done":                       1000,
				"select (mbus4.operation_run(mbus4.operation_begin('move', target_queue => 'q'), 5)).done":        1000,
			}
			if when == "analyzed with one left" {
				enginetest.Exec(t, conn, sql)
			}
			for range 7 {
				for sql := range asked {
					enginetest.Exec(t, early, "begin")
					enginetest.Exec(t, early, sql)
					enginetest.Exec(t, early, "rollback")
				}
			}
			enginetest.Exec(t, conn, storeDead, "q", "default", 60_000)
			enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid, headers)
				select nextval('mbus4.post_id'), $1, clock_timestamp(), now(), 'there' || n, hstore('n', n::text) from generate_series(1, 60000) n`, q)
			enginetest.Exec(t, conn, "insert into mbus4.operation (role, role_oid, kind, state, until, at, ended) select 'x', 10, 'redrive', 'done', now(), now(), now() from generate_series(2, 1000)")
			undone := enginetest.One[int](t, conn, "select (mbus4.operation_run(mbus4.operation_begin('redrive', 'q'), 5)).id")
			enginetest.Exec(t, conn, fmt.Sprintf("select mbus4.operation_set(%d, 'cancelled')", undone))
			if when == "analyzed" {
				enginetest.Exec(t, conn, sql)
			}
			asked[fmt.Sprintf("select (mbus4.operation_run(mbus4.operation_begin('undo', undoes => %d), 5)).done", undone)] = 1000
			for sql, most := range asked {
				for _, c := range []*pgx.Conn{early, conn} {
					if pages := enginetest.Pages(t, c, sql); pages > most {
						t.Errorf("%s: %d pages", sql, pages)
					}
				}
			}
		})
	}
}
