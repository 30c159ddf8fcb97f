package statements

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// unqualifiedProxy starts a proxy with --unqualified for a test.
func unqualifiedProxy(t *testing.T, names string) harness.Endpoint {
	t.Helper()
	return harness.NewProxy(t, "--unqualified", names).Endpoint
}

// withoutSchema are the calls of a text without their schema.
func withoutSchema(sql string) string { return qualifiedCall.ReplaceAllString(sql, "$1") }

var qualifiedCall = regexp.MustCompile(`\bmbus4\.(\w+\s*\()`)

// forEachUnqualifiedForm is forms.ForEach with a proxy that serves names without the schema, and mbus4 in the
// path.
func forEachUnqualifiedForm(t *testing.T, names string, queues []string, test func(t *testing.T, s *forms.Session)) {
	e := unqualifiedProxy(t, names)
	for _, f := range forms.All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, queues...)
			conn := harness.Connect(t, e, database)
			harness.Ask(t, conn, "set search_path to mbus4, public")
			test(t, &forms.Session{Form: f, Conn: conn, Database: database})
		})
	}
}

// Every place in which a call with the schema is served serves one without.
func TestUnqualifiedPlaces(t *testing.T) {
	t.Parallel()
	forEachUnqualifiedForm(t, "all", []string{"a", "b"}, func(t *testing.T, s *forms.Session) {
		harness.Ask(t, s.Conn, "set search_path to public")
		makeTables(t, s)
		harness.Ask(t, s.Conn, "create table u (id int primary key, k text)")
		harness.Ask(t, s.Conn, "set search_path to mbus4, public")
		for _, places := range [][]place{inFrom, inTargets, inOtherPlaces, inRarerPlaces, inConditions, inChanges, inClauses, besideSets, inSubqueries} {
			for _, p := range places {
				harness.Ask(t, s.Conn, `drop table if exists made; truncate t, u;
					insert into t values (1, null), (2, 'k'), (3, null); insert into u values (1, 'old')`)
				fill(t, s)
				p.sql = withoutSchema(p.sql)
				s.Want(t, p.rows, p.sql, p.args...)
				p.wantQueues(t, s)
			}
		}
	})
}

// Every function of the catalogue, also those that take a statement of their own, and what may be called
// without arguments.
func TestUnqualifiedFunctions(t *testing.T) {
	t.Parallel()
	forEachUnqualifiedForm(t, "all", nil, func(t *testing.T, s *forms.Session) {
		for _, c := range []struct{ sql, rows string }{
			{"select create_queue('q', 2)", ""},
			{"select create_consumer('q', 'c', '(t.properties->''k'')=''1''')", ""},
			{"select post('q', 'n=>1', properties => 'k=>1', iid => 'i1')", "i1"},
			{"select post_q('n=>2', iid => 'i2')", "i2"},
			{"select peek_q(), is_msg_exists('i2'), (peek('i1')).iid", "t|t|i1"},
			{"select iid from consume_q_by_c()", "i1"},
			{"select iid from consume_q_by_c()", ""},
			{"select iid from consumen_q_by_default(5)", "i1\ni2"},
			{"select post_q('n=>3', iid => 'i3')", "i3"},
			{"select (take_from_q_by_default('i3')).iid", "i3"},
			{"select generate_new_msgiid('q') like 'q.%', get_iid('q') like 'q.%'", "t|t"},
			{"select create_trigger('q', 'q')", "!42P17"},
			{"select post_q('n=>4', iid => 'i4')", "i4"},
			{"select iid from dyn_consume('q', '(t.data->''n'')=''4''')", "i4"},
			{"select post_q('n=>5', iid => 'i5')", "i5"},
			{"create table if not exists public.ran (n text)", ""},
			{"select run_on_q('insert into public.ran values ($1.data->''n'')')", "1"},
			{"select run_q('insert into public.ran values (1)')", "0"},
			{"select n from public.ran", "5"},
			{"select create_temporary_queue() like 'temp.%'", "t"},
			{"select clear_tempq()", ""},
			{"select length(readme()) > 100", "t"},
			{"select regenerate_functions()", ""},
			{"select create_run_function('q')", ""},
			{"select estimated_messages('q') >= 0", "t"},
			{"select create_view('q', 'default', 'public.v')", ""},
			{"insert into public.v values ('n=>6')", ""},
			{"select clear_queue_q()", ""},
			{"select add_message('{}') is not null", "t"},
			{"select count(*) from work_queue", "1"},
			{"select (get_next_message(7)).payload", "{}"},
			{"select release_messages(7) >= 0", "t"},
			{"select active from semaphore_get_or_create('s')", "1000"},
			{"select drop_consumer('q', 'c')", ""},
			{"select drop_queue('q')", ""},
			{"call process_queue(1)", ""},
			{"select count(*) from work_queue", "0"},
			{"select process_queue(1)", "!42809"},
			{"call post('q', 'n=>1')", "!42809"},
			{"select post('q', 'n=>1')", "!42704"},
		} {
			if code, fails := strings.CutPrefix(c.rows, "!"); fails {
				s.Refused(t, code, c.sql)
				continue
			}
			s.Want(t, c.rows, c.sql)
		}
	})
}

