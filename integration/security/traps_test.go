package security

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// calls are of all kinds, in an order in which each succeeds.
var calls = []string{
	"select mbus4.post('q', 'a=>1')", "select mbus4.post('q', 'a=>1', iid => 'x')", "select mbus4.post('q', 'a=>1', 'h=>1', 'p=>1', delayed_until => pg_catalog.now()::timestamp + interval '1 hour', expires => pg_catalog.now()::timestamp + interval '2 hours')",
	"select mbus4.post('q', 'a=>1', delayed_until => '2300-01-01')", "select mbus4.post('q', 'a=>1', 'consume_after=>{x}', iid => 'y')", "select mbus4.post('q', 'a=>1', 'seenby=>{x}')",
	"select mbus4.post_q('a=>1', 'h=>1')", "select q, mbus4.post(q, 'a=>1') from unnest(array['q', 'other']) q", "select mbus4.post('q', 'a=>1') from mbus4.queue limit 1", "select mbus4.post('q', hstore('n', pg_catalog.format('%s', n))) from pg_catalog.generate_series(1, 3) n", "select mbus4.post('q', '', 'consume_after=>{x}', iid => pg_catalog.format('z%s', n)) from pg_catalog.generate_series(1, 3) n",
	"select mbus4.post('q', '', unique_key => 'k', unique_for => '1 hour')", "select case when true then mbus4.post('q', 'a=>1') end", "select mbus4.post_q('a=>1')",
	"select * from mbus4.peek_q()", "select mbus4.peek('x')", "select * from mbus4.why('x')", "select mbus4.is_msg_exists('x')", "select * from mbus4.messages_of('q')", "select * from mbus4.queues", "select * from mbus4.consumers",
	"select * from mbus4.dmq", "select * from mbus4.rates", "select mbus4.estimated_messages('q')", "select mbus4.generate_new_msgiid('q')",
	"select * from mbus4.take('x')", "select * from mbus4.consume('q')", "select * from mbus4.consumen('q', amt => 2)", "select * from mbus4.consume_json('q')", "select * from mbus4.consume('other', wait => '10 ms')",
	"select * from mbus4.lease('q')", "select mbus4.ack(lease) from mbus4.lease('q')", "select mbus4.retry(lease, 'bad') from mbus4.lease('q')", "select mbus4.extend(lease) from mbus4.lease('q')",
	"select mbus4.fail(lease, 'bad') from mbus4.lease('q')", "select mbus4.redrive()", "select mbus4.redrive('q', selector => $$ t.data->'a' = '1' $$)", "select * from mbus4.lease('q', amt => 2)", "select mbus4.ack(null)",
	"select c.* from unnest(array['q', 'other']) q, mbus4.consume(q) c", "select c.* from unnest(array['q', 'other']) q, mbus4.consumen(q, 'default', 3) c", "select l.* from unnest(array['q', 'other']) q, mbus4.lease(q) l",
	"select t.* from unnest(array['x', 'y']) i, mbus4.take(i) t", "select d.* from unnest(array['q', 'other']) q, mbus4.dyn_consume(q, 'true') d", "select case when true then (select iid from mbus4.consume('q')) end",
	"select mbus4.run_on_q('select 1')", "select mbus4.create_view('other')", "call mbus4.process_queue(1, 'select 1')", "select mbus4.release_messages(1)",
	"select * from mbus4.take_from_q_by_default('x')",
	"select mbus4.create_consumer('q', 'c', $$ (t.properties->'a')::int > 1 $$)", "select mbus4.create_consumer('q', 'd', $$ t.data->'a' = 'b' $$)", "select mbus4.post('q', 'a=>1', properties => 'a=>2')",
	"select * from mbus4.consume('q', 'c')", "select * from mbus4.dyn_consume('q', $$ t.data->'a' = '1' $$)", "select mbus4.create_trigger('q', 'other')", "select mbus4.post('q', 'a=>7')", "select * from mbus4.consume('other')",
	"select mbus4.create_temporary_queue()", "select mbus4.create_temporary_consumer('q')", "select mbus4.clear_tempq()", "select mbus4.pause_queue('q')", "select mbus4.alter_consumer('q', 'c', max_attempts => 3)",
	"select mbus4.schedule('s', '* * * * *', 'q', 'a=>1')", "select mbus4.unschedule('s')", "select mbus4.purge_queue('q')", "select mbus4.clear_queue_q()",
	"select mbus4.add_message('{}')", "select * from mbus4.get_next_message(1)", "select mbus4.complete_message(1)",
	"select mbus4.semaphore_get_or_create('s')", "select mbus4.semaphore_enqueue('s', 1, 1)", "select mbus4.semaphore_enqueue('s', n, 1) from pg_catalog.generate_series(2, 3) n", "select mbus4.semaphore_release('s', 1)", "select mbus4.semaphore_update('s', 3, 2)",
	"select mbus4.drop_consumer('q', 'd')", "select mbus4.drop_queue('q')",
}

