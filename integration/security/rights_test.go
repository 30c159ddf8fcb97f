package security

import (
	"testing"

	"mbusproxy/integration/internal/harness"
)

// A member of mbus4_user may use all that works with messages, one of mbus4_admin all that makes and
// drops, and whoever is neither gets told which.
func TestFunctionRights(t *testing.T) {
	t.Parallel()
	nobody, user, maker := harness.NewRole(t), harness.NewRole(t), harness.NewRole(t)
	database := harness.NewQueueDatabase(t, "q", "r", "gone")
	harness.Admin(t, "grant mbus4_user to "+user)
	harness.Admin(t, "grant mbus4_admin to "+maker)
	harness.Ask(t, harness.Connect(t, harness.Proxied(), database), `select mbus4.create_consumer('q', 'c', '(t.data->''n'')::int > 0');
		select mbus4.create_trigger('q', 'r', 'true'); select mbus4.create_consumer('q', 'leaving'); select mbus4.create_trigger('q', 'gone')`)
	messages := []string{
		"select mbus4.post('q', 'n=>1', iid => 'a')",
		"select mbus4.post_q('n=>1', 'consume_after=>{a}')",
		"select mbus4.post('q', 'n=>1') from generate_series(1, 2)",
		"select mbus4.post_dmq('n=>1')",
		"select * from mbus4.consume('q')",
		"select * from mbus4.consumen_q_by_c(2)",
		"select * from mbus4.dyn_consume('r', 'true')",
		"select mbus4.ack(lease) from mbus4.lease('q', amt => 2)",
		"select mbus4.retry(mbus4.extend(lease), 'x') from mbus4.lease('q')",
		"select mbus4.fail(lease, 'x') from mbus4.lease('q')",
		"select mbus4.retry(m, 'x') from mbus4.consume('q') m",
		"select mbus4.redrive('q', 't.iid <> ''z''')",
		"select * from mbus4.take('a')",
		"select * from mbus4.take_from_q_by_c('a')",
		"select mbus4.peek('a'), mbus4.peek_q(), mbus4.is_msg_exists('a')",
		"select mbus4.get_iid('q')",
		"select mbus4.estimated_messages('q')",
		"select mbus4.clear_queue_q()",
		"select mbus4.schedule('s', '@daily', 'q', 'a=>1'), mbus4.unschedule('s'), (select count(*) from mbus4.schedules)",
		"select mbus4.purge_queue('q'), mbus4.purge_queue('q', 'c')",
		"select mbus4.create_temporary_queue()",
		"select mbus4.create_temporary_consumer('q')",
		"select mbus4.create_temporary_consumer('q', '(t.data->''n'')::int > 7')",
		"select mbus4.post(mbus4.create_temporary_queue(), 'n=>1') where false",
		"select mbus4.clear_tempq()",
		"select mbus4.create_run_function('q')",
		"select mbus4.run_on_q('select 1/0')",
	}
	definitions := []string{
		"select mbus4.create_queue('new', 1)",
		"select mbus4.drop_queue('gone')",
		"select mbus4.create_consumer('q', 'new')",
		"select mbus4.create_consumer('q', 'newer', 't.iid = ''x''')",
		"select mbus4.alter_consumer('q', max_attempts => 3)",
		"select mbus4.drop_consumer('q', 'leaving')",
		"select mbus4.create_trigger('r', 'gone', 't.iid = ''y''')",
		"select mbus4.drop_trigger('q', 'r')",
		"select mbus4.pause_queue('q'), mbus4.resume_queue('q', 'c')",
	}
	for role, may := range map[string][2]bool{nobody: {false, false}, user: {true, false}, maker: {true, true}} {
		conn := harness.ConnectAs(t, harness.Proxied(), database, role)
		for i, statements := range [][]string{messages, definitions} {
			for _, sql := range statements {
				harness.Ask(t, conn, "begin")
				if may[i] {
					harness.Ask(t, conn, sql)
				} else if said := harness.Refusal(t, conn, "42501", sql).Hint; said == "" {
					t.Errorf("%s: no hint", sql)
				}
				harness.Ask(t, conn, "rollback")
			}
		}
		harness.Want(t, conn, "t", "select mbus4.readme() <> ''")
		harness.Ask(t, conn, "select mbus4.regenerate_functions()")
	}
}

// What runs with the rights of the schema's owner asks who calls it, also where a view leads there: a view names functions by their OIDs, so the
// right to the schema says nothing, and views outlive the membership of who has made them.
func TestFunctionsOfTheOwnerAskWhoCalls(t *testing.T) {
	t.Parallel()
	left, nobody := harness.NewRole(t), harness.NewRole(t)
	database := harness.NewQueueDatabase(t, "q")
	super := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, super, "grant mbus4_admin to "+left+"; grant create on schema public to "+left)
	conn := harness.ConnectAs(t, harness.Direct(), database, left)
	calls := map[string]string{"queue": "mbus4.new_temporary_queue()", "consumer": "mbus4.new_temporary_consumer('q', null, 1)", "dead": "(mbus4.drop_dead_temporary_queues(0, 1)).gone"}
	for name, call := range calls {
		harness.Ask(t, conn, "create view public."+name+" as select "+call+"; grant select on public."+name+" to "+nobody)
		harness.Ask(t, conn, "select count(*) from public."+name)
	}
	harness.Ask(t, super, "revoke mbus4_admin from "+left)
	for name := range calls {
		for _, role := range []string{left, nobody} {
			if _, err := harness.Query(harness.Context(t), harness.ConnectAs(t, harness.Direct(), database, role), "select count(*) from public."+name); harness.SQLState(err) != "42501" {
				t.Errorf("%s by %s: %v", name, role, err)
			}
		}
	}
	// No other function of the owner's in the schema is everybody's.
	harness.Want(t, super, "", `select coalesce(string_agg(p.oid::regprocedure::text, ' '), '') from pg_proc p
		where p.pronamespace = 'mbus4'::regnamespace and p.prosecdef and has_function_privilege($1, p.oid, 'execute')`, nobody)
}