// decision is a statement whose names without a schema mean ours or not.
type decision struct {
	name  string
	setup string // in the session, each line a Query
	sql   string
	// rows are what the statement returns, or "!" and an SQLSTATE. For what is the client's own, the server
	// must have got the client's very text, which functions of the tests return as "theirs".
	rows string
}

// theirs makes a function that says whether the server got the client's text as it is.
func theirs(signature string) string {
	return "create function " + signature + " returns text language sql as $$ select case when current_query() like 'select%' and current_query() not like '%mbus4%' " +
		"then 'theirs' else current_query() end $$"
}

var decisions = []decision{
	{name: "nothing else", sql: "select post('q', 'a=>1', iid => 'i')", rows: "i"},
	{name: "behind ours in the path", setup: theirs("app.post(text, hstore)"), sql: "select post('q', 'a=>1')", rows: "theirs"},
	{name: "before ours in the path", setup: theirs("app.post(text, hstore)") + "; set search_path to app, mbus4, public", sql: "select post('q', 'a=>1')", rows: "theirs"},
	{name: "not in the path", setup: "create schema apart; " + theirs("apart.post(text, hstore)"), sql: "select post('q', 'a=>1', iid => 'i')", rows: "i"},
	{name: "other number of arguments", setup: theirs("app.post(int)"), sql: "select post('q', 'a=>1'::hstore, iid => 'i')", rows: "i"},
	{name: "their number of arguments", setup: theirs("app.post(int)"), sql: "select post(1)", rows: "theirs"},
	{name: "more arguments with defaults", setup: theirs("app.post(text, text, int default 1, int default 2)"), sql: "select post('q', 'a=>1')", rows: "theirs"},
	{name: "too few defaults", setup: theirs("app.post(text, text, int, int default 2)"), sql: "select post('q', 'a=>1') is not null", rows: "t"},
	{name: "variadic", setup: theirs("app.post(variadic text[])"), sql: "select post('q', 'a=>1')", rows: "theirs"},
	{name: "other names", setup: theirs("app.post(x text, y text)"), sql: "select post(qname => 'q', data => 'a=>1', iid => 'i')", rows: "i"},
	{name: "same names", setup: theirs("app.post(qname text, data text)"), sql: "select post(data => 'a=>1', qname => 'q')", rows: "theirs"},
	{name: "other types", setup: theirs("app.post(int, int)"), sql: "select post('q'::text, 'a=>1'::hstore)", rows: "!42883"},
	{name: "polymorphic", setup: theirs("app.take(anyelement)"), sql: "select take('x'::text)", rows: "theirs"},
	{name: "aggregate", setup: "create aggregate app.take(text) (sfunc = textcat, stype = text, initcond = '')", sql: "select take(x) from (values ('a'), ('b')) v(x)", rows: "ab"},
	{name: "window function", setup: "create function app.get_iid() returns bigint language internal window as 'window_row_number'", sql: "select get_iid() over () from (values (1), (2)) v", rows: "1\n2"},
	{name: "window function in vain", setup: "create function app.get_iid(text) returns bigint language internal window as 'window_row_number'", sql: "select get_iid('q')", rows: "!42809"},
	{name: "procedure called", setup: "create procedure app.post(text, hstore) language sql as 'select 1'", sql: "call post('q', 'a=>1')", rows: ""},
	{name: "procedure selected", setup: "create procedure app.post(text, hstore) language sql as 'select 1'", sql: "select post('q', 'a=>1')", rows: "!42809"},
	{name: "procedure of our procedure's name", setup: "create procedure app.process_queue(int) language sql as 'select 1'", sql: "call process_queue(1)", rows: ""},
	{name: "in pg_temp", setup: theirs("pg_temp.post(text, hstore)"), sql: "select post('q', 'a=>1', iid => 'i')", rows: "i"},
	{name: "in pg_temp in the path", setup: theirs("pg_temp.post(text, hstore)") + "; set search_path to pg_temp, mbus4, public", sql: "select post('q', 'a=>1', iid => 'i')", rows: "i"},
	{name: "domain as a cast", setup: "create domain app.take as text", sql: "select take('x')", rows: "x"},
	{name: "domain in pg_temp", setup: "create domain pg_temp.take as text", sql: "select (take('x')).iid", rows: "∅"},
	{name: "row type", setup: "create table app.take (x int)", sql: "select (take('x')).iid", rows: "∅"},
	{name: "column of a row", setup: "create table app.r (take text); insert into app.r values ('of r')", sql: "select take(r) from app.r", rows: "!42883"},
	{name: "column that is no row", setup: "create table app.r (take text); insert into app.r values ('of r')", sql: "select (take(r.take)).iid from app.r", rows: "∅"},
	{name: "not our schema", setup: "create schema apart; " + theirs("apart.post(text, hstore)"), sql: "select apart.post('q', 'a=>1')", rows: "theirs"},
	{name: "mbus4 not in the path", setup: "set search_path to public", sql: "select post('q', 'a=>1')", rows: "!42883"},
	{name: "no right to mbus4", setup: "set role it_unqualified", sql: "select post('q', 'a=>1')", rows: "!42883"},
	{name: "path set for a transaction", setup: "set search_path to public; begin; set local search_path to mbus4, app, public", sql: "select post('q', 'a=>1', iid => 'i')", rows: "i"},
	{name: "path set back", setup: "set search_path to app, public\nbegin; set search_path to mbus4, app, public; rollback", sql: "select post('q', 'a=>1')", rows: "!42883"},
	{name: "path set by a function", setup: "set search_path to public; select set_config('search_path', 'mbus4, app, public', false)", sql: "select post('q', 'a=>1', iid => 'i')", rows: "i"},
	{name: "created in the transaction", setup: "begin; " + theirs("app.post(text, hstore)"), sql: "select post('q', 'a=>1')", rows: "theirs"},
	{name: "created and undone", setup: "begin; savepoint s; " + theirs("app.post(text, hstore)") + "; rollback to s", sql: "select post('q', 'a=>1', iid => 'i')", rows: "i"},
	{name: "dropped in the transaction", setup: theirs("app.post(text, hstore)") + "; begin; drop function app.post", sql: "select post('q', 'a=>1', iid => 'i')", rows: "i"},
	{name: "two of which one is theirs", setup: "create function app.peek_q(text, text) returns text language sql as $$ select 'theirs ' || $1 $$", sql: "select peek_q('a', 'b'), peek_q('a'), post('q', 'a=>1', iid => 'i')", rows: "theirs a|f|i"},
	{name: "one of several names", setup: theirs("app.peek_q()"), sql: "select peek_q() is null, post('q', 'a=>1', iid => 'i')", rows: "f|i"},
	{name: "quoted in lower case", sql: `select "post"('q', 'a=>1', iid => 'i')`, rows: "i"},
	{name: "in capitals", sql: `select POST ('q', 'a=>1', iid => 'i')`, rows: "i"},
	{name: "quoted in capitals", sql: `select "POST"('q', 'a=>1')`, rows: "!42883"},
	{name: "with a comment between", sql: "select post/**/('q', 'a=>1', iid => 'i')", rows: "i"},
	{name: "with a line comment between", sql: "select post -- it\n ('q', 'a=>1', iid => 'i')", rows: "i"},
	{name: "arguments that fit none", sql: "select post('q')", rows: "!42883"},
	{name: "stored", sql: "create view app.v as select post('q', 'a=>1')", rows: "!42883"},
	{name: "in a DO block", sql: "do $$ begin perform post('q', 'a=>1'); end $$", rows: "!42883"},
	{name: "failed transaction", setup: "begin; do $$ begin perform 1/0; exception when others then null; end $$; savepoint s", sql: "select post('nowhere', 'a=>1')", rows: "!42704"},
	{name: "repeatable read", setup: "begin isolation level repeatable read; select 1", sql: "select post('q', 'a=>1', iid => 'i')", rows: "i"},
	{name: "read only", setup: "begin read only", sql: "select (peek('x')).iid, post_q is null from (values (null)) v(post_q)", rows: "∅|t"},
}

