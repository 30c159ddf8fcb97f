package integration

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// The copies of what one statement posts stand in the order of its rows, as the messages do.
func TestTriggerOrderOfOneStatement(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"a", "b"}, func(t *testing.T, s *session) {
		s.want(t, "", "select mbus4.create_trigger('a', 'b')")
		s.want(t, "", "create table posted as select mbus4.post(q, hstore('n', n::text)) from unnest(array['a', 'dmq']) q, generate_series(1, 5) n")
		s.want(t, "12345", "select string_agg(data->'n', '') from mbus4.consumen('a', amt => 9)")
		s.want(t, "12345", "select string_agg(data->'n', '') from mbus4.consumen('b', amt => 9)")
	})
}

// A function that returns void gives the same empty value whichever it is, as PL/pgSQL's do.
func TestFunctionVoidIsNotNull(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *session) {
		for _, call := range []string{
			"create_queue('r', 1)", "create_run_function('q')", "clear_tempq()", "regenerate_functions()", "clear_queue_q()",
			"create_view('q')", "create_trigger('q', 'r')", "drop_trigger('q', 'r')", "drop_queue('r')",
		} {
			s.want(t, "", "select mbus4."+call)
		}
	})
}

// A selector that names a column that is not there is told so.
func TestSelectorUnknownColumn(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	conn := connect(t, proxied(), database)
	report := refusal(t, conn, "42703", "select mbus4.create_consumer('q', 'c', 't.nosuch = 1')")
	if want := "column nosuch does not exist: there is nothing but the columns of t"; !strings.Contains(report.Message, want) {
		t.Errorf("%q does not say %q", report.Message, want)
	}
}

// The selector of dyn_consume is one expression too: no other condition of delivery is loosened by it.
func TestDynConsumeUnbalanced(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *session) {
		s.want(t, "late", "select mbus4.post('q', '', delayed_until => '2999-01-01', iid => 'late')")
		ask(t, s.conn, "create table chosen as select 'true) or (true'::text as selector")
		for _, call := range []step{
			do("select iid from mbus4.dyn_consume('q', $1)", "true) or (true"),
			do("select (mbus4.dyn_consume('q', selector)).iid from chosen"),
		} {
			got, err := s.form.run(testContext(t), s.conn, call)
			if got != "" {
				t.Errorf("%s: got %q, %v; want an error or nothing", call.sql, got, err)
			}
			s.want(t, "t", "select mbus4.is_msg_exists('late')")
		}
	})
}

// A header seenby without a value is as none.
func TestHeaderSeenByNull(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *session) {
		s.want(t, "m", "select mbus4.post('q', '', $1, iid => 'm')", `"seenby"=>NULL`)
		s.want(t, "{"+s.database+"}", "select headers->'seenby' from mbus4.consume('q')")
	})
}

// What goes wrong in making a view points at the call, and shows nothing that the client did not write.
func TestViewReport(t *testing.T) {
	t.Parallel()
	maker := newRole(t)
	database := newQueueDatabase(t, "q")
	admin(t, "grant mbus4_admin to "+maker)
	conn := connect(t, proxied(), database)
	ask(t, conn, "select mbus4.create_view('q'); grant create on schema public to "+maker)
	for _, c := range []struct {
		conn      *pgconn.PgConn
		code, sql string
	}{
		{conn, "42P07", "select mbus4.create_view('q')"},
		{conn, "42704", "select mbus4.create_view('nowhere')"},
		{conn, "42704", "select mbus4.create_view('q', 'nobody')"},
	} {
		report := refusal(t, c.conn, c.code, c.sql)
		if report.Position != 8 || report.Where != "" {
			t.Errorf("%s: position %d, context %.80q", c.sql, report.Position, report.Where)
		}
	}
	ask(t, connectAs(t, proxied(), database, maker), "select mbus4.create_view('q', viewname => 'v')")
}

// The selectors of who gets a copy see the copy: its own iid.
func TestTriggerCopySeenBySelectors(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"a", "b"}, func(t *testing.T, s *session) {
		s.want(t, "", "select mbus4.create_trigger('a', 'b')")
		s.want(t, "", "select mbus4.create_consumer('b', 'c', $1)", "t.iid like 'b.%'")
		s.want(t, "m", "select mbus4.post('a', 'n=>1', iid => 'm')")
		s.want(t, "t", "select iid like 'b.%' from mbus4.consume('b', 'c')")
	})
}
