package integration

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// tag is the command tag of one statement.
func tag(t *testing.T, conn *pgconn.PgConn, sql string) string {
	t.Helper()
	r := conn.ExecParams(testContext(t), sql, nil, nil, nil, nil).Read()
	if r.Err != nil {
		t.Errorf("%s: %s", sql, describe(r.Err))
	}
	return r.CommandTag.String()
}

// Who has no rights but on the view consumes and posts through it, through the proxy and past it.
func TestViewWithoutRights(t *testing.T) {
	t.Parallel()
	role := newRole(t)
	database := newQueueDatabase(t, "q", "r") // dropped before the role: what it holds names it
	owner := connect(t, proxied(), database)
	ask(t, owner, "select mbus4.create_consumer('q', 'c', '(t.data->''n'')::int > 1'); select mbus4.create_trigger('q', 'r')")
	ask(t, owner, "select mbus4.create_view('q'); select mbus4.create_view('q', 'c', 'public.only_c')")
	for _, e := range both() {
		t.Run(e.name, func(t *testing.T) {
			conn := connectAs(t, e, database, role)
			refused(t, conn, "42501", "select * from q_q")
			refused(t, conn, "42501", "insert into q_q values ('n=>1')")
			ask(t, owner, "grant select, insert on q_q, only_c to "+role)
			refused(t, conn, "42501", "select count(*) from mbus4.message")
			refused(t, conn, "42501", "delete from mbus4.queue")
			if e == proxied() {
				refused(t, conn, "42501", "select * from mbus4.consume('q')")
				refused(t, conn, "42501", "select mbus4.post('q', 'a=>1')")
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
			want(t, owner, "8|8", "select mbus4.estimated_messages('q'), mbus4.estimated_messages('r')")
			got := map[string]bool{}
			for range 8 {
				got[ask(t, conn, "select data->'n' from q_q")] = true
			}
			for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", null} {
				if !got[n] {
					t.Errorf("message %s is missing in %v", n, got)
				}
			}
			want(t, conn, "", "select * from q_q")

			// A rollback gives back and takes back.
			want(t, conn, "t", "begin; select (data->'n')::int > 1 from only_c")
			ask(t, conn, "insert into q_q values ('n=>9'); rollback")
			want(t, conn, "", "select * from q_q")
			for range 6 {
				want(t, conn, "t", "select (data->'n')::int > 1 from only_c")
			}
			want(t, conn, "", "select * from only_c")

			// What a view gives is what everybody gets.
			ask(t, conn, "insert into q_q values ('n=>8')")
			want(t, owner, "8|q|q|{"+database+"}", "select data->'n', headers->'destination', headers->'destination_queue', headers->'seenby' from mbus4.consume('q')")
			want(t, owner, "8", "select data->'n' from mbus4.consume('q', 'c')")
			want(t, owner, "9", "select count(*) from mbus4.consumen('r', amt => 99)")
			ask(t, owner, "revoke all on q_q, only_c from "+role)
		})
	}
}

// Two sessions that read a view at once get different messages; the messages come in their order, and
// those that must wait do.
func TestViewDelivers(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	one, two := connect(t, proxied(), database), connect(t, direct(), database)
	ask(t, one, "select mbus4.create_view('q')")
	ask(t, one, `select mbus4.post('q', hstore('n', n::text), iid => 'm' || n) from generate_series(1, 2) n;
		select mbus4.post('q', 'n=>3', 'consume_after=>{m1}', iid => 'm3'); select mbus4.post('q', 'n=>4', delayed_until => '2999-01-01');
		select mbus4.post('q', 'n=>5', expires => '2001-01-01')`)
	want(t, one, "1", "begin; select data->'n' from q_q")
	want(t, two, "2", "begin; select data->'n' from q_q")
	want(t, two, "", "select data->'n' from q_q")
	ask(t, one, "commit")
	ask(t, two, "rollback")
	await(t, two, reaped, "select exists (select from q_q where data->'n' in ('2', '3'))")
	await(t, two, reaped, "select exists (select from q_q where data->'n' in ('2', '3'))")
	want(t, two, "", "select data->'n' from q_q")
}

