package calls

import "testing"

func TestFunctionCreateTrigger(t *testing.T) {
	const signature = "mbus4.create_trigger(src text, dst text, selector text default null) returns void"
	callTable{
		queues:  []string{"a", "b", "c"},
		setup:   "create table t (src text, dst text); insert into t values ('b', 'a'), ('b', 'c')",
		effect:  "select string_agg(concat_ws(':', qname, target, selector), ' ' order by qname, target) from mbus4.consumer where target is not null",
		columns: "create_trigger void",
		cases: []callCase{
			gives(" > a:b", "select mbus4.create_trigger('a', 'b')"),
			gives(" > a:b", "select mbus4.create_trigger($1, $2)", "A", "B"),
			gives(" > a:b:t.iid = 'x'", "select mbus4.create_trigger($1, $2, $3)", "a", "b", "t.iid = 'x'"),
			gives(" > a:b:t.iid = 'x'", "select mbus4.create_trigger(selector => $3, dst => $2, src => $1)", "a", "b", "t.iid = 'x'"),
			gives(" > a:b:t.iid = 'x'", "select mbus4.create_trigger('a', dst := 'b', selector := 't.iid = ''x''')"),
			gives(" > a:b", "select mbus4.create_trigger('a', 'b', $1)", nil),
			gives("\n > b:a b:c", "select mbus4.create_trigger(t.src, t.dst) from t"),
			gives(" > a:nowhere", "select mbus4.create_trigger('a', $1)", "nowhere"), // a warning
			fails("0A000", "argument selector of mbus4.create_trigger must be known", "select mbus4.create_trigger('a', 'b', t.src) from t"),
			fails("42P17", "Loop detected", "select mbus4.create_trigger('a', $1)", "a"),
			fails("22004", "must not be null", "select mbus4.create_trigger($1, 'b')", nil),
			fails("22004", "must not be null", "select mbus4.create_trigger('a', $1)", nil),
			fails("42601", "one SQL expression", "select mbus4.create_trigger('a', 'b', $1)", "true; true"),
			fails("42883", signature, "select mbus4.create_trigger('a')"),
			fails("42883", signature, "select mbus4.create_trigger('a', 'b', null, 1)"),
			fails("42883", signature, "select mbus4.create_trigger('a', 7)"),
			fails("42883", signature, "select mbus4.create_trigger('a', 'b', p_selector => 'true')"),
		},
	}.run(t)
}

func TestFunctionDropTrigger(t *testing.T) {
	callTable{
		queues:  []string{"a", "b", "c"},
		before:  "select mbus4.create_trigger('a', 'b'); select mbus4.create_trigger('a', 'c'); select mbus4.create_trigger('a', 'nowhere')",
		effect:  "select string_agg(concat_ws(':', qname, target), ' ' order by qname, target) from mbus4.consumer where target is not null",
		columns: "drop_trigger void",
		cases: []callCase{
			gives(" > a:c a:nowhere", "select mbus4.drop_trigger('a', 'b')"),
			gives(" > a:c a:nowhere", "select mbus4.drop_trigger($1, $2)", "A", "B"),
			gives(" > a:b a:c", "select mbus4.drop_trigger(dst => $2, src => $1)", "a", "nowhere"),
			gives(" > a:c a:nowhere", "select mbus4.drop_trigger('a', dst := $1)", "b"),
			gives("\n > a:nowhere", "select mbus4.drop_trigger('a', x) from unnest(array['b', 'c']) x"),
			gives(" > a:b a:c a:nowhere", "select mbus4.drop_trigger($1, $2)", "b", "a"),
			gives(" > a:b a:c a:nowhere", "select mbus4.drop_trigger($1, 'b')", nil),
			fails("42883", "mbus4.drop_trigger(src text, dst text) returns void", "select mbus4.drop_trigger('a')"),
			fails("42883", "mbus4.drop_trigger(src text", "select mbus4.drop_trigger('a', 'b', 'c')"),
			fails("42883", "mbus4.drop_trigger(src text", "select mbus4.drop_trigger('a', queue => 'b')"),
		},
	}.run(t)
}

func TestFunctionCreateTemporaryQueue(t *testing.T) {
	callTable{
		effect:  "select count(*) || ' ' || bool_and(qname ~ '^temp\\.[0-9a-f]{32}\\.\\d+$') from mbus4.queue where kind = 'temp'",
		columns: "substr text",
		cases: []callCase{
			gives("temp. > 1 true", "select substr(mbus4.create_temporary_queue(), 1, 5)"),
			gives("temp. > 1 true", "select left(q, 5) from mbus4.create_temporary_queue() q"),
			gives("t > 2 true", "select count(distinct q) = 2 from (select mbus4.create_temporary_queue() q from generate_series(1, 2)) x"),
			fails("42883", "mbus4.create_temporary_queue() returns text", "select mbus4.create_temporary_queue('x')"),
			fails("42883", "mbus4.create_temporary_queue()", "select mbus4.create_temporary_queue(name => 'x')"),
		},
	}.run(t)
}

