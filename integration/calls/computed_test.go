package calls

import (
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// The statement of run_on_<q> may be the result of an expression, which is evaluated once, in the
// client's transaction, with the client's rights.
func TestRunComputed(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		harness.Ask(t, s.Conn, "create table done (n text); create sequence numbers; create table execs (exec text); insert into execs values ('insert into done values (5)')")
		done := "select coalesce(string_agg(n, ' '), '') from done"
		post := func() {
			t.Helper()
			s.Want(t, "t", "select mbus4.post('q', 'n=>1', iid => 'm') <> ''")
		}
		for _, c := range []struct {
			sql  string
			args []any
			done string
		}{
			{"select mbus4.run_on_q('insert into done ' || 'values (1)')", nil, "1"},
			{"select mbus4.run_on_q(exec => 'insert into done values (' || 1 || ')')", nil, "1"},
			{"select mbus4.run_q((select exec from execs))", nil, "5"},
			{"select mbus4.run_on_q('insert into done values (' || $1 || ')')", []any{"7"}, "7"},
			{"select mbus4.run_on_q(format('insert into %I values (%L)', 'done', $1::text))", []any{`o'\"x`}, `o'\"x`},
			{"select mbus4.run_on_q(format('insert into done values (%s)', $1::int + $2::int))", []any{2, 3}, "5"},
			{"select mbus4.run_on_q('insert into done values (' || nextval('numbers') || ')')", nil, "1"},
			{"select mbus4.run_on_q('insert into done values (' || quote_literal(current_user) || ')')", nil, "postgres"},
			{"select n from mbus4.run_on_q(replace('insert into done select x from (select (($1).data->''n'')) d (x)', 'x', 'y') -- why\n) n", nil, "1"},
			{"select mbus4.run_on_q(case when $1::bool then 'insert into done values (1)' else 'insert into done values (2)' end)", []any{true}, "1"},
			{"select mbus4.run_on_q($$insert into done values ($x$\\'$x$)$$ || '')", nil, `\'`},
		} {
			post()
			s.Want(t, "", "begin")
			s.Want(t, "1", c.sql, c.args...)
			s.Want(t, c.done, done)
			s.Want(t, "", "rollback")
			harness.Ask(t, s.Conn, "alter sequence numbers restart")
			s.Want(t, "m", "select iid from mbus4.consume('q')")
		}

		// At each execution anew.
		for _, n := range []string{"1", "2"} {
			post()
			s.Want(t, "insert into done values ("+n+")", "select set_config('app.exec', 'insert into done values (' || $1 || ')', false)", n)
			s.Want(t, "1", "select mbus4.run_on_q(current_setting('app.exec'))")
		}
		s.Want(t, "1 2", done)
		post()
		s.Want(t, "1|0", "select mbus4.run_on_q('select ' || 1), mbus4.run_on_q('select ' || $1::text)", "2")

		// Null fails for each message; what the expression fails with is the client's, and nothing is taken.
		post()
		s.Want(t, "0", "select mbus4.run_on_q(nullif('x', $1))", "x")
		s.Want(t, "m|query string argument of EXECUTE is null", "select iid, headers->'dmq.error' from mbus4.consume('dmq')")
		post()
		s.Refused(t, "22012", "select mbus4.run_on_q('select ' || 1 / $1::int)", 0)
		s.Refused(t, "42703", "select mbus4.run_on_q('select ' || nosuch)")
		s.Refused(t, "42883", "select mbus4.run_on_q(no_such_function())")
		s.Refused(t, "21000 P0003", "select mbus4.run_on_q((select 'x' from generate_series(1, 2)))")

		// Calls are served in a text that is known before the statement runs, and in no other.
		s.Want(t, "1", "select mbus4.run_on_q('select mbus4.post(''r'', ' || ' '''', iid => ''' || $1 || ''')')", "r1")
		s.Want(t, "r1", "select iid from mbus4.consume('r')")
		post()
		s.Refused(t, "0A000", "select mbus4.run_on_q(concat('select mbus4.post(''r'', ', '($1).data)'))")
		s.Refused(t, "0A000", "select mbus4.run_on_q(upper('select \"mbus4\" . \"post\" (''r'', ($1).data)'))")
		s.Refused(t, "0A000", "select mbus4.run_on_q(mbus4.get_iid('q'))")
		s.Want(t, "1", "select mbus4.run_on_q(concat('insert into mbus4.work_queue', ' (payload) values (''1'')'))")
		s.Want(t, "1", "select count(*) from mbus4.work_queue")
	})
}

