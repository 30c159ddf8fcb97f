package calls

import "testing"

func TestFunctionCreateQueue(t *testing.T) {
	callTable{
		queues:  []string{"q"},
		setup:   "create table t (name text, n int); insert into t values ('t1', 1), ('t2', 2)",
		effect:  "select string_agg(qname || ':' || consumers_cnt, ' ' order by qname) from mbus4.queue where kind = 'plain' and qname <> 'semaphore_events'",
		columns: "create_queue void",
		cases: []callCase{
			gives(" > new:3 q:1", "select mbus4.create_queue('new', 3)"),
			gives(" > new:3 q:1", "select mbus4.create_queue($1, $2)", "new", 3),
			gives(" > new:3 q:1", "select mbus4.create_queue(qname => $1, ncons => $2)", "new", 3),
			gives(" > new:3 q:1", "select mbus4.create_queue(ncons := $2, qname := $1)", "new", 3),
			gives(" > new:3 q:1", "select mbus4.create_queue($1, consumers_cnt => $2::int)", "new", 3),
			gives(" > new:3 q:1", "select mbus4.create_queue('ne' || 'w', 1 + 2)"),
			gives(" > new:3 q:1", "select * from mbus4.create_queue('new', 3)"),
			gives("\n > q:1 t1:1 t2:2", "select mbus4.create_queue(t.name, t.n) from t"),
			gives(" > q:9", "select mbus4.create_queue('q', 9)"), // exists: what it holds stays
			gives(" > q:1", "select mbus4.create_queue('new', 3) where false"),
			fails("42602", "null", "select mbus4.create_queue($1, 1)", nil),
			fails("42602", `"New"`, "select mbus4.create_queue($1, 1)", "New"),
			fails("42602", "reserved", "select mbus4.create_queue($1, 1)", "temp"),
			fails("22023", "at least 1", "select mbus4.create_queue('new', $1)", 0),
			fails("22023", "at least 1", "select mbus4.create_queue('new', $1)", nil),
			fails("42883", "mbus4.create_queue(qname text, ncons integer) returns void", "select mbus4.create_queue('new')"),
			fails("42883", "mbus4.create_queue(qname text", "select mbus4.create_queue('new', 1, 2)"),
			fails("42883", "mbus4.create_queue(qname text", "select mbus4.create_queue('new', ncons => 1, consumers_cnt => 1)"),
			fails("42883", "mbus4.create_queue(qname text", "select mbus4.create_queue(1, 1)"),
			fails("42883", "mbus4.create_queue(qname text", "select mbus4.create_queue('new', true)"),
			fails("42883", "mbus4.create_queue(qname text", "select mbus4.create_queue('new', number => 1)"),
		},
	}.run(t)
}