func TestFunctionCreateTemporaryConsumer(t *testing.T) {
	const signature = "mbus4.create_temporary_consumer(qname text, selector text default null) returns text"
	callTable{
		queues: []string{"q"},
		setup:  "create table t (name text); insert into t values ('q'), ('dmq')",
		effect: `select string_agg(concat_ws(':', qname, left(target, 5), selector), ' ' order by qname)
			from mbus4.consumer c where target is not null and exists (select from mbus4.queue q where q.qname = c.target)`,
		columns: "left text",
		cases: []callCase{
			gives("temp. > q:temp.", "select left(mbus4.create_temporary_consumer('q'), 5)"),
			gives("temp. > q:temp.", "select left(mbus4.create_temporary_consumer($1), 5)", "Q"),
			gives("temp. > q:temp.:t.iid = 'x'", "select left(mbus4.create_temporary_consumer($1, $2), 5)", "q", "t.iid = 'x'"),
			gives("temp. > q:temp.:t.iid = 'x'", "select left(mbus4.create_temporary_consumer(selector => $2, qname => $1), 5)", "q", "t.iid = 'x'"),
			gives("temp. > q:temp.:t.iid = 'x'", "select left(mbus4.create_temporary_consumer('q', selector := 't.iid = ''x'''), 5)"),
			gives("temp. > q:temp.", "select left(mbus4.create_temporary_consumer('q', $1), 5)", nil),
			gives("temp.\ntemp. > dmq:temp. q:temp.", "select left(mbus4.create_temporary_consumer(t.name), 5) from t"),
			fails("0A000", "must be known before the statement runs", "select mbus4.create_temporary_consumer('q', t.name) from t"),
			fails("42601", "one SQL expression", "select mbus4.create_temporary_consumer('q', $1)", "true, true"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.create_temporary_consumer($1)", "nowhere"),
			fails("42704", "queue null does not exist", "select mbus4.create_temporary_consumer($1)", nil),
			fails("42883", signature, "select mbus4.create_temporary_consumer()"),
			fails("42883", signature, "select mbus4.create_temporary_consumer('q', null, 1)"),
			fails("42883", signature, "select mbus4.create_temporary_consumer(7)"),
			fails("42883", signature, "select mbus4.create_temporary_consumer('q', noindex => true)"),
		},
	}.run(t)
}

func TestFunctionClearTempQ(t *testing.T) {
	callTable{
		before:  "insert into mbus4.queue (qname, consumers_cnt, kind, owner) values ('temp.dead', 1, 'temp', 1); select mbus4.create_temporary_queue()",
		effect:  "select count(*) || ' ' || count(*) filter (where qname = 'temp.dead') from mbus4.queue where kind = 'temp'",
		columns: "clear_tempq void",
		cases: []callCase{
			gives(" > 1 0", "select mbus4.clear_tempq()"),
			gives(" > 1 0", "select * from mbus4.clear_tempq()"),
			fails("42883", "mbus4.clear_tempq() returns void", "select mbus4.clear_tempq(1)"),
		},
	}.run(t)
}

// The two names of one function.
func TestFunctionRunOn(t *testing.T) {
	for _, name := range []string{"run_on_", "run_"} {
		t.Run(name, func(t *testing.T) {
			call := "select mbus4." + name
			signature := "mbus4." + name + "q(exec text) returns integer"
			callTable{
				queues:  []string{"q", "empty"},
				setup:   "create table done (n int); create table t (exec text); insert into t values ('select 1')",
				before:  "select mbus4.post('q', hstore('n', n::text)) from generate_series(1, 3) n",
				effect:  "select string_agg(n::text, ' ' order by n) from done",
				columns: name + "empty integer",
				cases: []callCase{
					gives("0 > ∅", call+"empty('insert into done values (0)')"),
					gives("3 > 1 2 3", call+"q('insert into done values ((($1).data->''n'')::int)')"),
					gives("3 > 1 2 3", call+"q($1)", "insert into done values ((($1).data->'n')::int)"),
					gives("3 > 1 2 3", call+"q(exec => $1)", "insert into done values ((($1).data->'n')::int)"),
					gives("3 > 0 0 0", call+"q(exec := $1::text)", "insert into done values (0)"),
					gives("3 > ∅", "select n from mbus4."+name+"q('select 1') n"),
					gives("3|0 > ∅", call+"q('select 1'), mbus4."+name+"q('select 1')"),
					gives("3 > ∅", call+"q('select ' || '1')"),
					fails("0A000", "cannot be called in", "select mbus4."+name+"q(t.exec) from t"),
					gives("0 > ∅", call+"q($1)", nil),
					fails("42704", `queue "nowhere" does not exist`, call+"nowhere('select 1')"),
					fails("42883", signature, call+"q()"),
					fails("42883", signature, call+"q('select 1', 2)"),
					fails("42883", signature, call+"q(statement => 'select 1')"),
					fails("42883", signature, call+"q(7)"),
				},
			}.run(t)
		})
	}
}

// views lists the views a case made, with their columns.
const views = `select string_agg(n.nspname || '.' || c.relname || '(' || (select string_agg(a.attname, ',' order by a.attnum) from pg_attribute a where a.attrelid = c.oid) || ')', ' ')
	from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'v' and n.nspname in ('public', 's', 'S')`

func TestFunctionCreateView(t *testing.T) {
	const signature = "mbus4.create_view(qname text, cname text default 'default', viewname text default null) returns void"
	callTable{
		queues:  []string{"q", "1st"},
		setup:   `select mbus4.create_consumer('q', 'c'); create schema s; create schema "S"; create table t (name text); insert into t values ('q')`,
		effect:  views,
		columns: "create_view void",
		cases: []callCase{
			gives(" > public.q_q(data)", "select mbus4.create_view('q')"),
			gives(" > public.q_q(data)", "select mbus4.create_view($1, $2)", "Q", "C"),
			gives(" > public.1st_q(data)", "select mbus4.create_view($1)", "1st"),
			gives(" > s.v(data)", "select mbus4.create_view($1, $2, $3)", "q", "c", "s.v"),
			gives(" > s.v(data)", "select mbus4.create_view(viewname => $3, cname => $2, qname => $1)", "q", "c", " S.V "),
			gives(" > S.a \"B(data)", "select mbus4.create_view('q', viewname := $1)", `"S"."a ""B"`),
			gives(" > public.v(data)", "select mbus4.create_view('q', viewname => 'v')"),
			gives(" > public.q_q(data)", "select mbus4.create_view('q', viewname => $1)", nil),
			gives(" > public.q_q(data)", "select * from mbus4.create_view('q')"),
			fails("42602", "not a valid name for a view", "select mbus4.create_view('q', viewname => $1)", "a b"),
			fails("42602", "not a valid name for a view", "select mbus4.create_view('q', viewname => $1)", "v; drop table t"),
			fails("3F000", "nowhere", "select mbus4.create_view('q', viewname => $1)", "nowhere.v"),
			fails("42P07", `"t"`, "select mbus4.create_view('q', viewname => $1)", "t"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.create_view($1)", "nowhere"),
			fails("42704", "does not exist", "select mbus4.create_view($1)", nil),
			fails("42704", `queue "q" has no consumer "nobody"`, "select mbus4.create_view('q', $1)", "nobody"),
			fails("0A000", "cannot be called in", "select mbus4.create_view(t.name) from t"),
			fails("0A000", "must be known", "select mbus4.create_view(lower('Q'))"),
			fails("42883", signature, "select mbus4.create_view()"),
			fails("42883", signature, "select mbus4.create_view('q', 'c', 'v', 1)"),
			fails("42883", signature, "select mbus4.create_view(7)"),
			fails("42883", signature, "select mbus4.create_view('q', view => 'v')"),
		},
	}.run(t)
}

func TestFunctionCreateViewProp(t *testing.T) {
	const signature = "mbus4.create_view_prop(qname text, cname text, sname text, viewname text, " +
		"with_delay boolean default 'false', with_expire boolean default 'false') returns void"
	callTable{
		queues:  []string{"q"},
		setup:   `create schema s; create schema "S"; create table t (name text)`,
		effect:  views,
		columns: "create_view_prop void",
		cases: []callCase{
			gives(" > s.v(data,properties)", "select mbus4.create_view_prop('q', 'default', 's', 'v')"),
			gives(" > s.v(data,properties,delayed_until,expires)", "select mbus4.create_view_prop($1, $2, $3, $4, $5, $6)", "Q", "DEFAULT", "s", "v", true, true),
			gives(" > s.v(data,properties,delayed_until)", "select mbus4.create_view_prop($1, $2, $3, $4, $5)", "q", "default", "s", "v", "true"),
			gives(" > s.v(data,properties,expires)", "select mbus4.create_view_prop('q', 'default', 's', 'v', with_expire => $1)", true),
			gives(" > S.V x(data,properties)", "select mbus4.create_view_prop(viewname => $4, sname => $3, cname => $2, qname => $1)", "q", "default", "S", "V x"),
			gives(" > public.v(data,properties)", "select mbus4.create_view_prop('q', 'default', $1, 'v', $2, $2)", nil, nil),
			fails("22004", "must have a name", "select mbus4.create_view_prop('q', 'default', 's', $1)", nil),
			fails("3F000", "nowhere", "select mbus4.create_view_prop('q', 'default', $1, 'v')", "nowhere"),
			fails("42P07", `"t"`, "select mbus4.create_view_prop('q', 'default', $1, 't')", "public"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.create_view_prop($1, 'default', 's', 'v')", "nowhere"),
			fails("42704", `queue "q" has no consumer "nobody"`, "select mbus4.create_view_prop('q', $1, 's', 'v')", "nobody"),
			fails("0A000", "must be known", "select mbus4.create_view_prop('q', 'default', 's', 'v', 1 > 2)"),
			fails("42883", signature, "select mbus4.create_view_prop('q', 'default', 's')"),
			fails("42883", signature, "select mbus4.create_view_prop('q', 'default', 's', 'v', true, true, true)"),
			fails("42883", signature, "select mbus4.create_view_prop('q', 'default', 's', 'v', 5.5)"),
			fails("42883", signature, "select mbus4.create_view_prop('q', 'default', 's', 'v', delay => true)"),
		},
	}.run(t)
}
