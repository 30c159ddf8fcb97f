package security

import (
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// A role sees nothing of a queue that it may not consume from, be it through the proxy or past it;
// one that may consume through a view only sees nothing but what that gives.
func TestSeeingNeedsRights(t *testing.T) {
	t.Parallel()
	nobody, viewer, user := harness.NewRole(t), harness.NewRole(t), harness.NewRole(t)
	database := harness.NewQueueDatabase(t, "q", "secret")
	harness.Admin(t, "grant mbus4_user to "+user)
	maker := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, maker, "select mbus4.post('secret', 'n=>1', iid => 's'), mbus4.create_view('q')")
	harness.Ask(t, maker, "grant select on public.q_q to "+viewer)
	ways := []string{
		"select * from mbus4.queues", "select * from mbus4.consumers", "select * from mbus4.messages_of('secret')", "select * from mbus4.rates", "select * from mbus4.why('s')",
		"select * from mbus4.states_of_consumers()", "select * from mbus4.holder_of('3'::xid)", "select * from mbus4.reasons('s')", "select * from mbus4.message",
	}
	for _, end := range []harness.Endpoint{harness.Proxied(), harness.Direct()} {
		for _, role := range []string{nobody, viewer} {
			conn := harness.ConnectAs(t, end, database, role)
			for _, sql := range ways {
				if end == harness.Direct() && strings.Contains(sql, ".why(") {
					continue // no function there
				}
				if said := harness.Refusal(t, conn, "42501", sql).Message; !strings.HasPrefix(said, "permission denied for ") {
					t.Errorf("%s: %s", sql, said)
				}
			}
		}
		// Nor does it help to bring functions and operators of one's own.
		conn := harness.ConnectAs(t, end, database, user)
		harness.Ask(t, conn, `create temp table hit (what text); create temp table consumer (id int); create temp view pg_locks as select 1 as pid;
			create function pg_temp.age(xid) returns int language sql as $$ insert into hit values ('age'); select 1 $$;
			create function pg_temp.lower(text) returns text language sql as $$ insert into hit values ('lower'); select $1 $$;
			create operator pg_temp.= (leftarg = text, rightarg = text, function = texteq);
			set search_path = pg_temp, pg_catalog, public`)
		harness.Want(t, conn, "s|ready", "select iid, state from mbus4.messages_of('secret')")
		harness.Want(t, conn, "1|0", "select ready, held from mbus4.consumers where queue operator(pg_catalog.=) 'secret'")
		harness.Want(t, conn, "0", "select count(*) from hit")
	}
}
