package calls

import "testing"

// Three messages for two consumers, and one more queue.
const threePosted = `select mbus4.create_consumer('q', 'c'); select mbus4.post('q', hstore('n', n::text), iid => 'm' || n) from generate_series(1, 3) n;
	select mbus4.post('r', 'n=>9', iid => 'r1')`

// What is left, for each consumer of q.
const threeLeft = `select string_agg(m.iid, '' order by m.id) filter (where c.name = 'default') || ' ' || string_agg(m.iid, '' order by m.id) filter (where c.name = 'c')
	from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id where c.qname = 'q'`

func TestFunctionConsume(t *testing.T) {
	const signature = "mbus4.consume(qname text, cname text default 'default', wait interval default null) returns setof mbus4.qt_model"
	callTable{
		queues: []string{"q", "r", "empty"}, before: threePosted, effect: threeLeft, columns: messageColumns,
		setup: "create table t (name text); insert into t values ('q'), ('r'), ('empty')",
		cases: []callCase{
			gives(" > m1m2m3 m1m2m3", "select * from mbus4.consume('empty')"),
			gives(`m1|"n"=>"1"|∅|t|∅|{} > m2m3 m1m2m3`, "select iid, data, properties, delayed_until = added, expires, received from mbus4.consume($1)", "q"),
			gives("m1 > m1m2m3 m2m3", "select iid from mbus4.consume($1, $2)", "Q", "C"),
			gives("m1 > m1m2m3 m2m3", "select iid from mbus4.consume(cname => $2, qname => $1)", "q", "c"),
			gives("m1 > m1m2m3 m2m3", "select iid from mbus4.consume($1, cname := $2::text)", "q", "c"),
			gives("m1 > m2m3 m1m2m3", "select (mbus4.consume(qname := 'q')).iid"),
			gives("m1\nr1 > m2m3 m1m2m3", "select (mbus4.consume(name)).iid from t"),
			gives("q|m1\nr|r1 > m2m3 m1m2m3", "select name, (mbus4.consume(name)).iid from t order by name = 'r'"),
			fails("42704", `queue "nowhere" does not exist`, "select * from mbus4.consume($1)", "nowhere"),
			fails("42704", `queue "q" has no consumer "nobody"`, "select * from mbus4.consume('q', $1)", "nobody"),
			fails("42704", "queue null does not exist", "select * from mbus4.consume($1)", nil),
			fails("42704", `queue "q" has no consumer null`, "select * from mbus4.consume('q', $1)", nil),
			fails("42883", signature, "select * from mbus4.consume()"),
			fails("42883", signature, "select * from mbus4.consume('q', 'c', 1)"),
			fails("42883", signature, "select * from mbus4.consume('q', consumer => 'c')"),
			fails("42883", signature, "select * from mbus4.consume(7)"),
		},
	}.run(t)
}

func TestFunctionConsumeByName(t *testing.T) {
	callTable{
		queues: []string{"q", "r", "empty"}, before: threePosted, effect: threeLeft, columns: messageColumns,
		cases: []callCase{
			gives(" > m1m2m3 m1m2m3", "select * from mbus4.consume_empty_by_default()"),
			gives(`m1|"n"=>"1" > m1m2m3 m2m3`, "select iid, data from mbus4.consume_q_by_c()"),
			gives("m1 > m2m3 m1m2m3", `select iid from mbus4."consume_Q_by_DEFAULT"()`),
			gives("m1 > m1m2m3 m2m3", "select (mbus4.consume_q_by_c()).iid"),
			gives("m1|m1 > m2m3 m2m3", "select a.iid, b.iid from mbus4.consume_q_by_default() a, mbus4.consume_q_by_c() b"),
			gives("1|m1\n2|m2 > m3 m1m2m3", "select n, (mbus4.consume_q_by_default()).iid from generate_series(1, 2) n"),
			fails("42704", `queue "nowhere" does not exist`, "select * from mbus4.consume_nowhere_by_c()"),
			fails("42704", `queue "q" has no consumer "nobody"`, "select * from mbus4.consume_q_by_nobody()"),
			fails("42883", "mbus4.consume_q_by_c(wait interval default null) returns setof mbus4.qt_model", "select * from mbus4.consume_q_by_c('q')"),
			fails("42883", "mbus4.consume_q_by_c(wait interval default null)", "select * from mbus4.consume_q_by_c(cname => 'c')"),
			fails("42883", "", "select * from mbus4.consume_q()"),
		},
	}.run(t)
}

