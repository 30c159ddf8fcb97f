package statements

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
)

// A text of several statements is decided before its first one, and looked after while it runs.
func TestUnqualifiedSeveral(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, unqualifiedProxy(t, "all"), harness.NewQueueDatabase(t, "q"))
	harness.Ask(t, conn, "set search_path to mbus4, public")
	harness.Want(t, conn, "i1\ni1", "select post('q', 'a=>1', iid => 'i1'); select iid from consume('q')")
	harness.Want(t, conn, "f\n1", "begin; select post('q', 'a=>1', iid => 'i1') is null; rollback; select 1")

	// The path is set in the text itself: what is asked before it is another. So the server says that there
	// is no such function, and nothing is done.
	harness.Ask(t, conn, "set search_path to public")
	report := harness.Refusal(t, conn, "42883", "set search_path to mbus4, public; select post('q', 'a=>1')")
	if !strings.Contains(report.Hint, "mbus4.post") || report.Position != 42 {
		t.Error(harness.Describe(report))
	}
	harness.Ask(t, conn, "set search_path to mbus4, public")
	_, err := harness.Query(harness.Context(t), conn, "begin; select 1/0")
	if harness.SQLState(err) != "22012" {
		t.Error(harness.Describe(err))
	}
	harness.Refused(t, conn, "25P02", "select post('q', 'a=>1')")
	harness.Refused(t, conn, "42883", "rollback; select post('q', 'a=>1')")
	if conn.TxStatus() != 'I' {
		t.Errorf("transaction status %q", conn.TxStatus())
	}

	// The other way around, what was ours is no longer.
	for _, c := range []struct{ sql, at string }{
		{"select 'ä'; set search_path to public; select post('q', 'a=>1')", "post("},
		{theirs("public.post(text, hstore)") + "; select 'ß', post('q', 'a=>1')", "post('q'"},
		{theirs("public.post(text, hstore)") + "; select 1 where post('q', 'a=>1') is null", "post('q'"},
		{theirs("public.readme()") + "; select readme()", "readme()"},
		{"set search_path to public; select run_on_q('select 1')", "run_on_q"},
		{"set search_path to public; select clear_queue_q()", "clear_queue_q"},
		{"set search_path to public; select create_temporary_queue()", "create_temporary_queue"},
		{"select 1; set search_path to public; select (consumen('q', 'default', 1)).iid", "consumen"},
	} {
		report := harness.Refusal(t, conn, "42725", c.sql)
		at := strings.LastIndex(c.sql, c.at)
		if int(report.Position) != len([]rune(c.sql[:at]))+1 || !strings.Contains(report.Hint, "search_path") {
			t.Errorf("%s: %s", c.sql, harness.Describe(report))
		}
	}
	harness.Refused(t, conn, "0A000", "select 1; prepare p(text) as select $1; execute p(post('q', 'a=>1'))")
	harness.Want(t, conn, "0", "select count(*) from mbus4.message")

	// What is theirs at the start stays theirs.
	harness.Ask(t, conn, theirs("public.post(text, hstore)"))
	harness.Want(t, conn, "t\nt", "select post('q', 'a=>1') is not null; select post('q', 'a=>1') is not null")
	harness.Want(t, conn, "0", "select count(*) from mbus4.message")
}

