package calls

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// wrong is a statement that fails, and what its report holds.
type wrong struct {
	sql     string
	args    []any
	code    string // several where versions of the server differ
	message string
	hint    string // "" for none
}

// inTransactions runs the statements in every form, each in a transaction of its own in which setup ran before.
func inTransactions(t *testing.T, queues []string, setup string, cases []wrong) {
	t.Helper()
	forms.ForEach(t, queues, func(t *testing.T, s *forms.Session) {
		for _, c := range cases {
			harness.Ask(t, s.Conn, "begin;"+setup)
			got, err := s.Form.Run(harness.Context(t), s.Conn, forms.Do(c.sql, c.args...))
			var report *pgconn.PgError
			switch {
			case !errors.As(err, &report):
				t.Errorf("%s %v: got %q, %v; want %s", c.sql, c.args, got, err, c.message)
			case !strings.Contains(c.code, report.Code), !strings.Contains(report.Message, c.message), !strings.Contains(report.Hint, c.hint), c.hint == "" && report.Hint != "":
				t.Errorf("%s %v: %s\nwant %s %s, hint %q", c.sql, c.args, harness.Describe(err), c.code, c.message, c.hint)
			}
			harness.Ask(t, s.Conn, "rollback")
		}
	})
}

// in is a case without arguments.
func in(code, message, hint, sql string, args ...any) wrong {
	return wrong{sql: sql, args: args, code: code, message: message, hint: hint}
}

const (
	json  = "looks like JSON"
	pairs = "write 'a=>1, b=>2' or hstore('a', '1')"
	none  = "JSON is none"

	noHstore = "42601 or, up to 15, XX000"
)

// JSON, or nothing that is a hstore at all, where a hstore belongs. A literal is looked at; of a
// parameter only the server knows the value.
func TestErrorsOfJSON(t *testing.T) {
	t.Parallel()
	inTransactions(t, []string{"q"}, "create table j (t text, d jsonb); insert into j values ('{\"a\": 1}', '{\"a\": 1}');"+
		"create function read(text) returns hstore language plpgsql as 'begin return $1::hstore; end';", []wrong{
		in(noHstore, "", json, `select mbus4.post('q', '{"a":1}')`),
		in(noHstore, "", json, `select mbus4.post('q', '{"a": 1, "b": [2]}')`),
		in(noHstore, "", json, `select mbus4.post('q', E' \n[ "a" ]')`),
		in(noHstore, "", json, `select mbus4.post('q', $j${"a": 1}$j$::hstore)`),
		in(noHstore, "", json, `select mbus4.post_q('a=>1', headers => '{"a": 1}')`),
		in(noHstore, "", pairs, `select mbus4.post('q', 'hello')`),
		in(noHstore, "", json, `with m as (select mbus4.post('q', '{"a": 1}')) table m`),
		in(noHstore, "", none, `select mbus4.post('q', t::hstore) from j`),
		in("42883", "mbus4.post does not exist with these arguments", "jsonb_each_text", `select mbus4.post('q', '{"a": 1}'::jsonb)`),
		in("42883", "mbus4.post does not exist with these arguments", "jsonb_each_text", `select mbus4.post('q', d) from j`),
		in("42846", "cannot cast type jsonb to hstore", "jsonb_each_text", `select mbus4.post('q', '{"a": 1}'::jsonb::hstore)`),
		in("42883", "function hstore(jsonb) does not exist", "jsonb_each_text", `select mbus4.post('q', hstore('{"a": 1}'::jsonb))`),
		in("42883", "function hstore(jsonb) does not exist", "No function matches", `select hstore('{"a": 1}'::jsonb), mbus4.post('q', '')`),
		in(noHstore, "", "", `select mbus4.post('q', read('{"a": 1}'))`),
		in(noHstore, "", "", `select mbus4.post('q', ''), read('{"a": 1}')`),
	})
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	for _, f := range forms.All()[1:] {
		_, err := f.Run(harness.Context(t), conn, forms.Do("select mbus4.post($1, $2)", "q", `{"a": 1}`))
		var report *pgconn.PgError
		if !errors.As(err, &report) || !strings.Contains(report.Hint, none) {
			t.Errorf("%s: %s; want a hint about JSON", f.Name, harness.Describe(err))
		}
	}
	// Without a call it is not our business.
	if report := harness.Refusal(t, conn, serverCode(t, conn, `select '{"a": 1}'::hstore`), `select '{"a": 1}'::hstore`); report.Hint != "" {
		t.Errorf("without a call: hint %q", report.Hint)
	}
	harness.Refused(t, conn, serverCode(t, conn, `select 'x'::hstore`), `select 'x'::hstore, mbus4.post('q', '')`)
}

