package integration

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Positions in which a call cannot be served: 0A000 at the call, nothing done, and the session
// goes on as after any error.
func TestRefusedPositions(t *testing.T) {
	t.Parallel()
	statements := []string{
		"select 1 from t where mbus4.post('b', 'x=>1') is not null",
		"select 1 from t where id = any (select (mbus4.consume('a')).id)",
		"delete from t where mbus4.post('b', 'x=>1') is not null",
		"select case when true then mbus4.post('b', 'x=>1') end",
		"select case mbus4.post('b', 'x=>1') when 'y' then 1 end",
		"update t set k = mbus4.post('b', 'x=>1')",
		"update t set k = 'x' where mbus4.post('b', 'x=>1') = 'x'",
		"insert into t(id) values (9) returning mbus4.post('b', 'x=>1')",
		"update t set k = 'x' returning mbus4.post('b', 'x=>1')",
		"delete from t returning mbus4.post('b', 'x=>1')",
		"insert into t values (1, 'x') on conflict (id) do update set k = mbus4.post('b', 'x=>1')",
		"insert into t values (1, 'x') on conflict (id) do update set k = 'y' where mbus4.post('b', 'x=>1') = 'x'",
		"declare c cursor for select * from mbus4.consume('a')",
		"declare c cursor with hold for select mbus4.post('b', 'x=>1')",
		"select 1 from t group by mbus4.post('b', 'x=>1')",
		"select 1 from t group by id having mbus4.post('b', 'x=>1') = 'x'",
		"select id from t order by mbus4.post('b', 'x=>1')",
		"select id from t limit length(mbus4.post('b', 'x=>1'))",
		"select t.id, m.iid from t left join mbus4.consumen('a', amt => 2) m on t.id = (m.data->'n')::int",
		"select t.id, m.iid from mbus4.consume('a') m right join t on t.id = (m.data->'n')::int",
		"select * from mbus4.consume('a') m full join t on true",
		"select (mbus4.consumen('a', amt => 3)).iid limit 1",
		"select t.id, mbus4.consumen('a', amt => 3) from t offset 1",
		"select 1 from t join t u on mbus4.post('b', 'x=>1') = 'x'",
		"select count(*) filter (where mbus4.post('b', 'x=>1') = 'x') from t",
		"select sum(id) over (order by mbus4.post('b', 'x=>1')) from t",
		"select (select mbus4.post('b', hstore('id', t.id::text))) from t",
		"select array(select mbus4.post('b', hstore('id', t.id::text))) from t",
		"create view v as select * from mbus4.consume('a')",
		"create view v as select mbus4.post('b', 'x=>1')",
		"create materialized view v as select mbus4.post('b', 'x=>1')",
		"create table d (x text default mbus4.get_iid('a'))",
		"create table d (x text check (mbus4.is_msg_exists(x)))",
		"create index on t ((mbus4.get_iid('a')))",
		"create function f() returns text begin atomic select mbus4.post('b', 'x=>1'); end",
		"merge into t using (values (1)) v(x) on t.id = v.x when matched then update set k = mbus4.post('b', 'x=>1')",
		"with w as (update t set k = mbus4.post('b', 'x=>1') returning k) select k from w",
		"select * from t tablesample system (length(mbus4.post('b', 'x=>1')))",
	}
	forEachForm(t, []string{"a", "b"}, func(t *testing.T, s *session) {
		ask(t, s.conn, "create table t (id int primary key, k text); insert into t values (1), (2), (3)")
		ask(t, s.conn, "select mbus4.post('a', 'n=>1', iid => 'a1')")
		for _, sql := range statements {
			s.wantRefusal(t, sql)
		}
		s.want(t, "1|∅\n2|∅\n3|∅", "select * from t order by id")
	})
}

// wantRefusal runs a statement that is refused, in a transaction and outside of one.
func (s *session) wantRefusal(t *testing.T, sql string) {
	t.Helper()
	ctx := testContext(t)
	for _, opened := range []bool{false, true} {
		if opened {
			s.want(t, "", "begin")
		}
		_, err := s.form.run(ctx, s.conn, do(sql))
		var report *pgconn.PgError
		switch {
		case !errors.As(err, &report) || report.Code != "0A000":
			t.Errorf("%s: %s; want 0A000", sql, describe(err))
		case report.Position < 1 || !strings.HasPrefix(sql[report.Position-1:], "mbus4."):
			t.Errorf("%s: position %d is not that of a call", sql, report.Position)
		case report.Hint == "" && !strings.HasPrefix(sql, "create "):
			t.Errorf("%s: no hint of what can be written instead", sql)
		}
		if opened {
			if status := s.conn.TxStatus(); err != nil && status != 'E' {
				t.Errorf("%s: transaction status %q, want 'E'", sql, status)
			}
			s.want(t, "", "rollback")
		}
		if status := s.conn.TxStatus(); status != 'I' {
			t.Errorf("%s: transaction status %q, want 'I'", sql, status)
		}
	}
	s.want(t, "a1", "select string_agg(iid, ' ') from mbus4.message")
}

