package calls

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// The copies of what one statement posts stand in the order of its rows, as the messages do.
func TestTriggerOrderOfOneStatement(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"a", "b"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_trigger('a', 'b')")
		s.Want(t, "", "create table posted as select mbus4.post(q, hstore('n', n::text)) from unnest(array['a', 'dmq']) q, generate_series(1, 5) n")
		s.Want(t, "12345", "select string_agg(data->'n', '') from mbus4.consumen('a', amt => 9)")
		s.Want(t, "12345", "select string_agg(data->'n', '') from mbus4.consumen('b', amt => 9)")
	})
}

// A function that returns void gives the same empty value whichever it is, as PL/pgSQL's do.
func TestFunctionVoidIsNotNull(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		for _, call := range []string{
			"create_queue('r', 1)", "create_run_function('q')", "clear_tempq()", "regenerate_functions()", "clear_queue_q()",
			"create_view('q')", "create_trigger('q', 'r')", "drop_trigger('q', 'r')", "schedule('s', '@daily', 'q')", "pause_queue('q')", "resume_queue('q')", "drop_queue('r')",
		} {
			s.Want(t, "", "select mbus4."+call)
		}
	})
}

// A selector that names a column that is not there is told so.
func TestSelectorUnknownColumn(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	report := harness.Refusal(t, conn, "42703", "select mbus4.create_consumer('q', 'c', 't.nosuch = 1')")
	if want := "column nosuch does not exist: there is nothing but the columns of t"; !strings.Contains(report.Message, want) {
		t.Errorf("%q does not say %q", report.Message, want)
	}
}

// The selector of dyn_consume is one expression too: no other condition of delivery is loosened by it.
func TestDynConsumeUnbalanced(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "late", "select mbus4.post('q', '', delayed_until => '2999-01-01', iid => 'late')")
		harness.Ask(t, s.Conn, "create table chosen as select 'true) or (true'::text as selector")
		for _, call := range []forms.Step{
			forms.Do("select iid from mbus4.dyn_consume('q', $1)", "true) or (true"),
			forms.Do("select (mbus4.dyn_consume('q', selector)).iid from chosen"),
		} {
			got, err := s.Form.Run(harness.Context(t), s.Conn, call)
			if got != "" {
				t.Errorf("%s: got %q, %v; want an error or nothing", call.SQL, got, err)
			}
			s.Want(t, "t", "select mbus4.is_msg_exists('late')")
		}
	})
}

// A header seenby without a value is as none.
func TestHeaderSeenByNull(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "m", "select mbus4.post('q', '', $1, iid => 'm')", `"seenby"=>NULL`)
		s.Want(t, "{"+s.Database+"}", "select headers->'seenby' from mbus4.consume('q')")
	})
}

// What goes wrong in making a view points at the call, and shows nothing that the client did not write.
func TestViewReport(t *testing.T) {
	t.Parallel()
	maker := harness.NewRole(t)
	database := harness.NewQueueDatabase(t, "q")
	harness.Admin(t, "grant mbus4_admin to "+maker)
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.create_view('q'); grant create on schema public to "+maker)
	for _, c := range []struct{ code, sql, queue, consumer string }{
		{"42P07", "select mbus4.create_view('q', 'default')", "q", "default"},
		{"42704", "select mbus4.create_view('nowhere', 'default')", "nowhere", "default"},
		{"42704", "select mbus4.create_view('q', 'nobody')", "q", "nobody"},
	} {
		for _, report := range []*pgconn.PgError{
			harness.Refusal(t, conn, c.code, c.sql),
			harness.Refusal(t, conn, c.code, "select mbus4.create_view($1, $2)", c.queue, c.consumer),
		} {
			if report.Position != 8 || report.Where != "" {
				t.Errorf("%s: position %d, context %.80q", c.sql, report.Position, report.Where)
			}
		}
		report := harness.Refusal(t, conn, c.code, "select 'é'; "+c.sql+"; select 2")
		if report.Position != 20 || report.Where != "" {
			t.Errorf("%s behind another statement: position %d, context %.80q", c.sql, report.Position, report.Where)
		}
	}
	harness.Ask(t, harness.ConnectAs(t, harness.Proxied(), database, maker), "select mbus4.create_view('q', viewname => 'v')")
}

// The selectors of who gets a copy see the copy: its own iid.
func TestTriggerCopySeenBySelectors(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"a", "b"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_trigger('a', 'b')")
		s.Want(t, "", "select mbus4.create_consumer('b', 'c', $1)", "t.iid like 'b.%'")
		s.Want(t, "m", "select mbus4.post('a', 'n=>1', iid => 'm')")
		s.Want(t, "t", "select iid like 'b.%' from mbus4.consume('b', 'c')")
	})
}