// In one Query with others, the expression is evaluated in its place.
func TestRunComputedAmongStatements(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), newRunDatabase(t, 2))
	harness.Want(t, conn, "insert into done values (4)\n2\n4 4", "select set_config('app.exec', 'insert into done values (4)', true); select mbus4.run_on_q(current_setting('app.exec')); "+doneNow)
	harness.Refused(t, conn, "42704", "select mbus4.run_on_q(current_setting('app.nosuch'))")
	harness.Refused(t, conn, "42P02", "select mbus4.run_on_q(current_setting($1))")
	role := harness.NewRole(t)
	harness.Ask(t, conn, "grant mbus4_user to "+role)
	harness.Ask(t, conn, "set role "+role)
	harness.Refused(t, conn, "42501", "select mbus4.run_on_q('select ' || (select count(*) from done))")
	harness.Ask(t, conn, "reset role; revoke mbus4_user from "+role)
}

// Parameters in binary form are read where the text says what they are.
func TestRunComputedBinary(t *testing.T) {
	t.Parallel()
	database := newRunDatabase(t, 4)
	s := &forms.Session{Form: forms.Form{Name: "binary", Run: forms.EachStep(runBinary)}, Conn: harness.Connect(t, harness.Proxied(), database), Database: database}
	s.Refused(t, "0A000", "select mbus4.run_on_q('select ' || $1)", "1")
	s.Refused(t, "0A000", "select mbus4.create_consumer('q', 'c', 't.iid = ' || $1)", "1")
	s.Want(t, "", "select mbus4.create_consumer('q', 'c', 't.iid = ' || $1::text)", "''")
	s.Want(t, "4", "select mbus4.run_on_q('insert into done values (' || $1::int || '), (' || $2::int8 || '), (' || $3::bool::int || ')')", 7, int64(8), true)
	harness.Want(t, s.Conn, "1 1 1 1 7 7 7 7 8 8 8 8", doneNow)
	s.Want(t, "1", "select mbus4.run_on_q('insert into done values (' || $1::text || ')') + 1", "7")
}

// A selector may be put together from literals and parameters.
func TestSelectorComputed(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_consumer('q', 'c', 't.iid ' || '= ''x''')")
		s.Want(t, "", "select mbus4.create_consumer('q', 'd', p_selector => 't.iid = ''' || $1 || '''')", "y")
		s.Want(t, "", "select mbus4.create_trigger('q', 'r', ('t.iid' || ' = ' || $1)::text)", "'z'")
		temporary := harness.Ask(t, s.Conn, "select mbus4.create_temporary_consumer('q', 't.iid = ' || $1)", "'z'")
		s.Want(t, "x\ny\nz", "select mbus4.post('q', '', iid => x) from unnest(array['x', 'y', 'z']) x")
		s.Want(t, "x", "select iid from mbus4.consumen_q_by_c(9)")
		s.Want(t, "y", "select iid from mbus4.consumen_q_by_d(9)")
		s.Want(t, "1|1", "select mbus4.estimated_messages('r'), mbus4.estimated_messages($1)", temporary)
		s.Want(t, "", "select mbus4.create_consumer('q', 'n', 'x' || $1)", nil)
		s.Want(t, "∅", "select selector from mbus4.consumer where name = 'n'")
		s.Refused(t, "42703 42704 42P17 0A000 42601", "select mbus4.create_consumer('q', 'e', 'now() ' || '> now()')")
		s.Refused(t, "0A000", "select mbus4.create_consumer('q', 'e', 't.iid = ' || quote_literal($1))", "x")
		s.Want(t, "", "select mbus4.create_view('q', viewname => 'public.' || 'v' || $1)", "1")
		s.Want(t, "", "select * from v1 where false")
	})
}
