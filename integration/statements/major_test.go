package statements

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// TestMajors: calls in statements that not every major of Postgres understands. The one that does serves them; one that
// does not says so in its own words, about the client's text, and nothing happens.
func TestMajors(t *testing.T) {
	t.Parallel()
	major := harness.ServerMajor(t)
	virtual := "stored"
	if major >= 18 {
		virtual = "virtual"
	}
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		harness.Ask(t, s.Conn, "create table t (id int primary key, k text); create table u (id int primary key, k text); "+
			"create table g (a int, b int generated always as (a * 2) "+virtual+")")
		for _, c := range []struct {
			since     int
			sql, rows string
			posted    string
			// code and at are of the error of an older server; at is where it points to.
			code, at string
		}{
			{
				since: 16, sql: "select p from (select mbus4.post('q', 'x=>1', iid => 'a') as p from t where id = 1)",
				rows: "a", posted: "a", code: "42601", at: "(select",
			},
			{
				since: 16, sql: "select iid from (select * from mbus4.consume('q')), t",
				rows: "", code: "42601", at: "(select",
			},
			{
				since: 16, sql: "select mbus4.post('q', 'x=>1', iid => 'n' || 0x1f || 1_000) || 0b11",
				rows: "n3110003", posted: "n311000", code: "42601", at: "0x1f",
			},
			{
				since: 16, sql: "select json_array(mbus4.post('q', 'x=>1', iid => 'j1'), mbus4.post('q', 'x=>1', iid => 'j2'))",
				rows: `["j1", "j2"]`, posted: "j1 j2", code: "42883", at: "json_array",
			},
			{
				since: 16, sql: "select json_object('iid': mbus4.post('q', 'x=>1', iid => 'o') returning text)",
				rows: `{"iid" : "o"}`, posted: "o", code: "42601", at: ": mbus4",
			},
			{
				since: 17, sql: "select j.a, mbus4.post('q', 'x=>1', iid => 'j' || j.a) from json_table('[3, 4]'::jsonb, '$[*]' columns (a int path '$')) j",
				rows: "3|j3\n4|j4", posted: "j3 j4", code: "42601", at: "columns",
			},
			{
				since: 17, sql: "select a from json_table(mbus4.post('q', 'x=>1', iid => '[7]')::jsonb, '$[*]' columns (a int path '$'))",
				rows: "7", posted: "[7]", code: "42601", at: "columns",
			},
			{
				since: 17, sql: "merge into u using t on u.id = t.id when matched then update set k = t.k " +
					"when not matched then insert values (t.id, 'new') returning merge_action(), u.k, mbus4.post('q', 'x=>1', iid => 'm' || t.id)",
				rows: "UPDATE|one|m1\nINSERT|new|m2", posted: "m1 m2", code: "42601", at: "returning",
			},
			{
				since: 17, sql: "with w as (merge into u using t on u.id = t.id when not matched by source then delete " +
					"when matched then update set k = mbus4.post('q', 'x=>1', iid => 's' || t.id) returning u.k) select mbus4.post('q', 'x=>1', iid => k || k), k from w",
				rows: "s1s1|s1", posted: "s1 s1s1", code: "42601", at: "by source",
			},
			{
				since: 18, sql: "update u set k = 'newer' where id = 1 returning old.k, new.k, mbus4.post('q', 'x=>1', iid => old.k || new.k)",
				rows: "old|newer|oldnewer", posted: "oldnewer", code: "42P01", at: "old.k",
			},
			{
				since: 18, sql: "insert into u as v values (1, 'x') on conflict (id) do update set k = mbus4.post('q', 'x=>1', iid => 'c' || v.k) returning old.k, new.k",
				rows: "old|cold", posted: "cold", code: "42P01", at: "old.k",
			},
			{
				sql:  "insert into g values (21) returning b, mbus4.post('q', 'x=>1', iid => 'g' || b)",
				rows: "42|g42", posted: "g42",
			},
			{
				sql:  "select b from g where mbus4.post('q', 'x=>1', iid => 'g' || b) <> ''",
				rows: "42", posted: "g42",
			},
		} {
			harness.Ask(t, s.Conn, "truncate t, u; insert into t values (1, 'one'), (2, 'two'); insert into u values (1, 'old')")
			if major >= c.since {
				s.Want(t, c.rows, c.sql)
			} else {
				refusedAt(t, s, c.code, c.at, c.sql)
			}
			posted := c.posted
			if major < c.since {
				posted = ""
			}
			if posted == "" {
				posted = harness.Null
			}
			harness.Want(t, s.Conn, posted, "select string_agg(iid, ' ' order by iid) from mbus4.consumen('q', amt => 99)")
		}
		// What only the grammar of 18 has comes to the server as it is, calls included.
		const renamed = "update u set k = 'x' returning with (old as o) o.k, mbus4.post('q', 'x=>1')"
		if major >= 18 {
			refusedAt(t, s, "42883", "mbus4.post", renamed)
		} else {
			refusedAt(t, s, "42601", "with", renamed)
		}
	})
}

// refusedAt runs a statement that must fail with a code, at a place in it.
func refusedAt(t *testing.T, s *forms.Session, code, at, sql string) {
	t.Helper()
	_, err := s.Form.Run(harness.Context(t), s.Conn, forms.Do(sql))
	var report *pgconn.PgError
	if !errors.As(err, &report) || report.Code != code || int(report.Position) != strings.Index(sql, at)+1 {
		t.Errorf("%s: %s; want %s at %q", sql, harness.Describe(err), code, at)
	}
}