func TestFunctionDropQueue(t *testing.T) {
	callTable{
		queues:  []string{"q", "r"},
		before:  "select mbus4.create_consumer('q', 'c'); select mbus4.post('q', 'a=>1')",
		effect:  "select string_agg(qname || '/' || name, ' ' order by qname, name) from mbus4.consumer where qname not in ('dmq', 'semaphore_events')",
		columns: "drop_queue void",
		cases: []callCase{
			gives(" > r/default", "select mbus4.drop_queue('q')"),
			gives(" > r/default", "select mbus4.drop_queue($1)", "q"),
			gives(" > r/default", "select mbus4.drop_queue($1)", "Q"),
			gives(" > r/default", "select mbus4.drop_queue(qname => $1)", "q"),
			gives(" > r/default", "select mbus4.drop_queue(qname := $1::text)", "q"),
			gives("\n > ∅", "select mbus4.drop_queue(x) from unnest(array['q', 'r']) x"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.drop_queue($1)", "nowhere"),
			fails("42704", "queue null does not exist", "select mbus4.drop_queue($1)", nil),
			fails("42809", "dmq", "select mbus4.drop_queue($1)", "dmq"),
			fails("42883", "mbus4.drop_queue(qname text) returns void", "select mbus4.drop_queue()"),
			fails("42883", "mbus4.drop_queue(qname text)", "select mbus4.drop_queue('q', 'r')"),
			fails("42883", "mbus4.drop_queue(qname text)", "select mbus4.drop_queue(7)"),
			fails("42883", "mbus4.drop_queue(qname text)", "select mbus4.drop_queue(name => 'q')"),
		},
	}.run(t)
}

func TestFunctionCreateConsumer(t *testing.T) {
	const big = "(t.data->'n')::int > 5"
	callTable{
		queues: []string{"q", "r"},
		setup:  "create table t (name text); insert into t values ('c1'), ('c2')",
		effect: `select string_agg(concat_ws(':', qname, name, selector), ' ' order by qname, name)
			from mbus4.consumer where qname not in ('dmq', 'semaphore_events') and (qname, name) not in (('q', 'default'), ('r', 'default'))`,
		columns: "create_consumer void",
		cases: []callCase{
			gives(" > q:c", "select mbus4.create_consumer('q', 'c')"),
			gives(" > q:c", "select mbus4.create_consumer($1, $2)", "q", "c"),
			gives(" > q:c", "select mbus4.create_consumer($1, $2)", "c", "q"), // the order of older programs
			gives(" > q:r", "select mbus4.create_consumer(qname => $1, cname => $2)", "q", "r"),
			fails("42725", "mbus4.create_consumer(qname => 'q', cname => 'r')", "select mbus4.create_consumer($1, $2)", "q", "r"), // both are queues
			gives(" > q:c", "select mbus4.create_consumer(cname => $2, qname => $1)", "q", "c"),
			gives(" > q:c:"+big, "select mbus4.create_consumer('q', 'c', "+"$1)", big),
			gives(" > q:c:"+big, "select mbus4.create_consumer($1, $2, $3)", "c", "q", big),
			gives(" > q:c:"+big, "select mbus4.create_consumer($1, $2, $3, $4)", "q", "c", big, false),
			gives(" > q:c:"+big, "select mbus4.create_consumer('q', 'c', selector => $1)", big),
			gives(" > q:c:"+big, "select mbus4.create_consumer('q', 'c', p_selector := $1)", big),
			gives(" > q:c:"+big, "select mbus4.create_consumer('q', noindex => $2, cname => 'c', p_selector => $1)", big, true),
			gives(" > q:c", "select mbus4.create_consumer('q', 'c', $1)", nil),
			gives(" > q:c", "select mbus4.create_consumer('q', 'c', $1, $2)", nil, nil),
			gives(" > q:c: ", "select mbus4.create_consumer('q', 'c', $1)", " "),
			gives("\n > q:c1 q:c2", "select mbus4.create_consumer('q', t.name) from t"),
			fails("0A000", "argument selector of mbus4.create_consumer must be known", "select mbus4.create_consumer('q', 'c', t.name) from t"),
			fails("0A000", "as a literal or as a bind parameter", "select mbus4.create_consumer('q', 'c', lower('true'))"),
			gives(" > q:c:true", "select mbus4.create_consumer('q', 'c', 'tr' || 'ue')"),
			fails("42704", `"nowhere"`, "select mbus4.create_consumer($1, 'c')", "nowhere"),
			fails("42704", "queue null", "select mbus4.create_consumer($1, 'c')", nil),
			fails("42602", "null", "select mbus4.create_consumer('q', $1)", nil),
			fails("42602", `"C"`, "select mbus4.create_consumer('q', $1)", "C"),
			fails("42602", "reserved", "select mbus4.create_consumer('q', $1)", "dmq"),
			fails("42710", `already has a consumer "default"`, "select mbus4.create_consumer('q', $1)", "default"),
			fails("42809", "dmq", "select mbus4.create_consumer($1, 'c')", "dmq"),
			fails("42883", "mbus4.create_consumer(qname text, cname text, selector text default null, noindex boolean default 'false') returns void",
				"select mbus4.create_consumer('q')"),
			fails("42883", "mbus4.create_consumer(qname text", "select mbus4.create_consumer('q', 'c', null, true, 1)"),
			fails("42883", "mbus4.create_consumer(qname text", "select mbus4.create_consumer('q', 'c', selector => 'true', p_selector => 'true')"),
			fails("42883", "mbus4.create_consumer(qname text", "select mbus4.create_consumer('q', 'c', noindex => 5.5)"),
			fails("42883", "mbus4.create_consumer(qname text", "select mbus4.create_consumer('q', 7)"),
		},
	}.run(t)
}

func TestFunctionDropConsumer(t *testing.T) {
	callTable{
		queues: []string{"q", "r"},
		before: "select mbus4.create_consumer('q', 'c'); select mbus4.create_consumer('q', 'd'); select mbus4.create_consumer('q', cname => 'r')",
		effect: `select string_agg(qname || '/' || name, ' ' order by qname, name)
			from mbus4.consumer where qname not in ('dmq', 'semaphore_events') and name <> 'default'`,
		columns: "drop_consumer void",
		cases: []callCase{
			gives(" > q/d q/r", "select mbus4.drop_consumer('q', 'c')"),
			gives(" > q/d q/r", "select mbus4.drop_consumer($1, $2)", "q", "c"),
			gives(" > q/d q/r", "select mbus4.drop_consumer($1, $2)", "c", "q"),
			gives(" > q/c q/d", "select mbus4.drop_consumer(qname => $1, cname => $2)", "q", "r"),
			fails("42725", "mbus4.drop_consumer(qname => 'r', cname => 'q')", "select mbus4.drop_consumer($1, $2)", "q", "r"),
			gives(" > q/d q/r", "select mbus4.drop_consumer($1, $2)", "Q", "C"),
			gives(" > q/d q/r", "select mbus4.drop_consumer(cname => $2, qname => $1)", "q", "c"),
			gives(" > q/d q/r", "select mbus4.drop_consumer('q', cname := $1)", "c"),
			gives("\n > q/r", "select mbus4.drop_consumer('q', x) from unnest(array['c', 'd']) x"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.drop_consumer($1, 'c')", "nowhere"),
			fails("42704", `queue "q" has no consumer "nobody"`, "select mbus4.drop_consumer('q', $1)", "nobody"),
			fails("42704", `queue "q" has no consumer null`, "select mbus4.drop_consumer('q', $1)", nil),
			fails("42809", "dmq", "select mbus4.drop_consumer('dmq', $1)", "default"),
			fails("42883", "mbus4.drop_consumer(qname text, cname text) returns void", "select mbus4.drop_consumer('q')"),
			fails("42883", "mbus4.drop_consumer(qname text", "select mbus4.drop_consumer('q', 'c', 'd')"),
			fails("42883", "mbus4.drop_consumer(qname text", "select mbus4.drop_consumer('q', consumer => 'c')"),
		},
	}.run(t)
}

// The two names of one function.
func TestFunctionFreshIID(t *testing.T) {
	for _, name := range []string{"generate_new_msgiid", "get_iid"} {
		t.Run(name, func(t *testing.T) {
			call := "select mbus4." + name
			callTable{
				queues:  []string{"q"},
				columns: name + " text",
				cases: []callCase{
					gives("q.<db>.<n>", call+"('q')"),
					gives("q.<db>.<n>", call+"($1)", "q"),
					gives("q.<db>.<n>", call+"($1)", "Q"),
					gives("q.<db>.<n>", call+"(qname => $1)", "q"),
					gives("q.<db>.<n>", call+"(qname := $1::text)", "q"),
					gives("q.<db>.<n>|q.<db>.<n>", call+"('q'), mbus4."+name+"('q')"),
					gives("dmq.<db>.<n>\nq.<db>.<n>", "select mbus4."+name+"(x) from unnest(array['dmq', 'q']) x"),
					gives("2", "select count(distinct i) from (select mbus4."+name+"('q') i from generate_series(1, 2)) x"),
					gives("q", "select q.qname from mbus4.queue q where mbus4."+name+"(q.qname) like 'q.%'"),
					gives("nowhere.<db>.<n>", call+"($1)", "nowhere"),
					gives("∅", call+"($1)", nil),
					fails("42883", "mbus4."+name+"(qname text) returns text", call+"()"),
					fails("42883", "mbus4."+name+"(qname text)", call+"('q', 1)"),
					fails("42883", "mbus4."+name+"(qname text)", call+"(7)"),
				},
			}.run(t)
		})
	}
}

func TestFunctionEstimatedMessages(t *testing.T) {
	callTable{
		queues:  []string{"q", "r"},
		before:  "select mbus4.post('q', 'a=>1') from generate_series(1, 7); select mbus4.create_consumer('q', 'late')",
		columns: "estimated_messages bigint",
		cases: []callCase{
			gives("7", "select mbus4.estimated_messages('q')"),
			gives("7", "select mbus4.estimated_messages($1)", "q"),
			gives("7", "select mbus4.estimated_messages(qname => $1)", "Q"),
			gives("0", "select mbus4.estimated_messages(qname := $1)", "r"),
			gives("0", "select mbus4.estimated_messages($1)", "dmq"),
			gives("q|7\nr|0", "select qname, mbus4.estimated_messages(qname) from mbus4.queue where kind = 'plain' and qname <> 'semaphore_events' order by 1"),
			gives("q", "select qname from mbus4.queue where mbus4.estimated_messages(qname) > 0"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.estimated_messages($1)", "nowhere"),
			fails("42704", "queue null does not exist", "select mbus4.estimated_messages($1)", nil),
			fails("42883", "mbus4.estimated_messages(qname text) returns bigint", "select mbus4.estimated_messages()"),
			fails("42883", "mbus4.estimated_messages(qname text)", "select mbus4.estimated_messages('q', 'r')"),
		},
	}.run(t)
}

func TestFunctionClearQueue(t *testing.T) {
	callTable{
		queues: []string{"q", "r"},
		before: `select mbus4.post('q', 'a=>1', expires => '2001-01-01', iid => 'old');
			select mbus4.post('q', 'a=>1', expires => '2999-01-01', iid => 'new');
			select mbus4.post('r', 'a=>1', expires => '2001-01-01', iid => 'other')`,
		effect:  "select string_agg(iid, ' ' order by iid) from mbus4.message",
		columns: "clear_queue_q void",
		cases: []callCase{
			gives(" > new other", "select mbus4.clear_queue_q()"),
			gives(" > new other", `select mbus4."clear_queue_Q"()`),
			gives(" > new other", "select * from mbus4.clear_queue_q()"),
			gives("| > new", "select mbus4.clear_queue_q(), mbus4.clear_queue_r()"),
			gives(" > new old other", "select mbus4.clear_queue_dmq()"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.clear_queue_nowhere()"),
			fails("42883", "mbus4.clear_queue_q() returns void", "select mbus4.clear_queue_q('q')"),
			fails("42883", "mbus4.clear_queue_q()", "select mbus4.clear_queue_q(qname => 'q')"),
		},
	}.run(t)
}

func TestFunctionCreateRunFunction(t *testing.T) {
	callTable{
		queues:  []string{"q"},
		columns: "create_run_function void",
		cases: []callCase{
			gives("", "select mbus4.create_run_function('q')"),
			gives("", "select mbus4.create_run_function($1)", "q"),
			gives("", "select mbus4.create_run_function($1)", "Q"),
			gives("", "select mbus4.create_run_function(qname => $1)", "q"),
			gives("", "select mbus4.create_run_function(qname := 'q')"),
			gives("\n", "select mbus4.create_run_function(qname) from mbus4.queue where qname <> 'semaphore_events'"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.create_run_function($1)", "nowhere"),
			fails("42704", "queue null does not exist", "select mbus4.create_run_function($1)", nil),
			fails("42883", "mbus4.create_run_function(qname text) returns void", "select mbus4.create_run_function()"),
			fails("42883", "mbus4.create_run_function(qname text)", "select mbus4.create_run_function('q', 'q')"),
		},
	}.run(t)
}

func TestFunctionReadme(t *testing.T) {
	callTable{
		columns: "split_part text",
		cases: []callCase{
			gives("mbus4: a message bus inside your database", "select split_part(mbus4.readme(), E'\\n', 1)"),
			gives("t", "select r like '%create_queue%' from mbus4.readme() r"),
			gives("1", "select 1 where mbus4.readme() like '%dmq%'"),
			fails("42883", "mbus4.readme() returns text", "select mbus4.readme(1)"),
		},
	}.run(t)
}

func TestFunctionRegenerateFunctions(t *testing.T) {
	callTable{
		columns: "regenerate_functions void",
		cases: []callCase{
			gives("", "select mbus4.regenerate_functions()"),
			gives("", "select * from mbus4.regenerate_functions()"),
			gives("|2", "select mbus4.regenerate_functions(), 2"),
			fails("42883", "mbus4.regenerate_functions() returns void", "select mbus4.regenerate_functions(1)"),
		},
	}.run(t)
}
