package statements

import (
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// place is a statement with calls in some position. Before it, queue a has the messages a1, a2
// and a3 with n=>1, 2, 3, queue b has none, and table t has the ids 1, 2, 3.
type place struct {
	sql  string
	args []any
	rows string // what the statement returns
	a, b string // the iids that are in the queues after it, in order
}

const allOfA = "a1\na2\na3"

var inFrom = []place{
	{sql: "select iid from mbus4.consume('a')", rows: "a1", a: "a2\na3"},
	{sql: "select m.iid from mbus4.consume('a') m", rows: "a1", a: "a2\na3"},
	{sql: "select m.iid from mbus4.consume('a') as m", rows: "a1", a: "a2\na3"},
	{sql: "select consume.iid from mbus4.consume('a')", rows: "a1", a: "a2\na3"},
	{sql: "select z from mbus4.consume('a') as m(x, y, z)", rows: "a1", a: "a2\na3"},
	{sql: "select iid, ordinality from mbus4.consumen('a', amt => 2) with ordinality", rows: "a1|1\na2|2", a: "a3"},
	{sql: "select z, n from mbus4.consumen('a', amt => 2) with ordinality as m(x, y, z, d, e, r, h, p, data, n)", rows: "a1|1\na2|2", a: "a3"},
	{sql: "select m.iid, t.id from mbus4.consumen('a', amt => 3) m join t on t.id = (m.data->'n')::int order by 2 desc", rows: "a3|3\na2|2\na1|1"},
	{sql: "select m.iid, t.id from t, mbus4.consume('a') m where t.id = 2", rows: "a1|2", a: "a2\na3"},
	{sql: "select m.iid, t.id from t cross join mbus4.consume('a') m order by 2", rows: "a1|1\na1|2\na1|3", a: "a2\na3"},
	{sql: "select row_to_json(m)->>'iid', m is null, (m).iid from mbus4.consume('a') m", rows: "a1|f|a1", a: "a2\na3"},
	{sql: "select count(*), max(iid) from mbus4.consumen('a', amt => 2)", rows: "2|a2", a: "a3"},
	{sql: "select data->'n', count(*) from mbus4.consumen('a', amt => 9) group by 1 having count(*) > 0 order by 1", rows: "1|1\n2|1\n3|1"},
	{sql: "select iid from mbus4.consumen('a', amt => $1) where (data->'n')::int > $2 order by iid desc limit $3", args: []any{9, 1, 1}, rows: "a3"},
	{sql: "select iid from mbus4.take($1)", args: []any{"a2"}, rows: "a2", a: "a1\na3"},
	{sql: "select * from mbus4.post('b', 'x=>1', iid => 'b1')", rows: "b1", a: allOfA, b: "b1"},
	{sql: "select p from mbus4.post('b', 'x=>1', iid => 'b1') p", rows: "b1", a: allOfA, b: "b1"},
	{sql: "select iid, there from mbus4.consume('a'), mbus4.is_msg_exists('a3') there", rows: "a1|t", a: "a2\na3"},
	{sql: "select (select count(*) from t), iid from mbus4.consume('a')", rows: "3|a1", a: "a2\na3"},
	{sql: "select iid from mbus4.consume('b')", rows: "", a: allOfA},
}

var inTargets = []place{
	{sql: "select (mbus4.consume('a')).iid", rows: "a1", a: "a2\na3"},
	{sql: "select (mbus4.consumen('a', amt => 2)).iid", rows: "a1\na2", a: "a3"},
	{sql: "select mbus4.post('b', 'x=>1', iid => 'b1')", rows: "b1", a: allOfA, b: "b1"},
	{sql: "select 'iid ' || mbus4.post('b', 'x=>1', iid => 'b1') || '!' as said", rows: "iid b1!", a: allOfA, b: "b1"},
	{sql: "select mbus4.post('b', 'x=>1', iid => 'b1'), mbus4.post('b', 'x=>1', iid => 'b2')", rows: "b1|b2", a: allOfA, b: "b1\nb2"},
	{sql: "select mbus4.post('b', hstore('id', t.id::text), iid => 'b' || t.id) from t where t.id > 1 order by t.id", rows: "b2\nb3", a: allOfA, b: "b2\nb3"},
	{sql: "select t.id, mbus4.post('b', hstore('id', t.id::text), iid => 'b' || t.id) from t where t.id < 0", rows: "", a: allOfA},
	{sql: "select mbus4.post('b', 'x=>1') is not null from t", rows: "t\nt\nt", a: allOfA, b: "#3"},
	{sql: "select count(distinct x) from (select mbus4.get_iid('a') as x from t) s", rows: "3", a: allOfA},
	{sql: "insert into got select (mbus4.take(x)).* from unnest($1::text[]) x returning iid, data->'n'", args: []any{"{a1,a3}"}, rows: "a1|1\na3|3", a: "a2"},
	{sql: "insert into got select (mbus4.consumen('a', amt => 2)).* returning iid, data->'n'", rows: "a1|1\na2|2", a: "a3"},
	{sql: "select (mbus4.take(x)).iid from unnest($1::text[]) x", args: []any{"{a3,a1}"}, rows: "a3\na1", a: "a2"},
	{sql: "select x, mbus4.is_msg_exists(x) from unnest($1::text[]) x", args: []any{"{a1,nope}"}, rows: "a1|t\nnope|f", a: allOfA},
	{sql: "select mbus4.post('b', m.data, iid => m.iid) from mbus4.consumen('a', amt => 2) m", rows: "a1\na2", a: "a3", b: "a1\na2"},
	{sql: "select mbus4.post('b', 'x=>1', iid => 'b1'), m.iid from mbus4.consume('a') m", rows: "b1|a1", a: "a2\na3", b: "b1"},
	{sql: "select mbus4.post('a', 'x=>1', iid => 'b1'), m.iid from mbus4.consume('b') m", rows: "", a: allOfA},
	{sql: "select mbus4.post('b', (mbus4.consume('a')).data, iid => 'moved')", rows: "moved", a: "a2\na3", b: "moved"},
	{sql: "select mbus4.post('a', (mbus4.consume('b')).data)", rows: "", a: allOfA},
	{sql: "select mbus4.post('b', 'x=>1', iid => mbus4.post('a', 'x=>1', iid => 'a4'))", rows: "a4", a: allOfA + "\na4", b: "a4"},
	{sql: "select mbus4.post('b', 'x=>1', iid => (mbus4.take('a1')).iid)", rows: "a1", a: "a2\na3", b: "a1"},
	{sql: "select t.id, (mbus4.consume('a')).iid from t where t.id = 2", rows: "2|a1", a: "a2\na3"},
	{sql: "select mbus4.peek_a(), mbus4.peek_a('a2'), mbus4.peek_a('nope'), mbus4.peek_b()", rows: "t|t|f|f", a: allOfA},
}

var inOtherPlaces = []place{
	{sql: "values (mbus4.post('b', 'x=>1', iid => 'b1')), (mbus4.post('b', 'x=>1', iid => 'b2'))", rows: "b1\nb2", a: allOfA, b: "b1\nb2"},
	{sql: "insert into sink values (1, mbus4.post('b', 'x=>1', iid => 'b1'))", a: allOfA, b: "b1"},
	{sql: "insert into sink values (1, mbus4.post('b', 'x=>1', iid => $1)) returning k", args: []any{"b1"}, rows: "b1", a: allOfA, b: "b1"},
	{sql: "insert into sink select (data->'n')::int, iid from mbus4.consumen('a', amt => 2) returning id, k", rows: "1|a1\n2|a2", a: "a3"},
	{sql: "insert into sink select t.id, mbus4.post('b', 'x=>1', iid => 'b' || t.id) from t returning k", rows: "b1\nb2\nb3", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "insert into sink(k) select iid from mbus4.consume('a') on conflict do nothing", a: "a2\na3"},
	{sql: "with m as (select * from mbus4.consume('a')) select iid from m", rows: "a1", a: "a2\na3"},
	{sql: "with m as (select * from mbus4.consume('a')) select x.iid, y.iid from m x, m y", rows: "a1|a1", a: "a2\na3"},
	{sql: "with m as materialized (select iid, data from mbus4.consumen('a', amt => 2)), i as (insert into sink select 1, iid from m returning k) select k from i", rows: "a1\na2", a: "a3"},
	{sql: "with one as (select 1 as x) select x, iid from one, mbus4.consume('a')", rows: "1|a1", a: "a2\na3"},
	{sql: "with m as (select * from mbus4.consumen('a', amt => 2)) select mbus4.post('b', m.data, iid => m.iid) from m", rows: "a1\na2", a: "a3", b: "a1\na2"},
	{sql: "with p as (select mbus4.post('b', 'x=>1', iid => 'b1') as iid) insert into sink select 1, iid from p returning k", rows: "b1", a: allOfA, b: "b1"},
	{sql: "with recursive r(n) as (select 1 union all select n + 1 from r where n < 3) select n, mbus4.post('b', 'x=>1', iid => 'b' || n) from r", rows: "1|b1\n2|b2\n3|b3", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "with m as (delete from sink returning k) select mbus4.post('b', 'x=>1', iid => k) from m", rows: "", a: allOfA},
}

var inRarerPlaces = []place{
	{sql: "select x.iid, y.iid from mbus4.consume('a') x, mbus4.consume('a') y", rows: "a1|a2", a: "a3"},
	{sql: "select iid from mbus4.consume('a') union all select iid from mbus4.consume('a')", rows: "a1\na2", a: "a3"},
	{sql: "select s.iid from (select * from mbus4.consume('a')) s", rows: "a1", a: "a2\na3"},
	{sql: "select m.iid from t, lateral mbus4.take('a' || t.id) m where t.id < 3", rows: "a1\na2", a: "a3"},
	{sql: "select iid, g from rows from (mbus4.consume('a'), generate_series(1, 2)) as m(x, y, iid, d, e, r, h, p, data, g)", rows: "a1|1\n∅|2", a: "a2\na3"},
	{sql: "select (select iid from mbus4.consume('a'))", rows: "a1", a: "a2\na3"},
	{sql: "select exists (select from mbus4.consume('a'))", rows: "t", a: "a2\na3"},
	{sql: "select (mbus4.consume('a')).iid from t order by 1", rows: allOfA},
	{sql: "select (mbus4.consume('a')).iid, (mbus4.consume('a')).iid", rows: "a1|a2", a: "a3"},
	{sql: "select count(mbus4.post('b', hstore('id', t.id::text))) from t", rows: "3", a: allOfA, b: "#3"},
	{sql: "select mbus4.post('b', hstore('n', count(*)::text), iid => 'sum') from t", rows: "sum", a: allOfA, b: "sum"},
	{sql: "select mbus4.post('b', 'x=>1', iid => 'b' || t.id) from t order by t.id limit 2", rows: "b1\nb2", a: allOfA, b: "b1\nb2"},
	{sql: "select (mbus4.consumen('a', amt => 3)).iid limit 1", rows: "a1"},
	{sql: "select (mbus4.consumen('a', amt => 3)).iid offset 2", rows: "a3"},
	{sql: "select t.id, (mbus4.consumen('a', amt => 3)).iid from t where t.id = 1 limit 2", rows: "1|a1\n1|a2"},
	{sql: "select mbus4.consumen('a', amt => 3) is null fetch first 2 rows only", rows: "f\nf"},
	{sql: "select distinct length(mbus4.post('b', 'x=>1', iid => 'b' || t.id)) from t", rows: "2", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select t.id, row_number() over (order by t.id desc), mbus4.post('b', 'x=>1', iid => 'b' || t.id) from t order by 1", rows: "1|3|b1\n2|2|b2\n3|1|b3", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select coalesce('x', mbus4.post('b', 'x=>1'))", rows: "x", a: allOfA},
	{sql: "update t set k = m.iid from mbus4.consume('a') m where t.id = (m.data->'n')::int returning t.id, t.k", rows: "1|a1", a: "a2\na3"},
	{sql: "delete from t using mbus4.consume('a') m where t.id = 3 + (m.data->'n')::int", a: "a2\na3"},
	{sql: "select iid from (select (mbus4.take(x)).* from unnest('{a1,a3}'::text[]) x) s", rows: "a1\na3", a: "a2"},
	{sql: "create temp table made as select iid from mbus4.consume('a')", a: "a2\na3"},
	{sql: "select count(*) from t where mbus4.is_msg_exists('a' || t.id)", rows: "3", a: allOfA},
}

// The positions in which a call is served, in every form of the protocol.
func TestServedPositions(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"a", "b"}, func(t *testing.T, s *forms.Session) {
		makeTables(t, s)
		for _, places := range [][]place{inFrom, inTargets, inOtherPlaces, inRarerPlaces} {
			for _, p := range places {
				fill(t, s)
				s.Want(t, p.rows, p.sql, p.args...)
				p.wantQueues(t, s)
			}
		}
	})
}

