package statements

import (
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// Statements prepared at SQL level are the server's own.
func TestSQLPrepare(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "prepare post(text, hstore, text) as select mbus4.post($1, $2, iid => $3)")
		s.Want(t, "", "prepare consume(text) as select iid from mbus4.consume($1)")
		s.Want(t, "", "prepare untyped as select mbus4.post($1, $2, iid => $3)")
		s.Want(t, "a", "execute post('q', 'x=>1', 'a')")
		s.Want(t, "b", "execute untyped('q', 'x=>1', 'b')")
		s.Want(t, "a", "execute consume('q')")
		s.Want(t, "b", "execute consume('q')")
		s.Want(t, "", "execute consume('q')")
		s.Want(t, "{text,hstore,text}\n{text,hstore,text}",
			"select parameter_types from pg_prepared_statements where statement ~ 'post' and name in ('post', 'untyped') order by name")

		// What the server says at EXECUTE is made the proxy's own error there too.
		s.Refused(t, "42704", "execute post('nowhere', 'x=>1', 'a')")
		s.Refused(t, "42704", "execute consume('nowhere')")
		s.Want(t, "c", "execute post('q', 'x=>1', 'c')")
		s.Refused(t, "23505", "execute post('q', 'x=>1', 'c')")
		s.Want(t, "", "begin")
		s.Want(t, "c", "execute consume('q')")
		s.Want(t, "", "rollback")
		s.Want(t, "", "create table got as execute consume('q')")
		s.Want(t, "c", "select * from got")
		s.Refused(t, "0A000", "prepare refused as select * from rows from (mbus4.post('q', 'x=>1'), generate_series(1, 2))")
		s.Refused(t, "26000", "execute refused")
		s.Want(t, "", "deallocate all")
		s.Refused(t, "26000", "execute consume('q')")
	})
}

// A statement's name belongs to whoever was last prepared under it.
func TestStatementNamesAreReused(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	ctx := harness.Context(t)
	run := func(expected, code string) {
		t.Helper()
		r := conn.ExecPrepared(ctx, "s", nil, nil, nil).Read()
		if harness.SQLState(r.Err) != code || harness.RowsText(r) != expected {
			t.Errorf("got %q, %s; want %q %s", harness.RowsText(r), harness.Describe(r.Err), expected, code)
		}
	}
	for range 3 {
		if _, err := conn.Prepare(ctx, "s", "select mbus4.post('nowhere', 'a=>1') as x", nil); err != nil {
			t.Fatal(harness.Describe(err))
		}
		run("", "42704")
		if _, err := conn.Prepare(ctx, "s", "select 1", nil); harness.SQLState(err) != "42P05" {
			t.Errorf("a name in use: %s", harness.Describe(err))
		}
		run("", "42704")
		harness.Ask(t, conn, "deallocate s")
		run("", "26000")
		if _, err := conn.Prepare(ctx, "s", "select 'ordinary', nosuch", nil); harness.SQLState(err) != "42703" {
			t.Errorf("a statement that cannot be prepared: %s", harness.Describe(err))
		}
		run("", "26000")
		if _, err := conn.Prepare(ctx, "s", "select 6 / (select count(*) from pg_class where false)", nil); err != nil {
			t.Fatal(harness.Describe(err))
		}
		run("", "22012")
		harness.Ask(t, conn, "discard all")
		run("", "26000")
	}
}

// EXPLAIN of a call does not run it; EXPLAIN ANALYZE does, as it would.
func TestExplain(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "m", "select mbus4.post('q', 'a=>1', iid => 'm')")
		for _, sql := range []string{
			"explain (costs off) select * from mbus4.consume('q')",
			"explain (costs off) select * from mbus4.consume('q') limit length(mbus4.post('q', 'a=>1'))",
		} {
			if _, err := s.Form.Run(harness.Context(t), s.Conn, forms.Do(sql)); err != nil {
				t.Error(harness.Describe(err))
			}
		}
		s.Want(t, "m", "select iid from mbus4.consumen('q', amt => 9)")
	})
}

// JDBC's CallableStatement declares the place of a result as a parameter of type void; Postgres
// drops such parameters from a call (parse_func.c), so they are no arguments here either.
func TestVoidParameters(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	const void, varchar = 2278, 1043
	w := frontend.Connect(t, harness.Proxied(), database)
	w.WantExchange("one out parameter", `
		ParseComplete
		BindComplete
		RowDescription result:25:0
		DataRow "out"
		CommandComplete SELECT 1
		ReadyForQuery I`, "ReadyForQuery",
		&pgproto3.Parse{Query: "select * from mbus4.post($1, $2, $3, iid => $4) as result", ParameterOIDs: []uint32{void, varchar, 0, varchar}},
		frontend.Bind("", "", nil, "q", "a=>1", "out"), frontend.DescribePortal(""), frontend.Execute("", 0), frontend.Sync())
	w.WantExchange("a call without arguments of its own", `
		ParseComplete
		BindComplete
		DataRow "t"
		CommandComplete SELECT 1
		ReadyForQuery I`, "ReadyForQuery",
		&pgproto3.Parse{Query: "select * from mbus4.peek_q($1) as result", ParameterOIDs: []uint32{void}},
		frontend.Bind("", "", nil), frontend.Execute("", 0), frontend.Sync())
}
