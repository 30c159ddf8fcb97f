package housekeeping

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/internal/enginetest"
)

// The counts are noted once by however many proxies, old ones go, and the view compares with them.
func TestTraffic(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn, other := enginetest.Connect(t, name), enginetest.Connect(t, name)
	const rows = "select count(*) from mbus4.traffic"
	const rates = `select string_agg(concat_ws(' ', posted_per_second between 9 and 10.1, removed_per_second between 1.8 and 2.1), ', ' order by over) from mbus4.rates`
	if got := enginetest.One[string](t, conn, rates); got != ", , " {
		t.Errorf("nothing to compare with: %q", got)
	}
	// As if noted before: 30 seconds ago, an hour ago, in a time to come.
	enginetest.Exec(t, conn, `insert into mbus4.traffic (at, posted, removed)
		select clock_timestamp() - d, pg_stat_get_tuples_inserted('mbus4.message'::regclass) - 300, pg_stat_get_tuples_deleted('mbus4.message'::regclass) - 60
		from unnest(array['30 s', '1 h', '-1 h']::interval[]) d`)
	for range 2 {
		for _, c := range []*pgx.Conn{conn, other} {
			if err := noteTraffic(enginetest.Context(t), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := enginetest.One[int](t, conn, rows); n != 2 {
		t.Errorf("%d rows", n)
	}
	if got := enginetest.One[string](t, conn, rates); got != "t t, t t, t t" {
		t.Errorf("%q", got)
	}
	// The server has begun to count anew.
	enginetest.Exec(t, conn, "update mbus4.traffic set posted = posted + 1000000, removed = removed + 1000000")
	if got := enginetest.One[string](t, conn, rates); got != ", , " {
		t.Errorf("%q", got)
	}
	// Neither an older schema nor a role with fewer rights keeps the others from their work.
	role := enginetest.NewRole(t, name)
	enginetest.Exec(t, conn, "grant usage on schema mbus4 to "+role)
	enginetest.Exec(t, other, "set role "+role)
	if err := noteTraffic(enginetest.Context(t), other); err != nil {
		t.Error(err)
	}
	enginetest.Exec(t, conn, "drop view mbus4.rates; drop table mbus4.traffic")
	if err := noteTraffic(enginetest.Context(t), conn); err != nil {
		t.Error(err)
	}
}
