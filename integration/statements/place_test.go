package statements

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// Before each of these, t has the rows (1, null), (2, 'k') and (3, null), u has (1, 'old'), and the queues
// are as for any place. b1 stands for the message that the row with id 1 posts.
const postB = "mbus4.post('b', 'x=>1', iid => 'b' || id)"

var inConditions = []place{
	{sql: "select id from t where id > 1 and " + postB + " is not null", rows: "2\n3", a: allOfA, b: "b2\nb3"},
	{sql: "select id from t where id > 1 or " + postB + " is null", rows: "2\n3", a: allOfA, b: "b1"},
	{sql: "select id from t where " + postB + " = 'b2'", rows: "2", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select id from t where false and " + postB + " is null", rows: "", a: allOfA},
	{sql: "select id from t where not " + postB + " in ('b1', 'b3')", rows: "2", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select id from t where exists (select from mbus4.consume('a'))", rows: "1\n2\n3", a: "a2\na3"},
	{sql: "select id from t where id < 3 and exists (select from mbus4.take('a' || t.id) m where m.iid is not null)", rows: "1\n2", a: "a3"},
	{sql: "select id from t where id in (select (data->'n')::int from mbus4.consumen('a', amt => 2)) order by 1", rows: "1\n2", a: "a3"},
	{sql: "select id from t where id = any (array(select (data->'n')::int from mbus4.consumen('a', amt => 2)))", rows: "1\n2", a: "a3"},
	{sql: "select t.id from t join t v on v.id = t.id and mbus4.post('b', 'x=>1', iid => 'b' || t.id) <> '' where t.id = 3", rows: "3", a: allOfA, b: "b3"},
	{sql: "select case when false then mbus4.post('b', 'x=>1') end", rows: "∅", a: allOfA},
	{sql: "select id, case when id = 2 then " + postB + " end from t", rows: "1|∅\n2|b2\n3|∅", a: allOfA, b: "b2"},
	{sql: "select case mbus4.post('b', 'x=>1', iid => 'b1') when 'b1' then 1 when 'b2' then 2 end", rows: "1", a: allOfA, b: "b1"},
	{sql: "select coalesce(k, " + postB + ") from t", rows: "b1\nk\nb3", a: allOfA, b: "b1\nb3"},
	{sql: "select nullif(" + postB + ", 'b2') from t", rows: "b1\n∅\nb3", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select $1::bool and mbus4.post('b', 'x=>1', iid => $2) = $2", args: []any{"true", "b1"}, rows: "t", a: allOfA, b: "b1"},
	{sql: "select $1::bool and mbus4.post('b', 'x=>1', iid => $2) = $2", args: []any{"false", "b1"}, rows: "f", a: allOfA},
	{sql: "select id from t where mbus4.post('b', 'x=>1', iid => mbus4.post('a', 'x=>1', iid => 'a9' || id)) is not null and id = 1", rows: "1", a: allOfA + "\na91", b: "a91"},
	{sql: "select mbus4.is_msg_exists(" + postB + ") from t where id = 2", rows: "t", a: allOfA, b: "b2"},
	{sql: "select id from t where id = 1 and mbus4.create_queue('fresh', 1) is not null and (mbus4.take('a1')).iid = 'a1'", rows: "1", a: "a2\na3"},
}

var inChanges = []place{
	{sql: "update t set k = " + postB + " where id > 1 returning id, k", rows: "2|b2\n3|b3", a: allOfA, b: "b2\nb3"},
	{sql: "update t set (id, k) = (select id, mbus4.post('b', 'x=>1', iid => 'b' || t.id)) where id = 1 returning k", rows: "b1", a: allOfA, b: "b1"},
	{sql: "update t set k = 'z' where id = 3 and " + postB + " is not null returning k", rows: "z", a: allOfA, b: "b3"},
	{sql: "insert into sink values (7, 'x'), (8, 'y') returning " + postB, rows: "b7\nb8", a: allOfA, b: "b7\nb8"},
	{sql: "insert into sink select id from t where id < 3 returning case when id = 2 then " + postB + " end", rows: "∅\nb2", a: allOfA, b: "b2"},
	{sql: "update t set k = 'z' where id = 1 returning k, " + postB, rows: "z|b1", a: allOfA, b: "b1"},
	{sql: "delete from t where id <> 2 returning " + postB, rows: "b1\nb3", a: allOfA, b: "b1\nb3"},
	{sql: "delete from t where id <> 2 and " + postB + " = 'b3' returning id", rows: "3", a: allOfA, b: "b1\nb3"},
	{
		sql:  "insert into u values (1, 'x'), (2, 'y') on conflict (id) do update set k = mbus4.post('b', 'x=>1', iid => 'b' || excluded.id) returning id, k",
		rows: "1|b1\n2|y", a: allOfA, b: "b1",
	},
	{
		sql:  "insert into u values (1, 'x'), (2, 'y') on conflict (id) do update set k = 'z' where mbus4.post('b', 'x=>1', iid => 'b' || u.id) = '' returning id, k",
		rows: "2|y", a: allOfA, b: "b1",
	},
	{
		sql: "merge into u using t on u.id = t.id when matched then update set k = mbus4.post('b', 'x=>1', iid => 'm' || t.id) " +
			"when not matched and t.id = 2 then insert values (t.id, mbus4.post('b', 'x=>1', iid => 'n' || t.id))",
		a: allOfA, b: "m1\nn2",
	},
	{
		sql: "merge into u using t on u.id = t.id and mbus4.post('b', 'x=>1', iid => 'm' || t.id * u.id) <> '' when matched and (mbus4.take('a1')).iid = 'a1' then delete",
		a:   "a2\na3", b: "m1",
	},
	{sql: "with w as (update t set k = " + postB + " where id = 1 returning k) select k from w", rows: "b1", a: allOfA, b: "b1"},
	{sql: "with w as (delete from t returning id) select 1 from w where " + postB + " = 'b2'", rows: "1", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "create table made as select " + postB + " as p from t where id > 1 and mbus4.post('b', 'x=>1', iid => 'c' || id) <> ''", a: allOfA, b: "b2\nb3\nc2\nc3"},
	{sql: "select id into made from t where " + postB + " = 'b1'", a: allOfA, b: "b1\nb2\nb3"},
}

// What stands beside a set Postgres evaluates for each of its rows, and once more to learn that there is none; what OFFSET skips it evaluates too.
var besideSets = []place{
	{sql: "select generate_series(1, 3), mbus4.post('b', 'x=>1') <> ''", rows: "1|t\n2|t\n3|t", a: allOfA, b: "#4"},
	{sql: "select mbus4.post('b', 'x=>1') <> '' from t where id = (select generate_series(2, 2))", rows: "t", a: allOfA, b: "#1"},
	{sql: "select unnest(array[10, 20]) + (mbus4.post('b', 'x=>1') <> '')::int", rows: "11\n21", a: allOfA, b: "#2"},
	{sql: "select id, unnest(array[10, 20]), mbus4.post('b', 'x=>1') <> '' from t where id = 1", rows: "1|10|t\n1|20|t", a: allOfA, b: "#3"},
	{sql: "select generate_series(1, 3), (select mbus4.post('b', 'x=>1') <> '')", rows: "1|t\n2|t\n3|t", a: allOfA, b: "#1"},
	{sql: "select generate_series(1, 2), (mbus4.consume('a')).iid", rows: "1|a1\n2|∅", a: "a2\na3"},
	{sql: "select " + postB + " from t offset 2", rows: "b3", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select mbus4.post('b', 'x=>1', iid => 'b1') offset 1", rows: "", a: allOfA, b: "b1"},
}

var inClauses = []place{
	{sql: "select id from t group by id having " + postB + " > 'b1' order by id", rows: "2\n3", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select count(*) from t group by " + postB, rows: "1\n1\n1", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select " + postB + ", count(*) from t group by " + postB + " order by 1", rows: "b1|1\nb2|1\nb3|1", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select id from t order by mbus4.post('b', 'x=>1', iid => 'b' || 4 - id)", rows: "3\n2\n1", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select " + postB + " from t order by " + postB + " desc", rows: "b3\nb2\nb1", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select id, " + postB + " as p from t order by p desc", rows: "3|b3\n2|b2\n1|b1", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select id, " + postB + " from t order by 2 desc", rows: "3|b3\n2|b2\n1|b1", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select id from t limit length(mbus4.post('b', 'x=>1', iid => 'b2'))", rows: "1\n2", a: allOfA, b: "b2"},
	{sql: "select id from t offset length(mbus4.post('b', 'x=>1', iid => 'b2'))", rows: "3", a: allOfA, b: "b2"},
	{sql: "select p from (select " + postB + " as p from t) s limit 2", rows: "b1\nb2", a: allOfA, b: "b1\nb2"},
	{sql: "select p from (select mbus4.post('b', 'x=>1', iid => 'b' || g) as p from generate_series(1, 10) g) s limit 3", rows: "b1\nb2\nb3", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "with p as (select " + postB + " as iid from t) select * from p limit 1", rows: "b1", a: allOfA, b: "b1"},
	{sql: "select iid from mbus4.consume('a') union all select iid from mbus4.consume('a') limit 1", rows: "a1", a: "a2\na3"},
	{sql: "select iid from mbus4.consume('a') union all select iid from mbus4.consume('a') limit 2", rows: "a1\na2", a: "a3"},
	{sql: "select id, " + postB + " from t union all select 9, 'z' order by 1", rows: "1|b1\n2|b2\n3|b3\n9|z", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select " + postB + " from t except select 'b2' order by 1", rows: "b1\nb3", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select distinct length(" + postB + ") from t", rows: "2", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select distinct on (length(" + postB + ")) id from t", rows: "1", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select count(" + postB + ") from t where id < 3", rows: "2", a: allOfA, b: "b1\nb2"},
	{sql: "select string_agg(" + postB + ", ',' order by id desc) from t", rows: "b3,b2,b1", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select count(*) filter (where " + postB + " = 'b1') from t", rows: "1", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select count(distinct (mbus4.take('a' || id)).iid) from t where id <> 2", rows: "2", a: "a2"},
	{sql: "select id, count(*) over (order by " + postB + ") from t order by id", rows: "1|1\n2|2\n3|3", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select max(" + postB + ") over () from t", rows: "b3\nb3\nb3", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select id from t fetch first length(mbus4.post('b', 'x=>1', iid => 'b2')) rows only", rows: "1\n2", a: allOfA, b: "b2"},
	{sql: "select mbus4.consume('a') is null, mbus4.consume('a') is null from t where id = 1", rows: "f|f", a: "a3"},
	{sql: "select id, (mbus4.consumen('a', amt => id)).iid from t", rows: "1|a1\n2|a2\n2|a3", a: ""},
	{sql: "values (case when true then mbus4.post('b', 'x=>1', iid => 'b1') end), (case when false then mbus4.post('b', 'x=>1') end)", rows: "b1\n∅", a: allOfA, b: "b1"},
	{sql: "select id from t tablesample system (length(mbus4.post('b', 'x=>1', iid => lpad('b', 100, 'b')))) where id = 1", rows: "1", a: allOfA, b: strings.Repeat("b", 100)},
}

var inSubqueries = []place{
	{sql: "select t.id, m.iid from t, mbus4.take('a' || t.id) m where t.id < 3", rows: "1|a1\n2|a2", a: "a3"},
	{sql: "select t.id, take.iid from t cross join lateral mbus4.take('a' || t.id) where t.id = 3", rows: "3|a3", a: "a1\na2"},
	{sql: "select t.id, m.iid, m.n from t, mbus4.consumen('a', amt => t.id) with ordinality m(x, y, iid, d, e, r, h, p, data, n)", rows: "1|a1|1\n2|a2|1\n2|a3|2", a: ""},
	{sql: "select t.id, post from t, mbus4.post('b', 'x=>1', iid => 'b' || t.id) where t.id = 2", rows: "2|b2", a: allOfA, b: "b2"},
	{sql: "select x.p from t, lateral (select mbus4.post('b', 'x=>1', iid => 'b' || t.id) as p) x where t.id <> 2", rows: "b1\nb3", a: allOfA, b: "b1\nb3"},
	{sql: "select x.post from t, lateral (select mbus4.post('b', 'x=>1', iid => 'b' || t.id)) x where t.id = 1", rows: "b1", a: allOfA, b: "b1"},
	{sql: "select t.id, m.iid from t left join mbus4.consumen('a', amt => 2) m on t.id = (m.data->'n')::int order by 1", rows: "1|a1\n2|a2\n3|∅", a: "a3"},
	{sql: "select m.iid from t left join mbus4.consume('a') m on true where t.id < 0", rows: "", a: allOfA},
	{sql: "select t.id, m.iid from mbus4.consume('a') m right join t on t.id = (m.data->'n')::int order by 1", rows: "1|a1\n2|∅\n3|∅", a: "a2\na3"},
	{sql: "select t.id, m.iid from t full join mbus4.consume('a') m on t.id = (m.data->'n')::int order by 1", rows: "1|a1\n2|∅\n3|∅", a: "a2\na3"},
	{sql: "select t.id, m.iid from t left join lateral mbus4.take('a' || t.id) m on t.id = 2 where t.id < 3", rows: "1|∅\n2|a2", a: "a3"},
	{sql: "select id, (select mbus4.post('b', 'x=>1', iid => 'b' || t.id)) from t", rows: "1|b1\n2|b2\n3|b3", a: allOfA, b: "b1\nb2\nb3"},
	{sql: "select (select mbus4.post('b', 'x=>1', iid => 'b1')) from t", rows: "b1\nb1\nb1", a: allOfA, b: "b1"},
	{sql: "select array(select mbus4.post('b', 'x=>1', iid => 'b' || t.id || v.id) from t v where v.id < t.id) from t", rows: "{}\n{b21}\n{b31,b32}", a: allOfA, b: "b21\nb31\nb32"},
	{sql: "select exists (select from mbus4.take('a' || id) m where m.iid is not null) from t where id < 3", rows: "t\nt", a: "a3"},
	{sql: "select (select (select iid from mbus4.consume('a') where t.id > 0)) from t where id = 1", rows: "a1", a: "a2\na3"},
	{sql: "with a as (with b as (select * from mbus4.consume('a')) select iid from b) select * from a", rows: "a1", a: "a2\na3"},
	{sql: "with m as (select * from mbus4.consume('a')) select 1", rows: "1", a: allOfA},
	{sql: "with m as (select * from mbus4.consume('a')), n as (select * from m) select 1", rows: "1", a: allOfA},
	{sql: "with recursive r(n) as (select 1 union all select n + 1 from r where n < 3 and mbus4.post('b', 'x=>1', iid => 'b' || n) is not null) select count(*) from r", rows: "3", a: allOfA, b: "b1\nb2"},
	{sql: "select s.iid from (with m as (select * from mbus4.consume('a')) select * from m) s", rows: "a1", a: "a2\na3"},
	{sql: "insert into sink with m as (select * from mbus4.consume('a')) select 1, iid from m returning k", rows: "a1", a: "a2\na3"},
	{sql: "select iid, p from rows from (mbus4.take('a1'), mbus4.consume('a')) as x(i1, a1, iid, d1, e1, r1, h1, p1, t1, i2, a2, p) where p <> ''", rows: "a1|a2", a: "a3"},
	{sql: "select id from t where (select is_msg_exists from mbus4.is_msg_exists('a' || t.id)) and exists (select from mbus4.peek('a' || t.id) m where m.iid < 'a3')", rows: "1\n2", a: allOfA},
	{sql: "select t.id, is_msg_exists, peek.iid from t, mbus4.is_msg_exists('a' || t.id), mbus4.peek('a1') where mbus4.post('b', 'x=>1', iid => 'b' || t.id) < 'b3' and t.id > 1", rows: "2|t|a1", a: allOfA, b: "b2\nb3"},
	{sql: "select *, mbus4.post('b', 'x=>1', iid => 'b' || id) from t join u using (id)", rows: "1|∅|old|b1", a: allOfA, b: "b1"},
}

// Where a call cannot be served inline, the server evaluates it as it does any volatile function: once for
// each row that reaches it, and not at all for those that do not. And it is undone with its transaction.
func TestPlaces(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"a", "b"}, func(t *testing.T, s *forms.Session) {
		makeTables(t, s)
		harness.Ask(t, s.Conn, "create table u (id int primary key, k text)")
		for _, places := range [][]place{inConditions, inChanges, inClauses, besideSets, inSubqueries} {
			for _, p := range places {
				harness.Ask(t, s.Conn, `drop table if exists made; truncate t, u;
					insert into t values (1, null), (2, 'k'), (3, null); insert into u values (1, 'old')`)
				fill(t, s)
				s.Want(t, "", "begin")
				s.Want(t, p.rows, p.sql, p.args...)
				s.Want(t, "", "rollback")
				harness.Want(t, s.Conn, "3", "select count(*) from mbus4.message")
				s.Want(t, p.rows, p.sql, p.args...)
				p.wantQueues(t, s)
			}
		}
	})
}

// Columns bear the names that they would have if the functions were there.
func TestPlaceNames(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	for sql, expected := range map[string]string{
		"select mbus4.post('q', 'x=>1'), mbus4.post_q('x=>1') p, mbus4.post_q('x=>1') || '', mbus4.post_q('x=>1')::varchar where mbus4.post('q', '') <> ''": "post p ?column? post_q",
		"select case when false then 'x' else mbus4.post_q('x=>1') end, (mbus4.take('x')).iid, coalesce(null, mbus4.post_q('x=>1')) limit 1":                "post_q iid coalesce",
		"select (select mbus4.post_q('x=>1') limit 1), array(select mbus4.post_q('x=>1') limit 1), exists (select mbus4.post_q('x=>1') limit 1)":            "post_q array exists",
		"select * from generate_series(1, 1) g, mbus4.post('q', hstore('g', g::text))":                                                                      "g post",
		"select * from generate_series(1, 1) g, mbus4.create_queue('q' || g, 1)":                                                                            "g create_queue",
		"select mbus4.create_queue('r', 1), mbus4.get_iid('q'), mbus4.peek_q() where mbus4.post('q', 'x=>1') <> ''":                                         "create_queue get_iid peek_q",
	} {
		r := conn.ExecParams(harness.Context(t), sql, nil, nil, nil, nil).Read()
		var names []string
		for _, f := range r.FieldDescriptions {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); r.Err != nil || got != expected {
			t.Errorf("%s:\n got %q %s\nwant %q", sql, got, harness.Describe(r.Err), expected)
		}
	}
}

// Errors inside the function are those of the call, in its place.
func TestPlaceErrors(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "create role it_place_user; grant mbus4_user to it_place_user; create role it_place_stranger")
	t.Cleanup(func() { harness.Admin(t, "drop role it_place_user"); harness.Admin(t, "drop role it_place_stranger") })
	for _, c := range []struct{ sql, at, code string }{
		{"select 'größer' where mbus4.post('nowhere', 'x=>1') is null", "mbus4.post", "42704"},
		{"select 1;\r\nselect 'ä', 1 where mbus4.post('q', 'x=>1') <> '' and mbus4.consumen('nowhere') is null", "mbus4.consumen", "0A000"},
		{"select 1 where mbus4.post('q', 'x=>1') <> '' and exists (select from mbus4.consume('nowhere'))", "mbus4.consume", "42704"},
		{"select 1 where mbus4.post('q', 'x=>1', iid => 'd') = mbus4.post('q', 'x=>1', iid => 'd')", "mbus4.post('q', 'x=>1', iid => 'd')", "23505"},
		{"select case when mbus4.post('q', 'x=>1') = '' then 1 end, nosuch", "nosuch", "42703"},
		{"select case when mbus4.post('q', nosuch) = '' then 1 end", "nosuch", "42703"},
		{"select case when true then mbus4.post('q', 'broken') end", "'broken'", ""},
		{"select case when true then mbus4.post('q', point(1, 1)) end", "point(", "42883"},
		{"select 1 where mbus4.post('q', 'x=>1') = 1", "=", "42883"},
		{"select mbus4.post_q('x=>1') from nosuch limit 1", "nosuch", "42P01"},
	} {
		_, err := harness.Query(harness.Context(t), conn, c.sql)
		var report *pgconn.PgError
		if !errors.As(err, &report) || c.code != "" && report.Code != c.code {
			t.Errorf("%s: %s; want %s", c.sql, harness.Describe(err), c.code)
			continue
		}
		i := strings.Index(c.sql, c.at)
		if c.at == "=" {
			i = strings.LastIndex(c.sql, c.at)
		}
		if c.code == "23505" { // of the second of them
			i = strings.LastIndex(c.sql, c.at)
		}
		if expected := len([]rune(c.sql[:i])) + 1; int(report.Position) != expected {
			t.Errorf("%s: position %d, want %d (%s)", c.sql, report.Position, expected, harness.Describe(err))
		}
		if strings.Contains(report.Message+report.Where, "at_") {
			t.Errorf("%s: %s", c.sql, harness.Describe(err))
		}
	}
	harness.Want(t, conn, "f", "select mbus4.peek_q()")

	// With the rights of the caller, whatever the path and the strings.
	const called = "select count(*) from pg_catalog.generate_series(1, 2) g where mbus4.post('q', 'x=>1') is not null"
	harness.Ask(t, conn, "set role it_place_user; set search_path = pg_catalog; set standard_conforming_strings = off")
	harness.Want(t, conn, "2", called)
	harness.Ask(t, conn, "set role it_place_stranger")
	harness.Refused(t, conn, "42501", called)
	harness.Ask(t, conn, "reset all; reset role")
	harness.Want(t, conn, "2", "select count(*) from mbus4.consumen('q', amt => 9)")
}

// A cursor calls what is fetched, a portal what is executed, and one with hold the rest when its
// transaction ends.
func TestPlaceCursors(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	const posting = "select mbus4.post('q', 'x=>1', iid => 'm' || g) as iid from generate_series(1, 10) g"
	left := func(expected string) {
		t.Helper()
		harness.Want(t, conn, expected, "select string_agg(iid, ' ' order by id) from mbus4.consumen('q', amt => 99)")
	}
	harness.Want(t, conn, "m1\nm2\nm3\nm4", "begin; declare c cursor for "+posting+"; fetch 3 from c; fetch 1 from c; close c; commit")
	left("m1 m2 m3 m4")
	harness.Ask(t, conn, "begin; declare c cursor for "+posting+"; commit")
	left("∅")
	harness.Ask(t, conn, "begin; declare c no scroll cursor with hold for "+posting+"; fetch 3 from c; commit")
	left("m1 m2 m3 m4 m5 m6 m7 m8 m9 m10")
	harness.Ask(t, conn, "begin; declare c2 cursor with hold for "+posting+"; fetch 3 from c2; rollback")
	left("∅")
	harness.Want(t, conn, "m4", "fetch 1 from c")
	harness.Ask(t, conn, "close c; select mbus4.post('q', 'x=>1', iid => 'one'); select mbus4.post('q', 'x=>1', iid => 'two')")
	harness.Want(t, conn, "one", "begin; declare c cursor for select iid from mbus4.consume('q'); fetch 2 from c; commit")
	left("two")
	_, err := harness.Query(harness.Context(t), conn, "begin; declare c cursor for select mbus4.post('nowhere', 'x=>1'); fetch 1 from c")
	if harness.SQLState(err) != "42704" {
		t.Error(harness.Describe(err))
	}
	harness.Ask(t, conn, "rollback")

	w := frontend.Connect(t, harness.Proxied(), database)
	w.WantExchange("a portal read in part", `
		ParseComplete
		BindComplete
		DataRow "m1"
		DataRow "m2"
		PortalSuspended
		ReadyForQuery I`, "ReadyForQuery",
		frontend.Parse("", posting+" where length('ä') = 1 or mbus4.post('q', '') is null"), frontend.Bind("", ""), frontend.Execute("", 2), frontend.Sync())
	left("m1 m2")
}

// COPY, EXECUTE, CALL and EXPLAIN take calls, too, where no subquery may stand.
func TestPlaceStatements(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	ctx := harness.Context(t)
	left := func(expected string) {
		t.Helper()
		harness.Want(t, conn, expected, "select string_agg(iid, ' ' order by iid) from mbus4.consumen('q', amt => 99)")
	}
	harness.Ask(t, conn, "create table t (id int); create procedure p(x text) language sql as 'insert into t values (length(x))'")

	var out strings.Builder
	if _, err := conn.CopyTo(ctx, &out, "copy (select g from generate_series(1, 3) g where g > 1 and mbus4.post('q', 'x=>1', iid => 'c' || g) = 'c3') to stdout"); err != nil || out.String() != "3\n" {
		t.Errorf("got %q, %s", out.String(), harness.Describe(err))
	}
	left("c2 c3")
	if _, err := conn.CopyFrom(ctx, strings.NewReader("1\n2\n3\n"), "copy t from stdin where id > 1 and mbus4.post('q', 'x=>1', iid => 'c' || id) = 'c3'"); err != nil {
		t.Error(harness.Describe(err))
	}
	harness.Want(t, conn, "3", "select id from t")
	left("c2 c3")
	harness.Want(t, conn, "e1e1", "prepare p(text) as select $1 || $1; execute p(mbus4.post('q', 'x=>1', iid => 'e1'))")
	left("e1")
	harness.Want(t, conn, "t|f", "prepare x(bool, text) as select $1, $2 like 'q.%.0'; execute x(mbus4.is_msg_exists(mbus4.post('q', 'x=>1', iid => 'e1')), mbus4.get_iid('q'))")
	left("e1")
	harness.Ask(t, conn, "truncate t; call p(mbus4.post('q', 'x=>1', iid => 'call'))")
	harness.Want(t, conn, "4", "select id from t")
	left("call")
	const explained = "select g from generate_series(1, 3) g where g > 1 and mbus4.post('q', 'x=>1', iid => 'e' || g) <> ''"
	harness.Ask(t, conn, "explain verbose "+explained)
	left("∅")
	harness.Ask(t, conn, "explain (analyze, verbose) "+explained)
	left("e2 e3")
	harness.Ask(t, conn, "create table made as "+explained+" with no data")
	left("∅")
	for i := range 3 { // one plan, other literals
		harness.Want(t, conn, fmt.Sprint(i+1), fmt.Sprintf("select count(*) from generate_series(1, %d) g where mbus4.post('q', 'x=>1', iid => 'p%d' || g) <> ''", i+1, i))
	}
	left("p01 p11 p12 p21 p22 p23")
}

// Calls that the proxy does not see fail with the reason.
func TestPlacesUnseen(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		harness.Ask(t, s.Conn, `create table t (id int);
			create function tell() returns trigger language plpgsql as $$ begin perform mbus4.post('q', 'x=>1'); return new; end $$;
			create trigger tell after insert on t for each row execute function tell();
			create function receive() returns int language plpgsql as $$ begin return (select id from mbus4.consume('q')); end $$`)
		for _, sql := range []string{
			"do $$ begin perform mbus4.post('q', 'x=>1'); end $$",
			"insert into t values (1)",
			"select receive()",
			"insert into t select 1 from mbus4.post('q', 'x=>1')",
		} {
			_, err := s.Form.Run(harness.Context(t), s.Conn, forms.Do(sql))
			var report *pgconn.PgError
			if !errors.As(err, &report) || report.Code != "42883" || !strings.Contains(report.Message, "mbus4.") ||
				!strings.Contains(report.Hint, "triggers") || report.Where == "" {
				t.Errorf("%s: %s", sql, harness.Describe(err))
			}
		}
		s.Want(t, "f", "select mbus4.peek_q()")
	})
	// A database that an older program prepared, and this one may not.
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	direct := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, direct, harness.Stored(t, direct, "drop function mbus4.at_post"))
	said := harness.Refusal(t, conn, "42883", "select 1 where mbus4.post('q', 'x=>1') is null")
	if said == nil || !strings.Contains(said.Hint, "mbusproxy init") || said.Position != 16 {
		t.Error(harness.Describe(said))
	}
	harness.Want(t, conn, "f", "select mbus4.peek_q()")

	// A function that there is not, where the schema is not there either.
	p := harness.Connect(t, harness.Proxied(), harness.NewDatabase(t))
	if said := harness.Refusal(t, p, "42883", "select mbus4.nosuch()"); said.Position != 8 || !strings.Contains(said.Hint, "mbus4.readme()") {
		t.Error(harness.Describe(said))
	}
}
