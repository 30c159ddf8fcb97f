package security

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
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
	for _, f := range forms.All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			s := &forms.Session{Form: f, Database: harness.NewQueueDatabase(t, "q")}
			s.Conn = harness.Connect(t, harness.Proxied(), s.Database)
			harness.Ask(t, harness.Connect(t, harness.Direct(), s.Database), `create function casts(x text) returns int language sql volatile as 'select $1::int';
				create function caught(x text) returns int language plpgsql as $$ begin return x::int; end $$;
				create function raised(code text, x text) returns int language plpgsql as $$ begin raise using errcode = code, message = x; end $$`)
			harness.Ask(t, s.Conn, "prepare forged(text) as select $1::int; prepare ours(text) as select mbus4.post('nope', ''), $1")
			for _, data := range forgeries {
				harness.Ask(t, s.Conn, fmt.Sprintf("select mbus4.post('q', hstore('n', '%s'))", data))
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
				harness.Ask(t, s.Conn, "select count(*) from mbus4.consumen('q', amt => 9)") // an error takes nothing
				// RAISE chooses the words and the SQLSTATE, so it may say what the server says of a marker.
				said := fmt.Sprintf(`invalid input syntax for type integer: "%s"`, data)
				wantUntouched(t, s, "select raised('22P02', '"+said+"'), mbus4.post('q', '')", "22P02", said)
			}
			s.Refused(t, "42704", "execute ours('x')")
			s.Refused(t, "42704", "select mbus4.post('nope', '')")
			s.Refused(t, "42704", "select case when true then mbus4.post('nope', '') end")
			s.Refused(t, "42704", "select mbus4.estimated_messages('nope')")
			s.Refused(t, "42704", "select mbus4.create_run_function('nope')")
			s.Refused(t, "42704", "select mbus4.create_temporary_consumer('nope')")
		})
	}
}

func wantUntouched(t *testing.T, s *forms.Session, sql, code, message string) {
	t.Helper()
	_, err := s.Form.Run(harness.Context(t), s.Conn, forms.Do(sql))
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != code || e.Message != message || e.File == "" || e.Hint != "" {
		t.Errorf("%s: got %+v", sql, err)
	}
}

// The secret that makes a marker is worth nothing in another session.
func TestSecretsOfSessions(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	secret := regexp.MustCompile(`'1 ([A-Z0-9]{16})'`)
	var secrets []string
	conns := []*pgconn.PgConn{harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)}
	for _, conn := range conns {
		found := secret.FindStringSubmatch(harness.Ask(t, conn, "select mbus4.post('q', ''), current_query()"))
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
			harness.Refused(t, conn, "22P02", fmt.Sprintf(sql, secrets[1-i]))
		}
		if again := secret.FindStringSubmatch(harness.Ask(t, conn, "select mbus4.post('q', 'n=>2'), current_query()")); again[1] != secrets[i] {
			t.Errorf("the secret %s became %s", secrets[i], again[1])
		}
	}
}

// Handlers' errors are noted as they are, too.
func TestForgedMarkersInHandlers(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	for i, data := range forgeries {
		said := fmt.Sprintf(`invalid input syntax for type integer: "%s"`, data)
		harness.Ask(t, conn, "select mbus4.post('q', hstore('n', $1))", data)
		harness.Want(t, conn, "0", "select mbus4.run_on_q($1)", "select (($1).data->'n')::int")
		harness.Want(t, conn, said, "select headers->'dmq.error' from mbus4.consume('dmq')")
		harness.Ask(t, conn, "select mbus4.add_message(jsonb_build_object('n', $1::text, 'i', $2::int))", data, i)
		harness.Ask(t, conn, "call mbus4.process_queue(1, $1)", "select ($1->>'n')::int")
		harness.Want(t, conn, said, "select last_error from mbus4.work_queue where (payload->>'i')::int = $1", i)
	}
	harness.Ask(t, conn, "select mbus4.post('q', '')")
	harness.Want(t, conn, "0", "select mbus4.run_on_q($1)", "select mbus4.post('nope', '')")
	harness.Want(t, conn, `queue "nope" does not exist`, "select headers->'dmq.error' from mbus4.consume('dmq')")
}

// Nor do the views that mbus4.create_view makes, which work in any session.
func TestForgedMarkersInViews(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.create_view('q')")
	for _, data := range forgeries {
		harness.Ask(t, conn, "insert into q_q (data) values (hstore('n', $1))", data)
		report := harness.Refusal(t, conn, "22P02", "select (data->'n')::int from q_q")
		if want := fmt.Sprintf(`invalid input syntax for type integer: "%s"`, data); report.Message != want {
			t.Errorf("got %q, want %q", report.Message, want)
		}
		harness.Ask(t, conn, "select * from q_q")
	}
	harness.Ask(t, conn, "select mbus4.drop_queue('q')")
	if report := harness.Refusal(t, conn, "42704", "insert into q_q (data) values ('')"); report.Message != `queue "q" does not exist` || report.Position != 0 {
		t.Errorf("got %+v", report)
	}
	harness.Refused(t, conn, "42704", "select * from q_q")
}

// A notice that looks like ours, or ours of another session, stays the server's.
func TestForgedNotices(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn, notices := harness.ConnectNotices(t, database)
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
			harness.Ask(t, conn, sql, encode(text))
			if len(*notices) != 1 || (*notices)[0].Severity != "NOTICE" || strings.Contains((*notices)[0].Message, "beware") || !strings.Contains((*notices)[0].Message, encode(text)) {
				t.Errorf("%q: got %+v", text, *notices)
			}
		}
	}
	*notices = nil
	harness.Ask(t, conn, "select mbus4.create_queue('q', 2)")
	if len(*notices) != 1 || !strings.Contains((*notices)[0].Message, `queue "q" already exists`) {
		t.Errorf("got %+v", *notices)
	}
}

// The hints that the proxy adds are for what the server says, not for what a client's code says.
func TestHintsAreNotForOthersErrors(t *testing.T) {
	t.Parallel()
	role := harness.NewRole(t) // dropped after the database, which holds grants for it
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, harness.Connect(t, harness.Direct(), database), `create function raised(code text, x text) returns int language plpgsql as $$
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
				report := harness.Refusal(t, conn, c.code, fmt.Sprintf(sql, function), c.code, c.message)
				if report.Hint != hint || report.Message != c.message || !strings.Contains(report.Where, "PL/pgSQL function "+function) {
					t.Errorf("%s of %s: got %+v", sql, c.message, report)
				}
			}
		}
	}
	// The client's own DO block beside a step of ours keeps its context.
	_, err := harness.Query(harness.Context(t), conn, "do $$ begin raise 'mine'; end $$; select mbus4.run_on_q('select 1')")
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Message != "mine" || !strings.Contains(e.Where, "inline_code_block") || e.Position != 0 {
		t.Errorf("got %+v", err)
	}
	// A table of the client's own that is named as one of ours.
	harness.Ask(t, harness.Connect(t, harness.Direct(), database), "create table public.queue (x text); grant mbus4_user to "+role)
	report := harness.Refusal(t, harness.ConnectAs(t, harness.Proxied(), database, role), "42501", "insert into queue select mbus4.post('q', '')")
	if report.Hint != "" {
		t.Errorf("got %+v", report)
	}
}