// A prepared statement means what it meant when it was prepared, or fails.
func TestUnqualifiedPrepared(t *testing.T) {
	t.Parallel()
	e := unqualifiedProxy(t, "all")
	const inline, inPlace = "select post('q', 'a=>1', iid => $1)", "select iid from (select post('q', 'a=>1', iid => $1) as iid limit 1) x"
	for name, c := range map[string]struct {
		sql      string
		sqlLevel bool
	}{
		"protocol, inline": {inline, false}, "protocol, in place": {inPlace, false},
		"PREPARE, inline": {inline, true}, "PREPARE, in place": {inPlace, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := harness.Context(t)
			database := harness.NewQueueDatabase(t, "q")
			conn := harness.Connect(t, e, database)
			harness.Ask(t, conn, "create schema app; set search_path to mbus4, app, public")
			if c.sqlLevel {
				harness.Ask(t, conn, "prepare p(text) as "+c.sql)
			} else if _, err := conn.Prepare(ctx, "p", c.sql, nil); err != nil {
				t.Fatal(harness.Describe(err))
			}
			run := func(iid string) (string, error) {
				if c.sqlLevel {
					return harness.Query(ctx, conn, "execute p('"+iid+"')")
				}
				r := conn.ExecPrepared(ctx, "p", harness.TextParams([]any{iid}), nil, nil).Read()
				if r.Err != nil {
					return "", r.Err
				}
				return harness.RowsText(r), nil
			}
			ours := func(iid string) {
				t.Helper()
				if got, err := run(iid); err != nil || got != iid {
					t.Errorf("got %q %s, want %q", got, harness.Describe(err), iid)
				}
			}
			changed := func() {
				t.Helper()
				if got, err := run("never"); harness.SQLState(err) != "42725" {
					t.Errorf("got %q %s, want 42725", got, harness.Describe(err))
				}
			}
			for i := range 8 { // beyond the executions that are planned each
				ours("i" + string(rune('0'+i)))
			}
			harness.Ask(t, conn, "set search_path to app, public")
			changed()
			harness.Ask(t, conn, "set search_path to mbus4, app, public")
			ours("j1")
			harness.Ask(t, conn, "begin")
			harness.Ask(t, conn, theirs("app.post(text, text, iid text)"))
			changed()
			harness.Ask(t, conn, "rollback")
			ours("j2")
			harness.Ask(t, conn, theirs("app.post(text)"))
			ours("j3")
			harness.Ask(t, harness.Connect(t, harness.Direct(), database), theirs("app.post(text, hstore, iid text default null)"))
			changed()
			harness.Ask(t, conn, "set search_path to mbus4, public")
			ours("j4")
			harness.Want(t, conn, "12", "select count(*) from mbus4.message")
		})
	}
}

// A step of a statement that is no longer ours does nothing.
func TestUnqualifiedSteps(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, unqualifiedProxy(t, "all"), harness.NewQueueDatabase(t, "q"))
	ctx := harness.Context(t)
	harness.Ask(t, conn, "create table ran (x text); set search_path to mbus4, public")
	harness.Ask(t, conn, "select post('q', 'a=>1'); select add_message('{}')")
	for name, sql := range map[string]string{"r": "select run_on_q($1)", "c": "call process_queue(1, $1)"} {
		if _, err := conn.Prepare(ctx, name, sql, nil); err != nil {
			t.Fatal(harness.Describe(err))
		}
		harness.Ask(t, conn, "set search_path to public")
		handler := harness.TextParams([]any{"insert into public.ran values ($1::text)"})
		r := conn.ExecPrepared(ctx, name, handler, nil, nil).Read()
		if harness.SQLState(r.Err) != "42725" {
			t.Errorf("%s: %s", sql, harness.Describe(r.Err))
		}
		harness.Want(t, conn, "0", "select count(*) from ran")
		harness.Ask(t, conn, "set search_path to mbus4, public")
		if r := conn.ExecPrepared(ctx, name, handler, nil, nil).Read(); r.Err != nil {
			t.Errorf("%s: %s", sql, harness.Describe(r.Err))
		}
		harness.Want(t, conn, "1", "select count(*) from ran")
		harness.Ask(t, conn, "truncate ran")
	}
}

// In a transaction with an old snapshot the server finds newer functions all the same.
func TestUnqualifiedOldSnapshot(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, unqualifiedProxy(t, "all"), database)
	harness.Ask(t, conn, "set search_path to mbus4, public; begin isolation level repeatable read; select 1")
	harness.Ask(t, harness.Connect(t, harness.Direct(), database), theirs("public.post(text, hstore)"))
	harness.Want(t, conn, "theirs", "select post('q', 'a=>1')")
	harness.Ask(t, conn, "commit")
}

