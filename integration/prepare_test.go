package integration

import (
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Statements prepared at SQL level are the server's own.
func TestSQLPrepare(t *testing.T) {
	t.Parallel()
	forEachForm(t, []string{"q"}, func(t *testing.T, s *session) {
		s.want(t, "", "prepare post(text, hstore, text) as select mbus4.post($1, $2, iid => $3)")
		s.want(t, "", "prepare consume(text) as select iid from mbus4.consume($1)")
		s.want(t, "", "prepare untyped as select mbus4.post($1, $2, iid => $3)")
		s.want(t, "a", "execute post('q', 'x=>1', 'a')")
		s.want(t, "b", "execute untyped('q', 'x=>1', 'b')")
		s.want(t, "a", "execute consume('q')")
		s.want(t, "b", "execute consume('q')")
		s.want(t, "", "execute consume('q')")
		s.want(t, "{text,hstore,text}\n{text,hstore,text}",
			"select parameter_types from pg_prepared_statements where statement ~ 'post' and name in ('post', 'untyped') order by name")

		// What the server says at EXECUTE is made the proxy's own error there too.
		s.refused(t, "42704", "execute post('nowhere', 'x=>1', 'a')")
		s.refused(t, "42704", "execute consume('nowhere')")
		s.want(t, "c", "execute post('q', 'x=>1', 'c')")
		s.refused(t, "23505", "execute post('q', 'x=>1', 'c')")
		s.want(t, "", "begin")
		s.want(t, "c", "execute consume('q')")
		s.want(t, "", "rollback")
		s.want(t, "", "create table got as execute consume('q')")
		s.want(t, "c", "select * from got")
		s.refused(t, "0A000", "prepare refused as select * from rows from (mbus4.post('q', 'x=>1'), generate_series(1, 2))")
		s.refused(t, "26000", "execute refused")
		s.want(t, "", "deallocate all")
		s.refused(t, "26000", "execute consume('q')")
	})
}

// A statement's name belongs to whoever was last prepared under it.
func TestStatementNamesAreReused(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	conn := connect(t, proxied(), database)
	ctx := testContext(t)
	run := func(expected, code string) {
		t.Helper()
		r := conn.ExecPrepared(ctx, "s", nil, nil, nil).Read()
		if sqlState(r.Err) != code || rowsText(r) != expected {
			t.Errorf("got %q, %s; want %q %s", rowsText(r), describe(r.Err), expected, code)
		}
	}
	for range 3 {
		if _, err := conn.Prepare(ctx, "s", "select mbus4.post('nowhere', 'a=>1') as x", nil); err != nil {
			t.Fatal(describe(err))
		}
		run("", "42704")
		if _, err := conn.Prepare(ctx, "s", "select 1", nil); sqlState(err) != "42P05" {
			t.Errorf("a name in use: %s", describe(err))
		}
		run("", "42704")
		ask(t, conn, "deallocate s")
		run("", "26000")
		if _, err := conn.Prepare(ctx, "s", "select 'ordinary', nosuch", nil); sqlState(err) != "42703" {
			t.Errorf("a statement that cannot be prepared: %s", describe(err))
		}
		run("", "26000")
		if _, err := conn.Prepare(ctx, "s", "select 6 / (select count(*) from pg_class where false)", nil); err != nil {
			t.Fatal(describe(err))
		}
		run("", "22012")
		ask(t, conn, "discard all")
		run("", "26000")
	}
}

// EXPLAIN of a call does not run it; EXPLAIN ANALYZE does, as it would.
func TestExplain(t *testing.T) {
	t.Parallel()
	forEachForm(t, []string{"q"}, func(t *testing.T, s *session) {
		s.want(t, "m", "select mbus4.post('q', 'a=>1', iid => 'm')")
		for _, sql := range []string{
			"explain (costs off) select * from mbus4.consume('q')",
			"explain (costs off) select * from mbus4.consume('q') limit length(mbus4.post('q', 'a=>1'))",
		} {
			if _, err := s.form.run(testContext(t), s.conn, do(sql)); err != nil {
				t.Error(describe(err))
			}
		}
		s.want(t, "m", "select iid from mbus4.consumen('q', amt => 9)")
	})
}

// JDBC's CallableStatement declares the place of a result as a parameter of type void; Postgres
// drops such parameters from a call (parse_func.c), so they are no arguments here either.
func TestVoidParameters(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	const void, varchar = 2278, 1043
	w := connectWire(t, proxied(), database)
	w.wantExchange("one out parameter", `
		ParseComplete
		BindComplete
		RowDescription result:25:0
		DataRow "out"
		CommandComplete SELECT 1
		ReadyForQuery I`, "ReadyForQuery",
		&pgproto3.Parse{Query: "select * from mbus4.post($1, $2, $3, iid => $4) as result", ParameterOIDs: []uint32{void, varchar, 0, varchar}},
		bind("", "", nil, "q", "a=>1", "out"), describePortal(""), execute("", 0), sync1)
	w.wantExchange("a call without arguments of its own", `
		ParseComplete
		BindComplete
		DataRow "t"
		CommandComplete SELECT 1
		ReadyForQuery I`, "ReadyForQuery",
		&pgproto3.Parse{Query: "select * from mbus4.peek_q($1) as result", ParameterOIDs: []uint32{void}},
		bind("", "", nil), execute("", 0), sync1)
}
