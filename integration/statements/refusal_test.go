package statements

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// Positions in which a call cannot be served: 0A000 at the call, nothing done, and the session
// goes on as after any error.
func TestRefusedPositions(t *testing.T) {
	t.Parallel()
	statements := []string{
		"create view v as select * from mbus4.consume('a')",
		"create view v as select mbus4.post('b', 'x=>1')",
		"create materialized view v as select mbus4.post('b', 'x=>1')",
		"create table d (x text default mbus4.post('b', 'x=>1'))",
		"create table d (x text default mbus4.get_iid('a'))",
		"create table d (x text check (mbus4.is_msg_exists(x)))",
		"create table d (x text, y text generated always as (mbus4.post('b', 'x=>1')) stored)",
		"create index on t ((mbus4.get_iid('a')))",
		"create index on t ((mbus4.post('b', 'x=>1')))",
		"create rule r as on insert to t do also select mbus4.post('b', 'x=>1')",
		"create policy p on t using (mbus4.post('b', 'x=>1') is null)",
		"create function f() returns text begin atomic select mbus4.post('b', 'x=>1'); end",
		"alter table t add check (mbus4.post('b', 'x=>1') is null)",
		"insert into t(id) values (9) returning (mbus4.take('a1')).*",
		"select (mbus4.take('a1')).* from t where mbus4.post('b', 'x=>1') is null",
		"select * from rows from (mbus4.post('b', 'x=>1'), generate_series(1, 2))",
		"select case when true then mbus4.consume('a') end",
		"select 1 from t where mbus4.consume('a') is null",
		"update t set k = (mbus4.consume('a')).iid",
		"select coalesce(k, (mbus4.consume('a')).iid) from t",
		"insert into t values (1, 'x') returning mbus4.consume('a')",
		"select count(mbus4.consume('a'))",
	}
	forms.ForEach(t, []string{"a", "b"}, func(t *testing.T, s *forms.Session) {
		harness.Ask(t, s.Conn, "create table t (id int primary key, k text); insert into t values (1), (2), (3)")
		harness.Ask(t, s.Conn, "select mbus4.post('a', 'n=>1', iid => 'a1')")
		for _, sql := range statements {
			wantRefusal(t, s, sql)
		}
		s.Refused(t, "42809", "call mbus4.post('b', 'x=>1')")
		s.Want(t, "1|∅\n2|∅\n3|∅", "select * from t order by id")
	})
}

// wantRefusal runs a statement that is refused, in a transaction and outside of one.
func wantRefusal(t *testing.T, s *forms.Session, sql string) {
	t.Helper()
	ctx := harness.Context(t)
	for _, opened := range []bool{false, true} {
		if opened {
			s.Want(t, "", "begin")
		}
		_, err := s.Form.Run(ctx, s.Conn, forms.Do(sql))
		var report *pgconn.PgError
		switch {
		case !errors.As(err, &report) || report.Code != "0A000":
			t.Errorf("%s: %s; want 0A000", sql, harness.Describe(err))
		case report.Position < 1 || !strings.HasPrefix(sql[report.Position-1:], "mbus4."):
			t.Errorf("%s: position %d is not that of a call", sql, report.Position)
		case report.Hint == "" && !strings.HasPrefix(sql, "create "):
			t.Errorf("%s: no hint of what can be written instead", sql)
		}
		if opened {
			if status := s.Conn.TxStatus(); err != nil && status != 'E' {
				t.Errorf("%s: transaction status %q, want 'E'", sql, status)
			}
			s.Want(t, "", "rollback")
		}
		if status := s.Conn.TxStatus(); status != 'I' {
			t.Errorf("%s: transaction status %q, want 'I'", sql, status)
		}
	}
	s.Want(t, "a1", "select string_agg(iid, ' ') from mbus4.message")
}

// A refused or failing statement in one Query message undoes those before it, as an error does.
func TestRefusalIsAnError(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "a")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "create table t (id int)")
	harness.Refused(t, conn, "0A000", "insert into t values (1); select mbus4.post('a', 'x=>1'); create view v as select mbus4.post('a', 'x=>1'); select 4")
	harness.Want(t, conn, "0|f", "select count(*), mbus4.peek_a() from t")

	// In a pipeline everything up to the Sync is skipped.
	_, err := forms.RunPipelined(harness.Context(t), conn,
		forms.Do("insert into t values (1)"),
		forms.Do("select mbus4.post($1, $2)", "a", "x=>1"),
		forms.Do("create view v as select mbus4.post('a', 'x=>1')"),
		forms.Do("insert into t values (2)"))
	if harness.SQLState(err) != "0A000" {
		t.Error(harness.Describe(err))
	}
	harness.Want(t, conn, "0|f", "select count(*), mbus4.peek_a() from t")
}

// The position counts characters of the client's text, in whatever encoding.
func TestErrorPositions(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
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
			harness.Ask(t, conn, "set client_encoding = "+encoding)
			if encoding == "LATIN1" {
				sql = latin1(sql)
			}
			_, err := harness.Query(harness.Context(t), conn, sql)
			var report *pgconn.PgError
			if !errors.As(err, &report) || c.code != "" && report.Code != c.code {
				t.Errorf("%s %s: %s; want %s", encoding, c.sql, harness.Describe(err), c.code)
				continue
			}
			expected := 0
			if c.at != "" {
				expected = len([]rune(c.sql[:strings.Index(c.sql, c.at)])) + 1
			}
			if got := int(report.Position); got != expected && c.at != "" {
				t.Errorf("%s %s: position %d, want %d (%s)", encoding, c.sql, got, expected, harness.Describe(err))
			}
		}
	}
	harness.Ask(t, conn, "set client_encoding = UTF8")
	harness.Want(t, conn, "f", "select mbus4.peek_q()")
}

// latin1 is text in ISO 8859-1, one byte for each character.
func latin1(text string) string {
	var b []byte
	for _, r := range text {
		b = append(b, byte(r))
	}
	return string(b)
}