// create_view_prop shows properties as well, and delayed_until and expires where asked for.
func TestViewProp(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *session) {
		s.want(t, "", "select mbus4.create_view_prop($1, $2, $3, $4)", "q", "default", "public", "p")
		s.want(t, "", "select mbus4.create_view_prop('q', 'default', 'public', 'd', true)")
		s.want(t, "", "select mbus4.create_view_prop('q', 'default', 'public', 'x', with_expire => $1)", true)
		s.want(t, "", "select mbus4.create_view_prop('q', 'default', 'public', 'Both of', $1, $2)", true, "true")
		past := connect(t, direct(), s.database)
		for i, v := range []struct{ view, insert, got string }{
			{"p", `values ('n=>1', 'p=>2')`, `"n"=>"1"|"p"=>"2"`},
			{"d", `(data, delayed_until) values ('n=>1', '2001-02-03 04:05:06')`, `"n"=>"1"|∅|2001-02-03 04:05:06`},
			{"x", `values ('n=>1', null, '2999-02-03')`, `"n"=>"1"|∅|2999-02-03 00:00:00`},
			{`"Both of"`, `(expires, delayed_until, properties, data) values ('2999-02-03', '2001-01-01', '', 'n=>1')`, `"n"=>"1"||2001-01-01 00:00:00|2999-02-03 00:00:00`},
		} {
			for _, conn := range []*pgconn.PgConn{s.conn, past} {
				if got := tag(t, conn, "insert into "+v.view+" "+v.insert); got != "INSERT 0 1" {
					t.Error(v.view, got)
				}
				want(t, conn, v.got, "select * from "+v.view)
			}
			s.want(t, "t", "select not mbus4.peek_q() and $1 >= 0", i)
		}
		// Late and expired ones are not delivered.
		ask(t, past, `insert into "Both of" values ('n=>1', null, '2999-01-01', null), ('n=>2', null, null, '2001-01-01')`)
		want(t, past, "", `select * from "Both of"`)
		// In the time zone of who looks.
		ask(t, past, `set timezone = 'Asia/Tokyo'; insert into d (data, delayed_until) values ('n=>1', '2001-01-01 12:00')`)
		s.want(t, "2001-01-01 03:00:00", "select delayed_until from mbus4.consume('q')")
	})
}

// A view goes with nothing but itself, and says when its queue is gone.
func TestViewOfDroppedQueue(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q", "r")
	conn, past := connect(t, proxied(), database), connect(t, direct(), database)
	ask(t, conn, "select mbus4.create_view('q'), mbus4.create_view('r')")
	ask(t, conn, "begin; select mbus4.create_view('q', viewname => 'v'); rollback")
	refused(t, conn, "42P01", "select * from v")
	refused(t, conn, "42P07", "select mbus4.create_view('q')")
	ask(t, conn, "drop view q_q; select mbus4.create_view('q')")
	want(t, conn, "INSERT 0 1", "select $1 || ''", tag(t, past, "insert into q_q values ('a=>1')"))
	want(t, past, `"a"=>"1"`, "select * from q_q")
	ask(t, conn, "select mbus4.drop_queue('q')")
	for _, c := range []*pgconn.PgConn{conn, past} {
		for _, sql := range []string{"select * from q_q", "insert into q_q values ('a=>1')"} {
			_, err := query(testContext(t), c, sql)
			if err == nil || c == conn && sqlState(err) != "42704" { // past the proxy nobody turns the report
				t.Errorf("%s: %v; want an error", sql, err)
			}
		}
	}
	want(t, past, "INSERT 0 1", "select $1 || ''", tag(t, past, "insert into r_q values ('a=>1')"))
}