// serverCode is the SQLSTATE that a statement fails with.
func serverCode(t *testing.T, conn *pgconn.PgConn, sql string) string {
	t.Helper()
	_, err := harness.Query(harness.Context(t), conn, sql)
	return harness.SQLState(err)
}

// What the hints about JSON tell to write works.
func TestErrorsOfJSONWaysOut(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		for _, c := range []struct {
			data, want string
			args       []any
		}{
			{"'a=>1, b=>2'", `"a"=>"1", "b"=>"2"`, nil},
			{"hstore('a', '1')", `"a"=>"1"`, nil},
			{"hstore('json', $1)", `"json"=>"{\"a\": [1, 2]}"`, []any{`{"a": [1, 2]}`}},
			{"(select hstore(array_agg(key), array_agg(value)) from jsonb_each_text($1))", `"a"=>"[1, 2]", "b"=>"x"`, []any{`{"a": [1, 2], "b": "x"}`}},
			{`(select hstore(array_agg(key), array_agg(value)) from jsonb_each_text('{"a": 1}'))`, `"a"=>"1"`, nil},
		} {
			s.Want(t, "t", "select mbus4.post('q', "+c.data+") is not null", c.args...)
			s.Want(t, c.want, "select data from mbus4.consume('q')")
		}
	})
}

// Queues, consumers and triggers that are not there.
func TestErrorsOfMissing(t *testing.T) {
	t.Parallel()
	inTransactions(t, []string{"q"}, "", []wrong{
		in("42704", `queue "nix" does not exist`, "Create it with mbus4.create_queue(", "select mbus4.post('nix', 'a=>1')"),
		in("42704", `queue "nix" does not exist`, "Create it with mbus4.create_queue(", "select mbus4.post('nix', 'a=>1', iid => 'x')"),
		in("42704", `queue "nix" does not exist`, "Create it with mbus4.create_queue(", "select * from mbus4.consume('nix')"),
		in("42704", `queue "nix" does not exist`, "Create it with mbus4.create_queue(", "select mbus4.create_consumer('nix', 'c')"),
		in("42704", `queue "nix" does not exist`, "Create it with mbus4.create_queue(", "select mbus4.estimated_messages('nix')"),
		in("42704", `queue "nix" does not exist`, "Create it with mbus4.create_queue(", "select mbus4.create_view('nix')"),
		in("42704", `queue "nix" does not exist`, "Create it with mbus4.create_queue(", "select mbus4.create_temporary_consumer('nix')"),
		in("42704", `queue "message" does not exist`, "<q> in mbus4.post_<q>", "select mbus4.post_message('a=>1')"),
		in("42704", `queue "nix" does not exist`, "<q> in mbus4.peek_<q>", "select mbus4.peek_nix()"),
		in("42704", `queue "nix" does not exist`, "<q> in mbus4.clear_queue_<q>", "select mbus4.clear_queue_nix()"),
		in("42704", `queue "nix" does not exist`, "select * from mbus4.queue lists", "select mbus4.drop_queue('nix')"),
		in("42704", `queue "nix" does not exist`, "select * from mbus4.queue lists", "select mbus4.drop_consumer('nix', 'c')"),
		in("42704", `queue null does not exist`, "given as null", "select mbus4.post(null, 'a=>1')"),
		in("42704", `queue "temp.x" does not exist`, "session that created it has ended", "select mbus4.consume('temp.x')"),
		in("42704", `queue "q" has no consumer "nix"`, "Create it with mbus4.create_consumer(", "select mbus4.consume('q', 'nix')"),
		in("42704", `queue "q" has no consumer "nix"`, "Create it with mbus4.create_consumer(", "select mbus4.consume_q_by_nix()"),
		in("42704", `queue "q" has no consumer "nix"`, "Create it with mbus4.create_consumer(", "select mbus4.create_view('q', 'nix')"),
		in("42704", `queue "q" has no consumer "nix"`, "select * from mbus4.consumer lists", "select mbus4.drop_consumer('q', 'nix')"),
		in("42704", `semaphore "nix" does not exist`, "mbus4.semaphore_get_or_create(key)", "select mbus4.semaphore_update('nix', 1, 1)"),
	})
}