// What Postgres itself finds under a name is the client's and goes through as it is; what it does not find
// is ours.
func TestUnqualifiedDecisions(t *testing.T) {
	t.Parallel()
	harness.Admin(t, "do $$ begin create role it_unqualified; exception when duplicate_object then null; end $$")
	e := unqualifiedProxy(t, "all")
	for _, f := range forms.All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q")
			for _, d := range decisions {
				if f.Name == "extended" && strings.HasPrefix(d.name, "in a DO") {
					continue // the text is the same
				}
				s := &forms.Session{Form: f, Conn: harness.Connect(t, e, database), Database: database}
				harness.Ask(t, s.Conn, "drop schema if exists apart cascade; drop schema if exists app cascade; create schema app; set search_path to mbus4, app, public; set client_min_messages to error")
				for _, setup := range strings.Split(d.setup, "\n") {
					harness.Ask(t, s.Conn, setup)
				}
				d.check(t, s)
				harness.Ask(t, s.Conn, "rollback; reset role; select from mbus4.consumen('q', amt => 9)")
			}
		})
	}
}

func (d decision) check(t *testing.T, s *forms.Session) {
	t.Helper()
	got, err := s.Form.Run(harness.Context(t), s.Conn, forms.Do(d.sql))
	var report *pgconn.PgError
	switch code, fails := strings.CutPrefix(d.rows, "!"); {
	case fails && (!errors.As(err, &report) || report.Code != code):
		t.Errorf("%s: %s: got %q %s, want %s", d.name, d.sql, got, harness.Describe(err), code)
	case fails:
	case err != nil || got != d.rows:
		t.Errorf("%s: %s: got %q %s, want %q", d.name, d.sql, got, harness.Describe(err), d.rows)
	}
}