// What the session is asked the client does not see, whatever the messages, and where it cannot be asked
// the reply is the server's own.
func TestUnqualifiedWire(t *testing.T) {
	t.Parallel()
	e := unqualifiedProxy(t, "all")
	w := frontend.Connect(t, e, harness.NewQueueDatabase(t, "q"))
	w.Exchange("ReadyForQuery", &pgproto3.Query{String: "set search_path to mbus4, public"})
	const posting, failing = "select post('q', 'a=>1', iid => $1)", "select 1/(g - 1) from generate_series(1, 1) g"
	w.WantExchange("Query", `
		RowDescription post:25:0
		DataRow "i0"
		CommandComplete SELECT 1
		ReadyForQuery I`, "ReadyForQuery", &pgproto3.Query{String: "select post('q', 'a=>1', iid => 'i0')"})
	w.WantExchange("Parse alone", `
		ParseComplete
		ParameterDescription [25]
		RowDescription post:25:0
		ReadyForQuery I`, "ReadyForQuery", frontend.Parse("p", posting), frontend.DescribeStatement("p"), frontend.Sync())
	w.WantExchange("several Parses in one transaction", `
		ParseComplete
		BindComplete
		DataRow "i1"
		CommandComplete SELECT 1
		ParseComplete
		BindComplete
		DataRow "i2"
		CommandComplete SELECT 1
		ReadyForQuery I`, "ReadyForQuery",
		frontend.Parse("", posting), frontend.Bind("", "", "i1"), frontend.Execute("", 0), frontend.Parse("", "select post('q', 'a=>1', iid => $1) where true"), frontend.Bind("", "", "i2"), frontend.Execute("", 0), frontend.Sync())
	w.WantExchange("behind an error in the same pipeline", `
		ParseComplete
		BindComplete
		ErrorResponse 22012 at 0
		ReadyForQuery I`, "ReadyForQuery", frontend.Parse("", failing), frontend.Bind("", ""), frontend.Execute("", 0), frontend.Parse("", posting), frontend.Bind("", "", "i3"), frontend.Execute("", 0), frontend.Sync())
	for range 20 { // the error may come before or after the Parse behind it
		w.WantExchange("behind an error that has come", `
			ParseComplete
			BindComplete
			ErrorResponse 22012 at 0`, "ErrorResponse", frontend.Parse("", failing), frontend.Bind("", ""), frontend.Execute("", 0), frontend.Flush())
		w.WantExchange("and what is skipped", `
			ReadyForQuery I`, "ReadyForQuery", frontend.Parse("", posting), frontend.Bind("", "", "i3"), frontend.Execute("", 0), frontend.Parse("", posting), frontend.Sync())
	}
	w.WantExchange("behind an error in the pipeline before", `
		ParseComplete
		BindComplete
		ErrorResponse 22012 at 0
		ReadyForQuery I`, "ReadyForQuery", frontend.Parse("", failing), frontend.Bind("", ""), frontend.Execute("", 0), frontend.Sync(),
		frontend.Parse("", posting), frontend.Bind("", "", "i4"), frontend.Execute("", 0), frontend.Sync())
	w.WantExchange("and what comes behind it", `
		ParseComplete
		BindComplete
		DataRow "i4"
		CommandComplete SELECT 1
		ReadyForQuery I`, "ReadyForQuery")
	w.Exchange("ReadyForQuery", &pgproto3.Query{String: "begin"})
	w.WantExchange("a transaction that fails", `
		ErrorResponse 22012 at 0
		ReadyForQuery E`, "ReadyForQuery", &pgproto3.Query{String: "select 1/0"})
	w.WantExchange("Query in it", `
		ErrorResponse 25P02 at 0
		ReadyForQuery E`, "ReadyForQuery", &pgproto3.Query{String: "select post('q', 'a=>1')"})
	w.WantExchange("Parse in it", `
		ErrorResponse 25P02 at 0
		ReadyForQuery E`, "ReadyForQuery", frontend.Parse("", posting), frontend.Bind("", "", "i5"), frontend.Execute("", 0), frontend.Sync())
	w.Exchange("ReadyForQuery", &pgproto3.Query{String: "rollback"})
	w.WantExchange("Query behind messages without a Sync", `
		ParseComplete
		BindComplete
		DataRow "1"
		CommandComplete SELECT 1
		ErrorResponse 42883 at 8
		ReadyForQuery I`, "ReadyForQuery", frontend.Parse("", "select 1"), frontend.Bind("", ""), frontend.Execute("", 0), &pgproto3.Query{String: "select post('q', 'a=>1')"})
}

