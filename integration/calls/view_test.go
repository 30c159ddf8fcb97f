package calls

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// tag is the command tag of one statement.
func tag(t *testing.T, conn *pgconn.PgConn, sql string) string {
	t.Helper()
	r := conn.ExecParams(harness.Context(t), sql, nil, nil, nil, nil).Read()
	if r.Err != nil {
		t.Errorf("%s: %s", sql, harness.Describe(r.Err))
	}
	return r.CommandTag.String()
}

// Who has no rights but on the view consumes and posts through it, through the proxy and past it.
func TestViewWithoutRights(t *testing.T) {
	t.Parallel()
	role := harness.NewRole(t)
	database := harness.NewQueueDatabase(t, "q", "r") // dropped before the role: what it holds names it
	owner := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, owner, "select mbus4.create_consumer('q', 'c', '(t.data->''n'')::int > 1'); select mbus4.create_trigger('q', 'r')")
	harness.Ask(t, owner, "select mbus4.create_view('q'); select mbus4.create_view('q', 'c', 'public.only_c')")
	for _, e := range harness.Both() {
		t.Run(e.Name, func(t *testing.T) {
			conn := harness.ConnectAs(t, e, database, role)
			harness.Refused(t, conn, "42501", "select * from q_q")
			harness.Refused(t, conn, "42501", "insert into q_q values ('n=>1')")
			harness.Ask(t, owner, "grant select, insert on q_q, only_c to "+role)
			harness.Refused(t, conn, "42501", "select count(*) from mbus4.message")
			harness.Refused(t, conn, "42501", "delete from mbus4.queue")
			if e == harness.Proxied() {
				harness.Refused(t, conn, "42501", "select * from mbus4.consume('q')")
				harness.Refused(t, conn, "42501", "select mbus4.post('q', 'a=>1')")
			}
			for sql, expected := range map[string]string{
				"insert into q_q values ('n=>1')": "INSERT 0 1",
				"insert into public.q_q (data) select hstore('n', n::text) from generate_series(2, 4) n": "INSERT 0 3",
				"insert into q_q select 'n=>1' where false":                                              "INSERT 0 0",
				"insert into only_c (data) values ('n=>5'), ('n=>6')":                                    "INSERT 0 2",
				"with d as (select hstore('n', '7') as h) insert into q_q select h from d":               "INSERT 0 1",
				"insert into q_q values (null)":                                                          "INSERT 0 1",
			} {
				if got := tag(t, conn, sql); got != expected {
					t.Errorf("%s: %s, want %s", sql, got, expected)
				}
			}
			harness.Want(t, owner, "8|8", "select mbus4.estimated_messages('q'), mbus4.estimated_messages('r')")
			got := map[string]bool{}
			for range 8 {
				got[harness.Ask(t, conn, "select data->'n' from q_q")] = true
			}
			for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", harness.Null} {
				if !got[n] {
					t.Errorf("message %s is missing in %v", n, got)
				}
			}
			harness.Want(t, conn, "", "select * from q_q")

			// A rollback gives back and takes back.
			harness.Want(t, conn, "t", "begin; select (data->'n')::int > 1 from only_c")
			harness.Ask(t, conn, "insert into q_q values ('n=>9'); rollback")
			harness.Want(t, conn, "", "select * from q_q")
			for range 6 {
				harness.Want(t, conn, "t", "select (data->'n')::int > 1 from only_c")
			}
			harness.Want(t, conn, "", "select * from only_c")

			// What a view gives is what everybody gets.
			harness.Ask(t, conn, "insert into q_q values ('n=>8')")
			harness.Want(t, owner, "8|q|q|{"+database+"}", "select data->'n', headers->'destination', headers->'destination_queue', headers->'seenby' from mbus4.consume('q')")
			harness.Want(t, owner, "8", "select data->'n' from mbus4.consume('q', 'c')")
			harness.Want(t, owner, "9", "select count(*) from mbus4.consumen('r', amt => 99)")
			harness.Ask(t, owner, "revoke all on q_q, only_c from "+role)
		})
	}
}