// everyCall runs calls, none of which may fail.
func everyCall(t *testing.T, conn *pgconn.PgConn) {
	t.Helper()
	for _, call := range calls {
		if _, err := harness.Query(harness.Context(t), conn, call); err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// traps makes, in schema public, each operator that would be taken before those of pg_catalog because it has just the types of an expression's
// operands, where pg_catalog has one for types to which these are cast. What they do is read when a statement is planned, and fails then.
const traps = `
set check_function_bodies = off; set search_path = pg_catalog;
do $do$
declare
	r record;
begin
	for r in
		with types (t) as (
			select unnest(array['text', 'name', 'varchar', 'bpchar', '"char"', 'int2', 'int4', 'int8', 'bool', 'float4', 'float8', 'numeric', 'timestamptz', 'timestamp', 'date',
				'interval', 'jsonb', 'oid', 'regclass', 'xid', 'xid8', 'tid', 'bit varying', 'text[]',
				'int4[]', 'int8[]', 'tid[]', 'xid[]', 'mbus4.qt_model', 'mbus4.message', 'mbus4.consumer', 'mbus4.semaphore_status', 'mbus4.semaphore', 'mbus4.leased']::regtype[])
		)
		select o.name, l.t as l, s.t as r, row_number() over () as n
		from unnest(array['||', '+', '-', '*', '/', '%', '&', '=', '<>', '<', '<=', '>', '>=', '~', '~*', '!~', '~~', '<@', '@>', '&&']) o (name)
		cross join types l
		cross join types s
		where not exists (select from pg_operator p where p.oprname = o.name and p.oprleft = l.t and p.oprright = s.t and p.oprnamespace = 'pg_catalog'::regnamespace)
		  and (l.t::text || s.t::text !~ '[][]|mbus4' or l.t = s.t or l.t::text = s.t::text || '[]' or s.t::text = l.t::text || '[]')
	loop
		execute format('create function public.trap%s(%s, %s) returns %s language sql immutable as %L', r.n, r.l, r.r,
			case when r.name = '||' then 'text' when r.name in ('+', '-', '*', '/', '%', '&') then 'numeric' else 'bool' end,
			format('select public.%I()', 'SPRUNG ' || r.l || ' ' || r.name || ' ' || r.r));
		execute format('create operator public.%s (leftarg = %s, rightarg = %s, function = public.trap%s)', r.name, r.l, r.r, r.n);
	end loop;
end
$do$; reset search_path`

// TestOperatorsHaveTheirTypes: what others put into public, to which a client's path leads, does not come before what the text of a call means, for
// each of its operators has the very types of one of pg_catalog, which is looked for first.
func TestOperatorsHaveTheirTypes(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "other")
	conn := harness.Connect(t, harness.Proxied(), database)
	direct := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, direct, traps)
	if _, err := harness.Query(harness.Context(t), direct, "select 'a'::text || current_database()"); err == nil || !strings.Contains(err.Error(), "SPRUNG") {
		t.Fatalf("there is no trap: %v", err)
	}
	everyCall(t, conn)
}

// sameNames makes, in schema public, a domain of the name of each type of pg_catalog, whose values nobody can make, and each function of pg_catalog that
// operators do not need, which fails.
const sameNames = `
set search_path = pg_catalog;
create function public.sprung(what text) returns boolean language plpgsql as $$ begin raise exception 'SPRUNG %', what; end $$;
do $do$
declare
	r record;
begin
	for r in select p.proname, p.prorettype, pg_get_function_identity_arguments(p.oid) as args, p.proretset from pg_proc p
		where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and p.provariadic = 0 and p.proargmodes is null
		  and not p.proargtypes::oid[] && array(select t.oid from pg_type t where t.typtype = 'p') and p.prorettype not in (select t.oid from pg_type t where t.typtype = 'p') loop
		execute format('create function public.%I(%s) returns %s %s language plpgsql as %L', r.proname, r.args, case when r.proretset then 'setof' else '' end, r.prorettype::regtype,
			format('begin perform public.sprung(%L); end', r.proname));
	end loop;
	for r in select t.typname from pg_type t where t.typnamespace = 'pg_catalog'::regnamespace and t.typtype in ('b', 'r', 'm') and (t.typelem = 0 or t.typname = 'name') loop
		execute format('create domain public.%I as pg_catalog.%I check (public.sprung(%L))', r.typname, r.typname, r.typname);
	end loop;
end
$do$; reset search_path`

// TestNamesHaveTheirSchema: nor do types and functions of the same names, to which the path of a session leads first, for who owns the database
// chooses that.
func TestNamesHaveTheirSchema(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "other")
	harness.Ask(t, harness.Connect(t, harness.Direct(), database), sameNames)
	harness.Admin(t, "alter database "+database+" set search_path = public, pg_catalog")
	t.Cleanup(func() { harness.Admin(t, "alter database "+database+" reset search_path") })
	conn := harness.Connect(t, harness.Proxied(), database)
	for _, sql := range []string{"select 'a'::text", "select length('a')"} {
		if _, err := harness.Query(harness.Context(t), conn, sql); err == nil || !strings.Contains(err.Error(), "SPRUNG") {
			t.Fatalf("%s: there is no trap: %v", sql, err)
		}
	}
	everyCall(t, conn)
}
