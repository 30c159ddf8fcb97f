package integration

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// A statement whose client closes its connection goes on to its end and is committed, through the proxy as without,
// with calls as without.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		e    endpoint
		sql  string
	}{
		{"direct", direct, "insert into kept select 'x' from pg_advisory_lock(7)"},
		{"proxied", proxied, "insert into kept select 'x' from pg_advisory_lock(7)"},
		{"with a call", proxied, "insert into kept select mbus4.post('q', '') from pg_advisory_lock(7)"},
		{"with many calls", proxied, "insert into kept values (pg_advisory_lock(7)::text), " + repeated(20, "(mbus4.post('q', 'n=>%d'))", ", ")},
		{"with many functions", proxied, "insert into kept values (pg_advisory_lock(7)::text), " + repeated(20, "(case when true then mbus4.post('q', 'n=>%d') end)", ", ")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			database := newQueueDatabase(t, "q")
			admin := connect(t, direct, database)
			ask(t, admin, "create table kept (a text)")
			ask(t, admin, "select pg_advisory_lock(7)")
			client := connect(t, c.e, database)
			client.Frontend().Send(&pgproto3.Query{String: c.sql})
			if err := client.Frontend().Flush(); err != nil {
				t.Fatal(err)
			}
			const waiting = "select exists (select from pg_locks where locktype = 'advisory' and objid = 7 and not granted and database = (select oid from pg_database where datname = current_database()))"
			await(t, admin, time.Minute, waiting)
			if err := client.Conn().Close(); err != nil {
				t.Fatal(err)
			}
			ask(t, admin, "select pg_advisory_unlock(7)")
			await(t, admin, time.Minute, "select exists (select from kept)")
		})
	}
}
