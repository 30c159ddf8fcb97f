package calls

import "testing"

// posted is what a post left: the message in full, with its own headers.
const posted = `select string_agg(concat_ws('|', c.qname, m.data, coalesce(m.headers, ''), coalesce(m.properties, ''), m.delayed_until::date, m.expires::date, m.iid), '+' order by m.id)
	from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id
	where m.iid is distinct from 'there'`

func TestFunctionPost(t *testing.T) {
	const signature = "mbus4.post(qname text, data hstore default null, headers hstore default null, properties hstore default null, " +
		"delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null, unique_key text default null, unique_for interval default null, payload jsonb default null) returns text"
	all := []any{"q", `"a"=>"1"`, `"h"=>"2"`, `"p"=>"3"`, "2031-01-02 00:00:00", "2032-03-04 00:00:00", "m"}
	full := `m > q|"a"=>"1"|"h"=>"2"|"p"=>"3"|2031-01-02|2032-03-04|m`
	callTable{
		queues: []string{"q", "r"},
		setup: "create table t (name text, data hstore, iid text); insert into t values ('q', 'n=>1', 'i1'), ('r', 'n=>2', 'i2');" +
			"select mbus4.post('r', 'a=>1', iid => 'there')",
		effect:  posted,
		columns: "post text",
		cases: []callCase{
			gives(`q.<db>.<n> > q|"a"=>"1"||`, "select mbus4.post('q', 'a=>1')"),
			gives(full, "select mbus4.post($1, $2, $3, $4, $5, $6, $7)", all...),
			gives(full, "select mbus4.post($1, $2, $3, $4, $5, iid => $7, expires => $6)", all...),
			gives(full, "select mbus4.post(expires => $6, msgiid => $7, qname => $1, properties => $4, data => $2, delayed_until => $5, headers => $3)", all...),
			gives(full, "select mbus4.post(qname := $1::text, data := $2, headers := $3, properties := $4, delayed_until := $5::timestamp, expires := $6, iid := $7)", all...),
			gives(`q.<db>.<n> > q|"a"=>"1"||`, "select mbus4.post($1, $2, $3, $4, $5, $6, $7)", "Q", `"a"=>"1"`, nil, nil, nil, nil, nil),
			gives(`q.<db>.<n> > q||`, "select mbus4.post('q', $1)", nil),
			gives(`m > dmq|"a"=>"1"|||m`, "select mbus4.post('dmq', 'a=>1', iid => 'm')"),
			gives("i1\ni2 > "+`q|"n"=>"1"|||i1+r|"n"=>"2"|||i2`, "select mbus4.post(name, data, iid => iid) from t"),
			gives(`q.<db>.<n> > q|"n"=>"2"||`, "select mbus4.post('q', hstore('n', count(*)::text)) from t"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.post($1, 'a=>1')", "nowhere"),
			fails("42704", "queue null does not exist", "select mbus4.post($1, 'a=>1')", nil),
			fails("22P02", "", "select mbus4.post('q', 'a=>1', 'consume_after=>x')"),
			fails("22P02", "", "select mbus4.post('q', 'a=>1', $1)", `"consume_after"=>"{a"`),
			fails("23505", `a message with iid "there" is still waiting in queue "r"`, "select mbus4.post('r', 'a=>1', iid => $1)", "there"),
			gives(`m > q|"a"=>"1"|||m`, "select mbus4.post('q', 'a=>1', iid => $1, unique_key => $2, unique_for => $3::interval)", "m", "k", "01:00:00"),
			gives(`m > q|"a"=>"1"|||m`, "select mbus4.post('q', 'a=>1', null, null, null, null, $1, $2)", "m", nil),
			gives("m\nm > "+`q|"n"=>"1"|||m`, "select mbus4.post('q', data, iid => 'm', unique_key => 'k', unique_for => '1 h') from t"),
			fails("22004", "unique_for must not be null where there is a unique_key", "select mbus4.post('q', 'a=>1', unique_key => 'k')"),
			fails("22023", "unique_for must be positive and at most 100 years, and is", "select mbus4.post('q', 'a=>1', unique_key => 'k', unique_for => '0 s')"),
			fails("22023", "has 1 to 1000 bytes, not 0", "select mbus4.post('q', 'a=>1', unique_key => '', unique_for => '1 h')"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.post($1, 'a=>1', unique_key => 'k', unique_for => '1 h')", "nowhere"),
			fails("42704", "queue null does not exist", "select mbus4.post($1, 'a=>1', unique_key => 'k', unique_for => '1 h')", nil),
			fails("42883", signature, "select mbus4.post('q')"),
			fails("42883", signature, "select mbus4.post('q', 'a=>1', null, null, null, null, null, 1)"),
			fails("42883", signature, "select mbus4.post('q', 'a=>1', iid => 'm', msgiid => 'm')"),
			fails("42883", signature, "select mbus4.post('q', 7)"),
			fails("42883", signature, "select mbus4.post('q', 'a=>1', delayed_until => 7)"),
			fails("42883", signature, "select mbus4.post(true, 'a=>1')"),
			fails("42883", signature, "select mbus4.post('q', 'a=>1', priority => 1)"),
		},
	}.run(t)
}

func TestFunctionPostQueue(t *testing.T) {
	all := []any{`"a"=>"1"`, `"h"=>"2"`, `"p"=>"3"`, "2031-01-02 00:00:00", "2032-03-04 00:00:00", "m"}
	full := `m > q|"a"=>"1"|"h"=>"2"|"p"=>"3"|2031-01-02|2032-03-04|m`
	const signature = "mbus4.post_q(data hstore default null, headers hstore default null, properties hstore default null, " +
		"delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null, unique_key text default null, unique_for interval default null, payload jsonb default null) returns text"
	callTable{
		queues:  []string{"q", "temp_x"},
		setup:   "create table t (data hstore); insert into t values ('n=>1'), ('n=>2')",
		effect:  posted,
		columns: "post_q text",
		cases: []callCase{
			gives(`q.<db>.<n> > q|"a"=>"1"||`, "select mbus4.post_q('a=>1')"),
			gives(full, "select mbus4.post_q($1, $2, $3, $4, $5, $6)", all...),
			gives(full, "select mbus4.post_q(msgiid => $6, expires => $5, delayed_until => $4, properties => $3, headers => $2, data => $1)", all...),
			gives(full, "select mbus4.post_q($1, $2, $3, iid := $6, expires := $5, delayed_until := $4)", all...),
			gives(`q.<db>.<n> > q|"a"=>"1"||`, "select mbus4.post_q($1, $2, $3, $4, $5, $6)", `"a"=>"1"`, nil, nil, nil, nil, nil),
			gives("q.<db>.<n>\nq.<db>.<n> > "+`q|"n"=>"1"||+q|"n"=>"2"||`, "select mbus4.post_q(data) from t"),
			gives(`temp_x.<db>.<n> > temp_x|"a"=>"1"||`, "select mbus4.post_temp_x('a=>1')"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.post_nowhere('a=>1')"),
			fails("42883", signature, "select mbus4.post_q()"),
			fails("42883", signature, "select mbus4.post_q('a=>1', qname => 'q')"),
			fails("42883", signature, "select mbus4.post_q('a=>1', null, null, null, null, null, null, null, null, null)"),
			fails("42883", signature, "select mbus4.post_q('a=>1', 7)"),
		},
	}.run(t)
}

// post_dmq is post_<q> of the dead message queue.
func TestFunctionPostDMQ(t *testing.T) {
	callTable{
		queues:  []string{"q"},
		effect:  posted,
		columns: "post_dmq text",
		cases: []callCase{
			gives(`dmq.<db>.<n> > dmq|"a"=>"1"||`, "select mbus4.post_dmq('a=>1')"),
			gives(`m > dmq|"a"=>"1"|"h"=>"2"||m`, "select mbus4.post_dmq($1, $2, iid => $3)", `"a"=>"1"`, `"h"=>"2"`, "m"),
			gives(`m > dmq|"a"=>"1"|"h"=>"2"||m`, "select mbus4.post_dmq(data := $1, msgiid := $3, headers := $2)", `"a"=>"1"`, `"h"=>"2"`, "m"),
			gives("x\ny > dmq|||x+dmq|||y", "select mbus4.post_dmq(null, iid => i) from unnest(array['x', 'y']) i"),
			fails("42883", "mbus4.post_dmq(data hstore", "select mbus4.post_dmq()"),
		},
	}.run(t)
}

func TestFunctionPostTemp(t *testing.T) {
	const signature = "mbus4.post_temp(tqname text, data hstore default null, headers hstore default null"
	callTable{
		setup: "create table t as select mbus4.create_temporary_queue() as name; select mbus4.create_queue('q', 1)",
		effect: `select string_agg(concat_ws('|', m.data, coalesce(m.headers, ''), m.iid), '+')
			from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id where c.qname = (select name from t)`,
		columns: "post_temp text",
		cases: []callCase{
			gives(`m > "a"=>"1"||m`, "select mbus4.post_temp(name, 'a=>1', iid => 'm') from t"),
			gives(`m > "a"=>"1"|"h"=>"2"|m`, "select mbus4.post_temp(name, $1, $2, msgiid => $3) from t", `"a"=>"1"`, `"h"=>"2"`, "m"),
			gives(`m > "a"=>"1"|"h"=>"2"|m`, "select mbus4.post_temp(tqname => name, data => $1, headers := $2, iid => $3) from t", `"a"=>"1"`, `"h"=>"2"`, "m"),
			gives(`m > "a"=>"1"||m`, "select mbus4.post(name, $1, iid => $2) from t", `"a"=>"1"`, "m"),
			gives(`m > "a"=>"1"||m`, "select mbus4.post_temp((select name from t), $1, iid => $2)", `"a"=>"1"`, "m"),
			gives(`m > ∅`, "select mbus4.post_temp($1, 'a=>1', iid => 'm')", "temp.00000000000000000000000000000000.1"), // gone
			fails("42704", `queue "temp.x" does not exist`, "select mbus4.post_temp($1, 'a=>1', iid => 'm')", "temp.x"),
			fails("42704", `queue "x" does not exist`, "select mbus4.post_temp($1, 'a=>1')", "x"),
			fails("42704", "queue null does not exist", "select mbus4.post_temp($1, 'a=>1')", nil),
			fails("42883", signature, "select mbus4.post_temp('x')"),
			fails("42883", signature, "select mbus4.post_temp('x', 7)"),
		},
	}.run(t)
}