// The forms that hints about missing things show.
func TestErrorsOfMissingWaysOut(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "t", "select count(*) >= 2 from (select * from mbus4.queue) l")
		s.Want(t, "t", "select count(*) >= 2 from (select * from mbus4.consumer) l")
		s.Want(t, "t", "select mbus4.readme() like '%mbus4.post%'")
	})
}

// A number where the consumer belongs.
func TestErrorsOfAmounts(t *testing.T) {
	t.Parallel()
	const form = "The second argument is the consumer. For 5 messages write mbus4.consumen(qname, amt => 5)."
	inTransactions(t, []string{"q"}, "create table n (n int); insert into n values (5);", []wrong{
		in("42883", "mbus4.consumen(unknown, integer) does not exist", form, "select mbus4.consumen('q', 5)"),
		in("42883", "mbus4.consume(unknown, integer) does not exist", form, "select * from mbus4.consume('q', 5)"),
		in("42704", `queue "q" has no consumer "5"`, form, "select mbus4.consumen('q', $1)", "5"),
		in("42704", `queue "q" has no consumer "5"`, form, "select * from mbus4.consume('q', $1)", "5"),
		in("42704", `queue "q" has no consumer "5"`, form, "select * from mbus4.consumen('q', 5::int)"),
		in("42704", `queue "q" has no consumer "5"`, form, "select (mbus4.consumen('q', n)).iid from n"),
		in("42704", `queue "q" has no consumer "5"`, "Create it with", "select mbus4.consumen_q_by_5(1)"),
	})
}

// Headers that must be arrays.
func TestErrorsOfHeaders(t *testing.T) {
	t.Parallel()
	const braces = "hstore('consume_after', '{iid1,iid2}')"
	inTransactions(t, []string{"q"}, "create table h (h hstore); insert into h values ('consume_after=>parent');", []wrong{
		in("22P02", "the header consume_after is not an array: parent", braces, "select mbus4.post('q', 'a=>1', 'consume_after=>parent')"),
		in("22P02", "the header consume_after is not an array: parent", braces, "select mbus4.post('q', 'a=>1', $1)", "consume_after=>parent"),
		in("22P02", "the header consume_after is not an array: parent", braces, "select mbus4.post('q', 'a=>1', h) from h"),
		in("22P02", "the header consume_after is not an array: parent", braces, "select 1 from h where mbus4.post('q', 'a=>1', h) is null"),
		in("22P02", "the header seenby is not an array: here", "hstore('seenby', '{db1,db2}')", "select mbus4.post('q', 'a=>1', 'seenby=>here')"),
		in("22P02", "malformed array literal", braces, `select mbus4.post('q', 'a=>1', 'consume_after=>"{a"')`),
		in("22P02", "invalid input syntax for type boolean", "'Redeploy=>true'", "select mbus4.post('q', 'a=>1', 'Redeploy=>perhaps')"),
		in("22P02", "malformed array literal", braces, "select mbus4.post('q', 'a=>1', $1)", `consume_after=>"{a"`),
	})
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "a", "select mbus4.post('q', '', iid => 'a')")
		s.Want(t, "b", "select mbus4.post('q', '', hstore('consume_after', '{a,b}'), iid => 'b')")
		s.Want(t, "c", "select mbus4.post('q', '', hstore('consume_after', array[$1]::text), iid => 'c')", "b")
		s.Want(t, "d", "select mbus4.post('q', '', 'consume_after=>\" {b}\"', iid => 'd')")
		s.Want(t, "e", "select mbus4.post('q', '', 'consume_after=>NULL', iid => 'e')")
		s.Want(t, "a,e", "select string_agg(iid, ',') from mbus4.consumen('q', amt => 9)")
	})
}

