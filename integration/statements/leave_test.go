package statements

import (
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/harness"
)

// A statement whose client closes its connection goes on to its end and is committed, through the proxy as without,
// with calls as without.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		e    harness.Endpoint
		sql  string
	}{
		{"direct", harness.Direct(), "insert into kept select 'x' from pg_advisory_lock(7)"},
		{"proxied", harness.Proxied(), "insert into kept select 'x' from pg_advisory_lock(7)"},
		{"with a call", harness.Proxied(), "insert into kept select mbus4.post('q', '') from pg_advisory_lock(7)"},
		{"with many calls", harness.Proxied(), "insert into kept values (pg_advisory_lock(7)::text), " + repeated(20, "(mbus4.post('q', 'n=>%d'))", ", ")},
		{"with many functions", harness.Proxied(), "insert into kept values (pg_advisory_lock(7)::text), " + repeated(20, "(case when true then mbus4.post('q', 'n=>%d') end)", ", ")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q")
			admin := harness.Connect(t, harness.Direct(), database)
			harness.Ask(t, admin, "create table kept (a text)")
			harness.Ask(t, admin, "select pg_advisory_lock(7)")
			client := harness.Connect(t, c.e, database)
			client.Frontend().Send(&pgproto3.Query{String: c.sql})
			if err := client.Frontend().Flush(); err != nil {
				t.Fatal(err)
			}
			const waiting = "select exists (select from pg_locks where locktype = 'advisory' and objid = 7 and not granted and database = (select oid from pg_database where datname = current_database()))"
			harness.Await(t, admin, waiting)
			if err := client.Conn().Close(); err != nil {
				t.Fatal(err)
			}
			harness.Ask(t, admin, "select pg_advisory_unlock(7)")
			harness.Await(t, admin, "select exists (select from kept)")
		})
	}
}