func TestFunctionConsumenByName(t *testing.T) {
	const signature = "mbus4.consumen_q_by_c(amt integer, wait interval default null) returns setof mbus4.qt_model"
	callTable{
		queues: []string{"q", "r", "empty"}, before: threePosted, effect: threeLeft, columns: messageColumns,
		cases: []callCase{
			gives(" > m1m2m3 m1m2m3", "select * from mbus4.consumen_empty_by_default(9)"),
			gives("m1\nm2 > m1m2m3 m3", "select iid from mbus4.consumen_q_by_c($1)", 2),
			gives("m1\nm2 > m3 m1m2m3", "select iid from mbus4.consumen_q_by_default(amt => $1)", 2),
			gives("m1\nm2 > m3 m1m2m3", "select iid from mbus4.consumen_q_by_default(amt := $1::int)", 2),
			gives("m1\nm2 > m1m2m3 m3", "select (mbus4.consumen_q_by_c(1 + 1)).iid"),
			gives("1|m1\n2|m2\n2|m3 > ∅", "select n, (mbus4.consumen_q_by_c(n)).iid from generate_series(1, 2) n"),
			gives(" > m1m2m3 m1m2m3", "select iid from mbus4.consumen_q_by_c($1)", 0),
			fails("42704", `queue "nowhere" does not exist`, "select * from mbus4.consumen_nowhere_by_c(1)"),
			fails("42704", `queue "q" has no consumer "nobody"`, "select * from mbus4.consumen_q_by_nobody(1)"),
			fails("42883", signature, "select * from mbus4.consumen_q_by_c()"),
			fails("42883", signature, "select * from mbus4.consumen_q_by_c(1, 2)"),
			fails("42883", signature, "select * from mbus4.consumen_q_by_c(true)"),
			fails("42883", signature, "select * from mbus4.consumen_q_by_c(amount => 1)"),
		},
	}.run(t)
}

func TestFunctionConsumen(t *testing.T) {
	const signature = "mbus4.consumen(qname text, cname text default 'default', amt integer default '1', wait interval default null) returns setof mbus4.qt_model"
	callTable{
		queues: []string{"q", "r", "empty"}, before: threePosted, effect: threeLeft, columns: messageColumns,
		setup: "create table t (name text, amt int); insert into t values ('q', 2), ('r', 5)",
		cases: []callCase{
			gives(" > m1m2m3 m1m2m3", "select * from mbus4.consumen('empty', 'default', 9)"),
			gives("m1 > m2m3 m1m2m3", "select iid from mbus4.consumen('q')"),
			gives("m1\nm2 > m1m2m3 m3", "select iid from mbus4.consumen($1, $2, $3)", "q", "c", 2),
			gives("m1\nm2 > m3 m1m2m3", "select iid from mbus4.consumen($1, amt => $2)", "q", 2),
			gives("m1\nm2 > m1m2m3 m3", "select iid from mbus4.consumen(amt := $1, cname := $2, qname := $3)", 2, "c", "Q"),
			gives(" > m1m2m3 m1m2m3", "select iid from mbus4.consumen('q', amt => $1)", 0),
			fails("2201W", "must not be negative, but it is -1", "select iid from mbus4.consumen('q', amt => $1)", -1),
			gives("m1|2\nm2|2\nr1|5 > m3 m1m2m3", "select (mbus4.consumen(name, amt => amt)).iid, amt from t"),
			fails("42704", `queue "nowhere" does not exist`, "select * from mbus4.consumen($1, amt => 2)", "nowhere"),
			fails("42704", `queue "q" has no consumer "nobody"`, "select * from mbus4.consumen('q', $1, 2)", "nobody"),
			fails("42704", `queue "q" has no consumer null`, "select * from mbus4.consumen('q', $1, 2)", nil),
			fails("42883", signature, "select * from mbus4.consumen()"),
			fails("42883", signature, "select * from mbus4.consumen('q', 'c', 1, 2)"),
			fails("42883", signature, "select * from mbus4.consumen('q', 'c', true)"),
			fails("42883", signature, "select * from mbus4.consumen('q', amount => 2)"),
		},
	}.run(t)
}