// A refused or failing statement in one Query message undoes those before it, as an error does.
func TestRefusalIsAnError(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "a")
	conn := connect(t, proxied, database)
	ask(t, conn, "create table t (id int)")
	refused(t, conn, "0A000", "insert into t values (1); select mbus4.post('a', 'x=>1'); update t set id = length(mbus4.post('a', 'x=>1')); select 4")
	want(t, conn, "0|f", "select count(*), mbus4.peek_a() from t")

	// In a pipeline everything up to the Sync is skipped.
	_, err := runPipelined(testContext(t), conn,
		do("insert into t values (1)"),
		do("select mbus4.post($1, $2)", "a", "x=>1"),
		do("select 1 where mbus4.post($1, $2) = 'x'", "a", "x=>1"),
		do("insert into t values (2)"))
	if sqlState(err) != "0A000" {
		t.Error(describe(err))
	}
	want(t, conn, "0|f", "select count(*), mbus4.peek_a() from t")
}

// The position counts characters of the client's text, in whatever encoding.
func TestErrorPositions(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	conn := connect(t, proxied, database)
	for _, c := range []struct{ sql, at, code string }{
		{"select mbus4.post('q', 'a=>1'), nosuch", "nosuch", "42703"},
		{"select nosuch, mbus4.post('q', 'a=>1')", "nosuch", "42703"},
		{"select 'größer', mbus4.post('q', 'ä=>1'), 'ß', nosuch", "nosuch", "42703"},
		{"select mbus4.post('q', nosuch)", "nosuch", "42703"},
		{"select mbus4.post('q', 'a=>1', iid => nosuch)", "nosuch", "42703"},
		{"select mbus4.post('q', 'broken')", "'broken'", ""},
		{"select * from mbus4.consume('q') m where m.nosuch = 1", "m.nosuch", "42703"},
		{"select * from mbus4.consume('q') m, nosuch", "nosuch", "42P01"},
		{"with m as (select * from mbus4.consume('q')) select iid, nosuch from m", "nosuch", "42703"},
		{"select mbus4.post('q', 'a=>1'), count(*) from nosuch", "nosuch", "42P01"},
		{"insert into nosuch select iid from mbus4.consume('q')", "nosuch", "42P01"},
		{"select mbus4.post('nowhere', 'a=>1')", "", "42704"},
		{"select 1; select mbus4.post('q', 'a=>1'); select nosuch", "nosuch", "42703"},
		{"select mbus4.post('q', 'a=>1'); select mbus4.nosuch(1)", "mbus4.nosuch", "42883"},
		{"select mbus4.post('q', 'a=>1') frm t where", "t where", "42601"},
	} {
		for _, encoding := range []string{"UTF8", "LATIN1"} {
			sql := c.sql
			ask(t, conn, "set client_encoding = "+encoding)
			if encoding == "LATIN1" {
				sql = latin1(sql)
			}
			_, err := query(testContext(t), conn, sql)
			var report *pgconn.PgError
			if !errors.As(err, &report) || c.code != "" && report.Code != c.code {
				t.Errorf("%s %s: %s; want %s", encoding, c.sql, describe(err), c.code)
				continue
			}
			expected := 0
			if c.at != "" {
				expected = len([]rune(c.sql[:strings.Index(c.sql, c.at)])) + 1
			}
			if got := int(report.Position); got != expected && c.at != "" {
				t.Errorf("%s %s: position %d, want %d (%s)", encoding, c.sql, got, expected, describe(err))
			}
		}
	}
	ask(t, conn, "set client_encoding = UTF8")
	want(t, conn, "f", "select mbus4.peek_q()")
}

// latin1 is text in ISO 8859-1, one byte for each character.
func latin1(text string) string {
	var b []byte
	for _, r := range text {
		b = append(b, byte(r))
	}
	return string(b)
}