// Two calls of one statement that change the same row; a column that other selectors have.
func TestErrorsOfTwoCalls(t *testing.T) {
	t.Parallel()
	const way = "Send each in a statement of its own."
	inTransactions(t, []string{"q"}, "select mbus4.semaphore_get_or_create('s'); select mbus4.post('q', '', iid => 'm')", []wrong{
		in("27000", "already modified", way, "select mbus4.purge_queue('q'), mbus4.take('m')"),
		in("42703", "payload", "mbus4.payload(t)", "select * from mbus4.dyn_consume('q', $$ t.payload->>'n' = '1' $$)"),
		in("21000", "a second time", way, "select mbus4.semaphore_enqueue('s', 1, 1), mbus4.semaphore_enqueue('s', 1, 2)"),
	})
}

// Spans of time where points in time belong.
func TestErrorsOfTimes(t *testing.T) {
	t.Parallel()
	const form = "now() + interval '1 hour'"
	inTransactions(t, []string{"q"}, "", []wrong{
		in("22007", "invalid input syntax for type timestamp", form, "select mbus4.post('q', 'a=>1', delayed_until => '1 hour')"),
		in("22008", "out of range", "Perhaps you need", "select mbus4.post('q', 'a=>1', expires => '2030-13-31')"),
		in("22007", "invalid input syntax for type date", "", "select mbus4.post('q', hstore('on', 'x'::date::text))"),
		in("42883", "mbus4.post does not exist with these arguments", form, "select mbus4.post('q', 'a=>1', delayed_until => interval '1 hour')"),
	})
	conn := harness.Connect(t, harness.Proxied(), harness.NewQueueDatabase(t, "q"))
	if report := harness.Refusal(t, conn, "22007", "select mbus4.post($1, '', delayed_until => $2)", "q", "1 hour"); !strings.Contains(report.Hint, form) {
		t.Errorf("as a parameter: hint %q", report.Hint)
	}
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "t", "select mbus4.post('q', '', delayed_until => now() + interval '1 hour', expires => '2230-12-31 23:59') is not null")
	})
}