func TestFunctionDynConsume(t *testing.T) {
	const signature = "mbus4.dyn_consume(qname text, selector text default '(1=1)', cname text default 'default', wait interval default null) returns setof mbus4.qt_model"
	const second = "(t.data->'n')='2'"
	callTable{
		queues: []string{"q", "r", "empty"}, before: threePosted, effect: threeLeft, columns: messageColumns,
		setup: "create table s (name text, sel text); insert into s values ('q', $$(t.data->'n')='3'$$), ('r', 'true'), ('q', $$(t.data->'n')='5'$$)",
		cases: []callCase{
			gives(" > m1m2m3 m1m2m3", "select * from mbus4.dyn_consume('empty', 'true')"),
			gives("m1 > m2m3 m1m2m3", "select iid from mbus4.dyn_consume('q')"),
			gives("m2 > m1m3 m1m2m3", "select iid from mbus4.dyn_consume('q', '(t.data->''n'')=''2''')"),
			gives("m2 > m1m3 m1m2m3", "select iid from mbus4.dyn_consume($1, $2)", "q", second),
			gives("m2 > m1m2m3 m1m3", "select iid from mbus4.dyn_consume($1, $2, $3)", "Q", second, "C"),
			gives("m2 > m1m2m3 m1m3", "select iid from mbus4.dyn_consume(cname => $3, selector => $2, qname => $1)", "q", second, "c"),
			gives("m1 > m1m2m3 m2m3", "select iid from mbus4.dyn_consume('q', cname := $1)", "c"),
			gives("m2 > m1m3 m1m2m3", "select (mbus4.dyn_consume('q', $1::text || '')).iid", second),
			gives("m1 > m2m3 m1m2m3", "select iid from mbus4.dyn_consume('q', $1)", nil),
			gives("m1 > m2m3 m1m2m3", "select iid from mbus4.dyn_consume('q', $1)", "  "),
			gives(" > m1m2m3 m1m2m3", "select iid from mbus4.dyn_consume('q', $1)", "null"),
			gives("m3\nr1 > m1m2 m1m2m3", "select (mbus4.dyn_consume(name, sel)).iid from s"),
			fails("42704", `queue "nowhere" does not exist`, "select * from mbus4.dyn_consume($1)", "nowhere"),
			fails("42704", "queue null does not exist", "select * from mbus4.dyn_consume($1)", nil),
			fails("42704", `queue "q" has no consumer "nobody"`, "select * from mbus4.dyn_consume('q', cname => $1)", "nobody"),
			fails("42704", `queue "q" has no consumer null`, "select * from mbus4.dyn_consume('q', cname => $1)", nil),
			fails("42703", "nosuch", "select * from mbus4.dyn_consume('q', $1)", "t.nosuch = 1"),
			fails("42883", signature, "select * from mbus4.dyn_consume()"),
			fails("42883", signature, "select * from mbus4.dyn_consume('q', 'true', 'c', 1)"),
			fails("42883", signature, "select * from mbus4.dyn_consume('q', true)"),
			fails("42883", signature, "select * from mbus4.dyn_consume('q', p_selector => 'true')"),
		},
	}.run(t)
}