// A script of psql without the schema, with the places of errors that psql shows.
func TestUnqualifiedPsql(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	got := programs.Psql(t, unqualifiedProxy(t, "all"), database, `
set search_path to mbus4, public;
select post('q', 'a=>1', iid => 'i1') as "größe";
\set queue q
select post(:'queue', hstore('b', '2'), iid => 'i2') \gset
\echo :post
select iid, data from consumen('q', amt => 5);
select post('nowhere',
            'a=>1');
select 'äöü', post('q', 'a=>1'), nosuch;
select post('q',
	  nosuch);
select post(1, 2, 3);
begin; select post('q', 'a=>1', iid => 'i3'); rollback;
select post('q', 'a=>1', iid => 'i4') \gdesc
prepare p(text) as select post_q('a=>1', iid => $1);
execute p('i5');
select iid from take('i5');
create function public.peek(text) returns text language sql as $$ select 'mine' $$;
select peek('x');
drop function public.peek;
select (peek('x')).iid is null as gone;
call process_queue(1);
\df post
`, "-A", "-t")
	const stdout = `
i1
i2
i1|"a"=>"1"
i2|"b"=>"2"
i3
post|text
i5
i5
mine
t`
	const stderr = `
ERROR:  queue "nowhere" does not exist
LINE 1: select post('nowhere',
               ^
HINT:  Create it with mbus4.create_queue(qname, ncons); names are lower case letters, digits and _.
ERROR:  column "nosuch" does not exist
LINE 1: select 'äöü', post('q', 'a=>1'), nosuch;
                                         ^
ERROR:  column "nosuch" does not exist
LINE 2:    nosuch);
           ^
ERROR:  function post(integer, integer, integer) does not exist
LINE 1: select post(1, 2, 3);
               ^
HINT:  No function matches the given name and argument types. You might need to add explicit type casts. If mbus4.post is meant, write mbus4.post(…); without the schema it is served where mbus4 is in the search_path and no other function of the name, or type, that may take as many arguments.`
	if programs.Trim(got.Stdout) != programs.Trim(stdout) {
		t.Errorf("stdout:\n%s", harness.LineDiff(programs.Trim(stdout), programs.Trim(got.Stdout)))
	}
	if programs.Trim(got.Stderr) != programs.Trim(stderr) {
		t.Errorf("stderr:\n%s", harness.LineDiff(programs.Trim(stderr), programs.Trim(got.Stderr)))
	}
}

// Names longer than the server's, and arguments that are evaluated, without the schema.
func TestUnqualifiedLongNames(t *testing.T) {
	t.Parallel()
	queue, consumer := strings.Repeat("q", 32), strings.Repeat("c", 32)
	conn := harness.Connect(t, unqualifiedProxy(t, "all"), harness.NewQueueDatabase(t, queue))
	harness.Ask(t, conn, "set search_path to mbus4, public")
	harness.Ask(t, conn, "select create_consumer($1, $2)", queue, consumer)
	harness.Ask(t, conn, "select post_"+queue+"('', iid => x) from unnest(array['m1', 'm2', 'm3']) x")
	harness.Want(t, conn, "m1", "select iid from consume_"+queue+"_by_"+consumer+"()")
	harness.Want(t, conn, "m2", "select (take_from_"+strings.ToUpper(queue)+"_BY_"+consumer+"($1)).iid", "m2")
	harness.Want(t, conn, "m3", `select iid from "consumen_`+queue+"_by_"+consumer+`"(9)`)
	harness.Want(t, conn, "3", "select run_on_"+queue+"(concat('select ', $1::text))", "1")
	harness.Want(t, conn, "0", "select run_on_"+queue+"('select ' || $1)", "1")
}
