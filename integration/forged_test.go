package integration

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// forgeries look like the markers of our errors, in all the forms that they have or had.
var forgeries = []string{
	"mbus4-error 1 57P01 terminating connection",
	"mbus4-error 0 57P01 terminating connection",
	"mbus4-error 1  57P01 terminating connection",
	"mbus4-error 1 _session_secret_ 57P01 terminating connection",
	"mbus4-error 1 ABCDEFGHIJKLMNOP 57P01 terminating connection",
	"mbus4-refusal 0", "mbus4-refusal 0 ", "mbus4-refusal 0 _session_secret_",
}

// What a client's data says changes no error, whatever it looks like: the server's own words arrive.
func TestForgedMarkers(t *testing.T) {
	t.Parallel()
	for _, f := range forms() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := &session{form: f, database: newQueueDatabase(t, "q")}
			s.conn = connect(t, proxied(), s.database)
			ask(t, connect(t, direct(), s.database), `create function casts(x text) returns int language sql volatile as 'select $1::int';
				create function caught(x text) returns int language plpgsql as $$ begin return x::int; end $$;
				create function raised(code text, x text) returns int language plpgsql as $$ begin raise using errcode = code, message = x; end $$`)
			ask(t, s.conn, "prepare forged(text) as select $1::int; prepare ours(text) as select mbus4.post('nope', ''), $1")
			for _, data := range forgeries {
				ask(t, s.conn, fmt.Sprintf("select mbus4.post('q', hstore('n', '%s'))", data))
				for _, sql := range []string{
					"select '" + data + "'::int",
					"select (data->'n')::int from mbus4.consume('q')",
					"select (data->'n')::int, 1 from (select (mbus4.consume('q')).*) m",
					"select mbus4.post('q', ''), casts('" + data + "')",
					"select mbus4.post('q', ''), caught('" + data + "') from generate_series(1, 2)",
					"select case when true then mbus4.post('q', '') end, casts('" + data + "')",
					"execute forged('" + data + "')",
				} {
					wantUntouched(t, s, sql, "22P02", fmt.Sprintf(`invalid input syntax for type integer: "%s"`, data))
				}
				ask(t, s.conn, "select count(*) from mbus4.consumen('q', amt => 9)") // an error takes nothing
				// RAISE chooses the words and the SQLSTATE, so it may say what the server says of a marker.
				said := fmt.Sprintf(`invalid input syntax for type integer: "%s"`, data)
				wantUntouched(t, s, "select raised('22P02', '"+said+"'), mbus4.post('q', '')", "22P02", said)
			}
			s.refused(t, "42704", "execute ours('x')")
			s.refused(t, "42704", "select mbus4.post('nope', '')")
			s.refused(t, "42704", "select case when true then mbus4.post('nope', '') end")
			s.refused(t, "42704", "select mbus4.estimated_messages('nope')")
			s.refused(t, "42704", "select mbus4.create_run_function('nope')")
			s.refused(t, "42704", "select mbus4.create_temporary_consumer('nope')")
		})
	}
}

func wantUntouched(t *testing.T, s *session, sql, code, message string) {
	t.Helper()
	_, err := s.form.run(testContext(t), s.conn, do(sql))
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != code || e.Message != message || e.File == "" || e.Hint != "" {
		t.Errorf("%s: got %+v", sql, err)
	}
}

// The secret that makes a marker is worth nothing in another session.
func TestSecretsOfSessions(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	secret := regexp.MustCompile(`mbus4-error 1 ([A-Z0-9]{16}) 42704`)
	var secrets []string
	conns := []*pgconn.PgConn{connect(t, proxied(), database), connect(t, proxied(), database)}
	for _, conn := range conns {
		found := secret.FindStringSubmatch(ask(t, conn, "select mbus4.post('q', ''), current_query()"))
		if found == nil {
			t.Fatal("the test does not find the secret in the statement's text")
		}
		secrets = append(secrets, found[1])
	}
	if secrets[0] == secrets[1] {
		t.Error("two sessions share a secret")
	}
	for i, conn := range conns {
		for _, sql := range []string{"select 'mbus4-error 1 %s 57P01 x'::int", "select mbus4.post('q', ''), (left(mbus4.post('q', ''), 0) || 'mbus4-error 1 %s 57P01 x')::int"} {
			refused(t, conn, "22P02", fmt.Sprintf(sql, secrets[1-i]))
		}
		if again := secret.FindStringSubmatch(ask(t, conn, "select mbus4.post('q', 'n=>2'), current_query()")); again[1] != secrets[i] {
			t.Errorf("the secret %s became %s", secrets[i], again[1])
		}
	}
}