// Functions there are not.
func TestErrorsOfUnknownFunctions(t *testing.T) {
	t.Parallel()
	inTransactions(t, []string{"q"}, "", []wrong{
		in("42883", "mbus4.send(", "mbus4.post(qname, data)", "select mbus4.send('q', 'hello')"),
		in("42883", "mbus4.purge(", "mbus4.purge_queue(qname)", "select mbus4.purge('q')"),
		in("42883", "mbus4.purge(", "mbus4.purge_queue(qname)", "call mbus4.purge('q')"),
		in("42883", "mbus4.purge(", "mbus4.purge_queue(qname)", "select mbus4.post('q', ''), mbus4.purge('q')"),
		in("42883", "mbus4.list_queues(", "select * from mbus4.queue", "select * from mbus4.list_queues()"),
		in("42883", "mbus4.consume_dd(", "mbus4.consume_dd_by_default or mbus4.consume('dd')", "select * from mbus4.consume_dd()"),
		in("42883", "mbus4.pots_q(", "mbus4.post_q(data hstore", "select mbus4.pots_q('a=>1')"),
		in("42883", "mbus4.nosuch(", "mbus4.readme()", `select "mbus4"."nosuch"(1)`),
		in("42883", "mbus4.run_on(unknown, unknown) does not exist", "<q> in mbus4.run_<q>", "select mbus4.run_on('q', 'select 1')"),
		in("42883", "mbus4.create_queue(unknown) does not exist", "mbus4.create_queue(qname, 1)", "select mbus4.create_queue('r')"),
		in("42883", "mbus4.consume(unknown, amt => integer) does not exist", "mbus4.consumen(qname, amt => 10)", "select mbus4.consume('q', amt => 5)"),
		in("42883", "mbus4.consume(unknown, unknown, integer) does not exist", "mbus4.consumen(qname, amt => 10)", "select mbus4.consume('q', 'default', 5)"),
		in("42P01", `relation "mbus4.q" does not exist`, "A queue is no table", "select * from mbus4.q"),
		in("42P01", `relation "q" does not exist`, "", "select * from q"),
		in("42883", "nosuch(", "No function matches", "select nosuch(1)"),
		in("42883", "other", "No function matches", `select "other.send"(1)`),
	})
	// The first statement that names the schema may be such a one. Then it is there.
	conn := harness.Connect(t, harness.Proxied(), harness.NewDatabase(t))
	if report := harness.Refusal(t, conn, "42883", "select mbus4.send('q')"); !strings.Contains(report.Hint, "mbus4.post") {
		t.Errorf("in a new database: hint %q", report.Hint)
	}
}

// Calls that the proxy does not see, since they stand in code: the server says so when the code is
// made or when it runs.
func TestErrorsOfBodies(t *testing.T) {
	t.Parallel()
	const (
		why   = "not inside functions, procedures, triggers, rules and DO blocks. Send the call as a statement of its own"
		posts = "insert into a view that mbus4.create_view(qname) makes"
		reads = "select from a view that mbus4.create_view(qname) makes"
	)
	plain := "set local check_function_bodies = off;" +
		"create function f() returns text language sql as $$ select mbus4.post('q', 'a=>1') $$;" +
		"create procedure p() language sql as $$ select mbus4.post('q', 'a=>1') $$;" +
		"create function g() returns trigger language plpgsql as $$ begin perform mbus4.post('q', 'a=>1'); return new; end $$;" +
		"create table t (a int); create trigger t before insert on t for each row execute function g();" +
		"set local check_function_bodies = on;"
	inTransactions(t, []string{"q"}, plain, []wrong{
		in("42883", "mbus4.post(", why, "create function h() returns text language sql as $$ select mbus4.post('q', 'a=>1') $$"),
		in("42883", "mbus4.post(", posts, "create procedure h() language sql as $$ select mbus4.post('q', 'a=>1') $$"),
		in("42883", "mbus4.consume(", reads, "create function h() returns text language sql as $$ select iid from mbus4.consume('q') $$"),
		in("42883", "mbus4.post(", posts, "select f()"),
		in("42883", "mbus4.post(", posts, "call p()"),
		in("42883", "mbus4.post(", posts, "insert into t values (1)"),
		in("42883", "mbus4.post(", posts, "do $$ begin perform mbus4.post('q', 'a=>1'); end $$"),
		in("42883", "mbus4.consume(", reads, "do $$ begin perform mbus4.consume('q'); end $$"),
		in("42883", "mbus4.add_message(", "insert into mbus4.work_queue (payload)", "do $$ begin perform mbus4.add_message('{}'); end $$"),
		in("42883", "mbus4.drop_queue(", why, "do $$ begin perform mbus4.drop_queue('q'); end $$"),
		in("42883", "mbus4.send(", why, "do $$ begin perform mbus4.send('q'); end $$"),
		in("0A000", "mbus4.post cannot be called in this statement", posts, "create function h() returns text begin atomic select mbus4.post('q', ''); end"),
	})
	conn := harness.Connect(t, harness.Proxied(), harness.NewDatabase(t))
	report := harness.Refusal(t, conn, "3F000", "create function h() returns text language sql as $$ select mbus4.post('q', 'a=>1') $$")
	if !strings.Contains(report.Hint, why) || !strings.Contains(report.Hint, "mbusproxy init") {
		t.Errorf("in a new database: hint %q", report.Hint)
	}
}