func makeTables(t *testing.T, s *forms.Session) {
	t.Helper()
	harness.Ask(t, s.Conn, `create table t (id int, k text); insert into t values (1), (2), (3); create table sink (id int, k text);
		create table got (id bigint, added timestamp, iid text, delayed_until timestamp, expires timestamp, received int[],
			headers hstore, properties hstore, data hstore)`)
}

// fill puts the queues into the state in which a place begins.
func fill(t *testing.T, s *forms.Session) {
	t.Helper()
	harness.Ask(t, s.Conn, "select from mbus4.consumen('a', amt => 99); select from mbus4.consumen('b', amt => 99); delete from sink")
	for _, n := range []string{"1", "2", "3"} {
		harness.Ask(t, s.Conn, "select mbus4.post('a', hstore('n', $1), iid => $2)", n, "a"+n)
	}
}

// wantQueues looks at what is left. "#3" stands for three messages with iids of their own.
func (p place) wantQueues(t *testing.T, s *forms.Session) {
	t.Helper()
	for queue, expected := range map[string]string{"a": p.a, "b": p.b} {
		read := "select iid from mbus4.consumen($1, amt => 99) order by iid"
		if len(expected) > 1 && expected[0] == '#' {
			read, expected = "select count(*) from mbus4.consumen($1, amt => 99)", expected[1:]
		}
		if got := harness.Ask(t, s.Conn, read, queue); got != expected {
			t.Errorf("after %s:\nqueue %s has %q, want %q", p.sql, queue, got, expected)
		}
	}
}