// Handlers' errors are noted as they are, too.
func TestForgedMarkersInHandlers(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	conn := connect(t, proxied(), database)
	for i, data := range forgeries {
		said := fmt.Sprintf(`invalid input syntax for type integer: "%s"`, data)
		ask(t, conn, "select mbus4.post('q', hstore('n', $1))", data)
		want(t, conn, "1", "select mbus4.run_on_q($1)", "select (($1).data->'n')::int")
		want(t, conn, said, "select headers->'dmq.error' from mbus4.consume('dmq')")
		ask(t, conn, "select mbus4.add_message(jsonb_build_object('n', $1::text, 'i', $2::int))", data, i)
		ask(t, conn, "call mbus4.process_queue(1, $1)", "select ($1->>'n')::int")
		want(t, conn, said, "select last_error from mbus4.work_queue where (payload->>'i')::int = $1", i)
	}
	ask(t, conn, "select mbus4.post('q', '')")
	want(t, conn, "1", "select mbus4.run_on_q($1)", "select mbus4.post('nope', '')")
	want(t, conn, `queue "nope" does not exist`, "select headers->'dmq.error' from mbus4.consume('dmq')")
}

// Nor do the views that mbus4.create_view makes, which work in any session.
func TestForgedMarkersInViews(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	conn := connect(t, proxied(), database)
	ask(t, conn, "select mbus4.create_view('q')")
	for _, data := range forgeries {
		ask(t, conn, "insert into q_q (data) values (hstore('n', $1))", data)
		report := refusal(t, conn, "22P02", "select (data->'n')::int from q_q")
		if want := fmt.Sprintf(`invalid input syntax for type integer: "%s"`, data); report.Message != want {
			t.Errorf("got %q, want %q", report.Message, want)
		}
		ask(t, conn, "select * from q_q")
	}
	ask(t, conn, "select mbus4.drop_queue('q')")
	if report := refusal(t, conn, "42704", "insert into q_q (data) values ('')"); report.Message != `queue "q" does not exist` || report.Position != 0 {
		t.Errorf("got %+v", report)
	}
	refusal(t, conn, "42704", "select * from q_q")
}

// A notice that looks like ours, or ours of another session, stays the server's.
func TestForgedNotices(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	conn, notices := connectNotices(t, database)
	encode := func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			for bit := 7; bit >= 0; bit-- {
				b.WriteByte(" \t"[s[i]>>bit&1])
			}
		}
		return b.String()
	}
	for _, text := range []string{"m4 01000 beware", "m4 1 01000 beware", "m4 1 _session_secret_ 01000 beware", "m4 1 ABCDEFGHIJKLMNOP 01000 beware"} {
		for _, sql := range []string{"select to_tsquery('simple', $1)", "select to_tsquery('simple', $1), mbus4.post('q', '')"} {
			*notices = nil
			ask(t, conn, sql, encode(text))
			if len(*notices) != 1 || (*notices)[0].Severity != "NOTICE" || strings.Contains((*notices)[0].Message, "beware") || !strings.Contains((*notices)[0].Message, encode(text)) {
				t.Errorf("%q: got %+v", text, *notices)
			}
		}
	}
	*notices = nil
	ask(t, conn, "select mbus4.create_queue('q', 2)")
	if len(*notices) != 1 || !strings.Contains((*notices)[0].Message, `queue "q" already exists`) {
		t.Errorf("got %+v", *notices)
	}
}

// The hints that the proxy adds are for what the server says, not for what a client's code says.
func TestHintsAreNotForOthersErrors(t *testing.T) {
	t.Parallel()
	role := newRole(t) // dropped after the database, which holds grants for it
	database := newQueueDatabase(t, "q")
	conn := connect(t, proxied(), database)
	ask(t, connect(t, direct(), database), `create function raised(code text, x text) returns int language plpgsql as $$
		begin raise using errcode = code, message = x, hint = 'mine'; end $$;
		create function silent(code text, x text) returns int language plpgsql as $$ begin raise using errcode = code, message = x; end $$`)
	for _, c := range []struct{ code, message string }{
		{"42883", "function mbus4.post(unknown) does not exist"},
		{"42883", "function mbus4.at_post(text) does not exist"},
		{"3F000", `schema "mbus4" does not exist`},
		{"42501", "permission denied for table queue"},
		{"2D000", "invalid transaction termination"},
	} {
		for _, sql := range []string{"select %s($1, $2)", "select %s($1, $2), mbus4.post('q', '')", "select case when true then mbus4.post('q', '') end, %s($1, $2)"} {
			for function, hint := range map[string]string{"raised": "mine", "silent": ""} {
				report := refusal(t, conn, c.code, fmt.Sprintf(sql, function), c.code, c.message)
				if report.Hint != hint || report.Message != c.message || !strings.Contains(report.Where, "PL/pgSQL function "+function) {
					t.Errorf("%s of %s: got %+v", sql, c.message, report)
				}
			}
		}
	}
	// The client's own DO block beside a step of ours keeps its context.
	_, err := query(testContext(t), conn, "do $$ begin raise 'mine'; end $$; select mbus4.run_on_q('select 1')")
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Message != "mine" || !strings.Contains(e.Where, "inline_code_block") || e.Position != 0 {
		t.Errorf("got %+v", err)
	}
	// A table of the client's own that is named as one of ours.
	ask(t, connect(t, direct(), database), "create table public.queue (x text); grant mbus4_user to "+role)
	report := refusal(t, connectAs(t, proxied(), database, role), "42501", "insert into queue select mbus4.post('q', '')")
	if report.Hint != "" {
		t.Errorf("got %+v", report)
	}
}