// What these hints tell works in each of the places.
func TestErrorsOfBodiesWaysOut(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_view('q')")
		harness.Ask(t, s.Conn, `create function f() returns setof hstore language sql as $$ insert into public.q_q (data) values ('a=>1'); select data from public.q_q $$;
			create procedure p() language plpgsql as $$ begin insert into public.q_q (data) values ('a=>2'); end $$;
			create function g() returns trigger language plpgsql as $$ begin insert into public.q_q (data) values (hstore('a', new.a::text)); return new; end $$;
			create table t (a int); create trigger t before insert on t for each row execute function g();
			create function w() returns void language sql as $$ insert into mbus4.work_queue (payload) values ('{}') $$`)
		s.Want(t, `"a"=>"1"`, "select f()")
		s.Want(t, "", "call p()")
		s.Want(t, `"a"=>"2"`, "select data from mbus4.consume('q')")
		s.Want(t, "", "insert into t values (3)")
		s.Want(t, "", "do $$ begin assert (select data from public.q_q) = hstore('a', '3'); end $$")
		s.Want(t, harness.Null, "select w()")
		s.Want(t, "{}", "select payload from mbus4.get_next_message(1)")
		// A statement of the client that does both.
		s.Want(t, "t", "with i as (insert into t values (4) returning a) select mbus4.post('q', hstore('b', a::text)) is not null from i")
	})
}