// Two sessions that read a view at once get different messages; the messages come in their order, and
// those that must wait do.
func TestViewDelivers(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	one, two := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, one, "select mbus4.create_view('q')")
	harness.Ask(t, one, `select mbus4.post('q', hstore('n', n::text), iid => 'm' || n) from generate_series(1, 2) n;
		select mbus4.post('q', 'n=>3', 'consume_after=>{m1}', iid => 'm3'); select mbus4.post('q', 'n=>4', delayed_until => '2999-01-01');
		select mbus4.post('q', 'n=>5', expires => '2001-01-01')`)
	harness.Want(t, one, "1", "begin; select data->'n' from q_q")
	harness.Want(t, two, "2", "begin; select data->'n' from q_q")
	harness.Want(t, two, "", "select data->'n' from q_q")
	harness.Ask(t, one, "commit")
	harness.Ask(t, two, "rollback")
	harness.Await(t, two, "select exists (select from q_q where data->'n' in ('2', '3'))")
	harness.Await(t, two, "select exists (select from q_q where data->'n' in ('2', '3'))")
	harness.Want(t, two, "", "select data->'n' from q_q")
}

// create_view_prop shows properties as well, and delayed_until and expires where asked for.
func TestViewProp(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_view_prop($1, $2, $3, $4)", "q", "default", "public", "p")
		s.Want(t, "", "select mbus4.create_view_prop('q', 'default', 'public', 'd', true)")
		s.Want(t, "", "select mbus4.create_view_prop('q', 'default', 'public', 'x', with_expire => $1)", true)
		s.Want(t, "", "select mbus4.create_view_prop('q', 'default', 'public', 'Both of', $1, $2)", true, "true")
		past := harness.Connect(t, harness.Direct(), s.Database)
		for i, v := range []struct{ view, insert, got string }{
			{"p", `values ('n=>1', 'p=>2')`, `"n"=>"1"|"p"=>"2"`},
			{"d", `(data, delayed_until) values ('n=>1', '2001-02-03 04:05:06')`, `"n"=>"1"|∅|2001-02-03 04:05:06`},
			{"x", `values ('n=>1', null, '2999-02-03')`, `"n"=>"1"|∅|2999-02-03 00:00:00`},
			{`"Both of"`, `(expires, delayed_until, properties, data) values ('2999-02-03', '2001-01-01', '', 'n=>1')`, `"n"=>"1"||2001-01-01 00:00:00|2999-02-03 00:00:00`},
		} {
			for _, conn := range []*pgconn.PgConn{s.Conn, past} {
				if got := tag(t, conn, "insert into "+v.view+" "+v.insert); got != "INSERT 0 1" {
					t.Error(v.view, got)
				}
				harness.Want(t, conn, v.got, "select * from "+v.view)
			}
			s.Want(t, "t", "select not mbus4.peek_q() and $1 >= 0", i)
		}
		// Late and expired ones are not delivered.
		harness.Ask(t, past, `insert into "Both of" values ('n=>1', null, '2999-01-01', null), ('n=>2', null, null, '2001-01-01')`)
		harness.Want(t, past, "", `select * from "Both of"`)
		// In the time zone of who looks.
		harness.Ask(t, past, `set timezone = 'Asia/Tokyo'; insert into d (data, delayed_until) values ('n=>1', '2001-01-01 12:00')`)
		s.Want(t, "2001-01-01 03:00:00", "select delayed_until from mbus4.consume('q')")
	})
}

// A view goes with nothing but itself, and says when its queue is gone.
func TestViewOfDroppedQueue(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "r")
	conn, past := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, conn, "select mbus4.create_view('q'), mbus4.create_view('r')")
	harness.Ask(t, conn, "begin; select mbus4.create_view('q', viewname => 'v'); rollback")
	harness.Refused(t, conn, "42P01", "select * from v")
	harness.Refused(t, conn, "42P07", "select mbus4.create_view('q')")
	harness.Ask(t, conn, "drop view q_q; select mbus4.create_view('q')")
	harness.Want(t, conn, "INSERT 0 1", "select $1 || ''", tag(t, past, "insert into q_q values ('a=>1')"))
	harness.Want(t, past, `"a"=>"1"`, "select * from q_q")
	harness.Ask(t, conn, "select mbus4.drop_queue('q')")
	for _, c := range []*pgconn.PgConn{conn, past} {
		for _, sql := range []string{"select * from q_q", "insert into q_q values ('a=>1')"} {
			_, err := harness.Query(harness.Context(t), c, sql)
			if err == nil || c == conn && harness.SQLState(err) != "42704" { // past the proxy nobody turns the report
				t.Errorf("%s: %v; want an error", sql, err)
			}
		}
	}
	harness.Want(t, past, "INSERT 0 1", "select $1 || ''", tag(t, past, "insert into r_q values ('a=>1')"))
}