// What else calls refuse.
func TestErrorsOfCalls(t *testing.T) {
	t.Parallel()
	inTransactions(t, []string{"q", "r"}, "select mbus4.create_trigger('q', 'r')", []wrong{
		in("42602", `"Orders" is not a valid name for a queue`, "1 to 32 characters", "select mbus4.create_queue('Orders', 1)"),
		in("42602", `"a b" is not a valid name for a consumer`, "1 to 32 characters", "select mbus4.create_consumer('q', 'a b')"),
		in("22023", `the number of consumers of queue "s" must be at least 1`, "1 will do", "select mbus4.create_queue('s', 0)"),
		in("42710", `queue "q" already has a consumer "default"`, "mbus4.drop_consumer(qname, cname)", "select mbus4.create_consumer('q', 'default')"),
		in("42710", `the trigger from "q" to "r" exists already`, "mbus4.drop_trigger(src, dst)", "select mbus4.create_trigger('q', 'r')"),
		in("42P17", `Loop detected: what is posted to "r" would come back to it`, "mbus4.drop_trigger(src, dst)", "select mbus4.create_trigger('r', 'q')"),
		in("22004", "the queues of a trigger must not be null", "", "select mbus4.create_trigger('q', null)"),
		in("42809", `queue "dmq" has only the consumer "default"`, "mbus4.consume('dmq')", "select mbus4.create_consumer('dmq', 'c')"),
		in("42809", `queue "dmq" belongs to the schema and cannot be dropped`, "", "select mbus4.drop_queue('dmq')"),
		in("42809", `queue "dmq" belongs to the schema and keeps its consumer`, "", "select mbus4.drop_consumer('dmq', 'default')"),
		in("42809", "mbus4.process_queue(…) is a procedure", "use CALL", "select mbus4.process_queue(1)"),
		in("42809", "mbus4.post(…) is not a procedure", "use SELECT", "call mbus4.post('q', '')"),
		in("2D000", "invalid transaction termination", "outside a transaction block", "call mbus4.process_queue(1)"),
		in("0A000", "argument exec of mbus4.run_on_q must be known before the statement runs, because it contains calls of mbus4", "literal or as a bind parameter",
			"select mbus4.run_on_q((select 'select mbus4.peek_q()'))"),
		in("0A000", "argument selector of mbus4.create_consumer must be known before the statement runs", "literal or as a bind parameter", "select mbus4.create_consumer('q', 'c', x) from (values ('true')) v (x)"),
		in("22004", "the view must have a name", "viewname", "select mbus4.create_view_prop('q', 'default', 'public', null)"),
		in("42602", `"a.b.c" is not a valid name for a view`, "schema.name", "select mbus4.create_view('q', 'default', 'a.b.c')"),
		in("0A000", "a statement given to a call cannot contain calls such as run_on_<q>, process_queue and create_view", "in a statement of the client", "select mbus4.run_on_q('select mbus4.run_on_q(''select 1'')')"),
		in("0A000", "mbus4.consume cannot be called in a view", "mbus4.create_view(", "create view v as select * from mbus4.consume('q')"),
		in("0A000", "mbus4.run_on_q cannot be called in CASE", "statement of its own", "select case when true then mbus4.run_on_q('select 1') end"),
		in("22004", "the key of a semaphore must not be null", "", "select mbus4.semaphore_get_or_create(null)"),
		in("22023", "the key of a semaphore has 1 to 1000 bytes, not 0", "", "select mbus4.semaphore_get_or_create('')"),
		in("22004", "the process must not be null", "pg_backend_pid()", "select mbus4.get_next_message(null)"),
	})
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "i", "select mbus4.post('q', '', iid => 'i')")
		if said := s.Refused(t, "23505", "select mbus4.post('q', '', iid => 'i')"); !strings.Contains(said, `a message with iid "i" is still waiting in queue "q"`) {
			t.Error(said)
		}
		harness.Ask(t, s.Conn, "select mbus4.semaphore_get_or_create('s')")
		for code, sql := range map[string]string{
			"22023 needs 0 <= try_release <= active, not try_release 2 with active 1": "select mbus4.semaphore_update('s', 1, 2)",
			"22004 active and try_release of semaphore":                               "select mbus4.semaphore_update('s', null, 2)",
			"22004 task_id and priority of a task of semaphore":                       "select mbus4.semaphore_enqueue('s', 1, null)",
			"22004 task_id of a task of semaphore":                                    "select mbus4.semaphore_release('s', null)",
			"22023 the priority of task 1 of semaphore \"s\" is not a number":         "select mbus4.semaphore_enqueue('s', 1, 'nan')",
			"22003 is out of range for type integer":                                  "call mbus4.process_queue('99999999999')",
			"22P02 invalid input syntax for type integer":                             "call mbus4.process_queue('one')",
		} {
			if said := s.Refused(t, code[:5], sql); !strings.Contains(said, code[6:]) {
				t.Errorf("%s: %s", sql, said)
			}
		}
	})
}

// A name that can be read in two ways, both of which exist.
func TestErrorsOfReadings(t *testing.T) {
	t.Parallel()
	const both = `queue "a" with consumer "b_by_c" or queue "a_by_b" with consumer "c"`
	setup := "select mbus4.create_consumer('a', 'b_by_c'); select mbus4.create_consumer('a_by_b', 'c');"
	inTransactions(t, []string{"a", "a_by_b"}, setup, []wrong{
		in("42725", both, "mbus4.consume(qname, cname)", "select mbus4.consume_a_by_b_by_c()"),
		in("42725", both, "mbus4.consumen(qname, cname, amt)", "select mbus4.consumen_a_by_b_by_c(1)"),
		in("42725", both, "mbus4.dyn_consume(qname, $$t.iid = '…'$$, cname)", "select mbus4.take_from_a_by_b_by_c('x')"),
	})
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "i", "select mbus4.post('q', '', iid => 'i')")
		s.Want(t, "i", "select iid from mbus4.dyn_consume('q', $$t.iid = 'i'$$, 'default')")
	})
}
