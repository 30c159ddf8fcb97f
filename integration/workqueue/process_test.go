package workqueue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// What a handler may be and do.
func TestWorkQueueHandlers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, handler, query, result string }{
		{"payload", toDone, "select string_agg(n::text, ' ' order by at) from done", "1 2 3"},
		{"a row for nobody", "select $1, now()", "select 1", "1"},
		{"no parameter", "insert into done values (7)", "select count(*) from done", "3"},
		{"several statements", toDone + "; update done set n = n * 10 where n = ($1->>'n')::int", "select string_agg(n::text, ' ' order by at) from done", "10 20 30"},
		{"posts", "select mbus4.post('q', hstore('a', $1->>'n'))", "select string_agg(data->'a', ' ' order by id) from mbus4.consumen('q', amt => 9)", "1 2 3"},
		{
			"consumes", "insert into done(n) select (m.data->'n')::int + ($1->>'n')::int from mbus4.consume('full') m",
			"select string_agg(n::text, ' ' order by at), mbus4.peek_full() from done group by 2", "101 202 303|f",
		},
		{
			"adds", "select mbus4.add_message(jsonb_build_object('n', ($1->>'n')::int - 1)) where ($1->>'n')::int > 1; " + toDone,
			"select string_agg(n::text, ' ' order by n) from done", "1 1 1 2 2 3",
		},
		{"completes", "select mbus4.complete_message(($1->>'n')::bigint); " + toDone, "select count(*) from done", "3"},
		{"quotes", `insert into done(n) select length($a$'\ä$mbus4$$a$ || '\''') from (select $1) s -- end`, "select sum(n) from done", "36"},
		{"do block", "do $$ begin perform 1; end $$", "select 1", "1"},
		{"comment", "/* nothing */ -- at all", "select 1", "1"},
		{"empty", "", "select 1", "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q", "full")
			conn := harness.Connect(t, harness.Proxied(), database)
			for i, f := range forms.All() {
				s := &forms.Session{Form: f, Conn: conn, Database: database}
				addMessages(t, conn, 3)
				harness.Ask(t, conn, "select mbus4.post('full', hstore('n', (100 * n)::text)) from generate_series(1, 3) n")
				if c.name == "completes" {
					harness.Want(t, conn, "3", fmt.Sprintf("with u as (update mbus4.work_queue set payload = jsonb_build_object('n', id) returning 1) select count(*) from u -- %d", i))
				}
				s.Want(t, "", "call mbus4.process_queue(1, $1)", c.handler)
				harness.Want(t, conn, c.result, c.query)
				harness.Want(t, conn, "0", "select count(*) from mbus4.work_queue")
				harness.Ask(t, conn, "truncate done; select mbus4.clear_queue_full(), mbus4.clear_queue_q()")
			}
		})
	}
	t.Run("computed", func(t *testing.T) {
		t.Parallel()
		forms.ForEach(t, nil, func(t *testing.T, s *forms.Session) {
			addMessages(t, s.Conn, 3)
			harness.Ask(t, s.Conn, "create sequence evaluated; select set_config('app.into', 'insert into done(n) ', false)")
			s.Want(t, "", "call mbus4.process_queue(pg_backend_pid(), current_setting('app.into') || 'values (' || nextval('evaluated') || ')')")
			harness.Want(t, s.Conn, "1|1|3", "select min(n), max(n), count(*) from done")
			addMessages(t, s.Conn, 1)
			s.Want(t, "", "call mbus4.process_queue($1::int + 1, format('insert into done(n) select %s', $2::int))", 1, 7)
			harness.Want(t, s.Conn, "7|1", "select max(n), nextval('evaluated') - 1 from done")
			addMessages(t, s.Conn, 1)
			s.Want(t, "", "call mbus4.process_queue(1, nullif('', $1))", "") // without a handler
			harness.Want(t, s.Conn, "0|4", "select (select count(*) from mbus4.work_queue), count(*) from done")
		})
	})
	t.Run("encodings and escapes", func(t *testing.T) {
		t.Parallel()
		conn := harness.Connect(t, harness.Proxied(), harness.NewQueueDatabase(t))
		harness.Ask(t, conn, "create table said (word text); set client_encoding = LATIN1; set standard_conforming_strings = off")
		for _, sql := range []string{
			`call mbus4.process_queue(1, 'insert into said values (''\\\\` + "\xe4" + `'')')`,
			`call mbus4.process_queue(1, $$insert into said values (E'\\` + "\xe4" + `')$$)`,
		} {
			harness.Ask(t, conn, "select mbus4.add_message('1')")
			harness.Ask(t, conn, sql)
		}
		harness.Ask(t, conn, "reset client_encoding; reset standard_conforming_strings")
		harness.Want(t, conn, `\ä`+"\n"+`\ä`, "select word from said")
		harness.Want(t, conn, "0", "select count(*) from mbus4.work_queue")
	})
}

// A handler that fails undoes its own effects only; the row records it, and the others go on.
func TestWorkQueueHandlerErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, handler, message string }{
		{"division", "insert into done(n) values (0); select 1 / (($1->>'n')::int - 2)", "division by zero"},
		{"raised", `insert into done(n) values (0); select raises(($1->>'n')::int = 2)`, "no two"},
		{"assertion", `insert into done(n) values (0); select asserts(($1->>'n')::int <> 2)`, "not two"},
		{"deferred constraint", "insert into done(n) values (0); insert into late values (($1->>'n')::int)", `duplicate key value violates unique constraint "late_pkey"`},
		{"no queue", "insert into done(n) values (0); select mbus4.post(case $1->>'n' when '2' then 'nosuch' else 'q' end, '')", `queue "nosuch" does not exist`},
		{"bad literal", "insert into done(n) values (0); select case ($1->>'n')::int when 2 then ($1::text)::int end", `invalid input syntax for type integer: "{"n": 2}"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q")
			conn := harness.Connect(t, harness.Proxied(), database)
			harness.Ask(t, conn, `create table late (n int primary key deferrable initially deferred); insert into late values (2);
				create function raises(b bool) returns void language plpgsql as $$ begin if b then raise 'no two'; end if; end $$;
				create function asserts(b bool) returns void language plpgsql as $$ begin assert b, 'not two'; end $$`)
			for _, f := range forms.All() {
				s := &forms.Session{Form: f, Conn: conn, Database: database}
				harness.Ask(t, conn, "delete from late where n <> 2; delete from mbus4.work_queue")
				addMessages(t, conn, 4)
				s.Want(t, "", "call mbus4.process_queue(1, $1)", c.handler)
				harness.Want(t, conn, "3", "select count(*) from done")
				harness.Want(t, conn, "2|1|"+c.message+"|∅|t", `select payload->>'n', attempts, last_error, process_id,
					next_attempt_at between now() + interval '0.1 s' and now() + interval '1.1 s' from mbus4.work_queue`)
				harness.Ask(t, conn, "truncate done")
			}
		})
	}
}

// What fails for each message: nothing stops, every message has its record.
func TestWorkQueueUselessHandlers(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		for handler, message := range map[string]string{
			"selec 1":                         `syntax error at or near "selec"`,
			"select $2":                       "there is no parameter $2",
			"insert into nowhere values ($1)": `relation "nowhere" does not exist`,
			"commit":                          "EXECUTE of transaction commands is not implemented",
			"copy nowhere from stdin":         "cannot COPY to/from client in PL/pgSQL",
			"selec mbus4.add_message($1)":     `syntax error at or near "selec"`,
			"select mbus4.add_message($1::text::point)":  "cannot cast type point to jsonb",
			"select mbus4.nosuch($1)":                    "function mbus4.nosuch(jsonb) does not exist",
			"select mbus4.add_message(jsonb '{') from v": "",
		} {
			harness.Ask(t, s.Conn, "delete from mbus4.work_queue")
			addMessages(t, s.Conn, 2)
			s.Want(t, "", "call mbus4.process_queue(1, $1)", handler)
			if message == "" {
				s.Want(t, "2|2", "select count(*), count(last_error) from mbus4.work_queue")
				continue
			}
			s.Want(t, "1|"+message+"\n1|"+message, "select attempts, last_error from mbus4.work_queue")
		}
		// A call that is wrong whatever the message says is an error of the caller.
		harness.Ask(t, s.Conn, "delete from mbus4.work_queue")
		addMessages(t, s.Conn, 2)
		for handler, code := range map[string]string{
			"select mbus4.add_message()":                      "42883",
			"call mbus4.process_queue(1)":                     "0A000",
			"select mbus4.process_queue(1)":                   "42809",
			"create view v as select mbus4.add_message('1')":  "0A000",
			"select mbus4.run_on_q('select 1')":               "0A000",
			"select 1; select mbus4.get_next_message(1, 2)":   "42883",
			"select iid from mbus4.consume('q', selector=>1)": "42883",
		} {
			s.Refused(t, code, "call mbus4.process_queue(1, $1)", handler)
		}
		s.Want(t, "2|0", "select count(*), sum(attempts) from mbus4.work_queue")
	})
}

// Each failure doubles the time to the next attempt; before it nobody is given the message.
func TestWorkQueueRetries(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t)
	conn := harness.Connect(t, harness.Proxied(), database)
	addMessages(t, conn, 2)
	const handler = "insert into done(n) select 1 / (($1->>'n')::int - 1)"
	waits := func(expected string) {
		t.Helper()
		harness.Want(t, conn, expected, `select attempts, round(extract(epoch from next_attempt_at - clock_timestamp())) from mbus4.work_queue`)
	}
	process := func() { t.Helper(); harness.Ask(t, conn, "call mbus4.process_queue(1, $1, jitter => 0)", handler) }
	process()
	waits("1|1")
	process() // not due
	waits("1|1")
	harness.Want(t, conn, "", "select * from mbus4.get_next_message(1)")
	harness.Await(t, conn, 10*time.Second, "select next_attempt_at < clock_timestamp() from mbus4.work_queue")
	process()
	waits("2|2")
	for n, wait := range map[int]int{2: 4, 3: 8, 11: 2048, 12: 3600, 13: 3600, 2_000_000_000: 3600} {
		harness.Ask(t, conn, fmt.Sprintf("update mbus4.work_queue set attempts = %d, next_attempt_at = now()", n))
		process()
		waits(fmt.Sprintf("%d|%d", n+1, wait))
	}
	// A message whose turn has come again does not go before those that have waited longer.
	harness.Ask(t, conn, "truncate done; update mbus4.work_queue set attempts = 0, next_attempt_at = now() - interval '1 s'")
	addMessages(t, conn, 2)
	harness.Ask(t, conn, "update mbus4.work_queue set next_attempt_at = now() - interval '2 s' where attempts = 0 and payload->>'n' = '2'")
	harness.Want(t, conn, "2 1 1", `with a as (select mbus4.get_next_message(1) as m from generate_series(1, 3))
		select string_agg((m).payload->>'n', ' ') from a`)
	harness.Ask(t, conn, "select mbus4.release_messages(1)")
	// Once it succeeds nothing is left of it.
	harness.Ask(t, conn, "call mbus4.process_queue(1, $1)", toDone)
	harness.Want(t, conn, "0|3", "select (select count(*) from mbus4.work_queue), count(*) from done")
}

// process_queue commits, so it must be a statement of its own outside a transaction block.
func TestWorkQueueTransactions(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t)
	conn, other := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
	addMessages(t, conn, 3)
	harness.Ask(t, conn, "create table t (n int)")
	const call = "call mbus4.process_queue(1, '" + "insert into done(n) values (1)" + "')"
	for _, sql := range []string{
		"begin; " + call, "insert into t values (1); " + call, call + "; select 1", call + "; " + call, "begin; commit; " + call,
		"select 1; ;" + call + ";",
	} {
		if r := harness.Refusal(t, conn, "2D000", sql); r.Hint == "" || int(r.Position) != strings.Index(sql, "mbus4.")+1 || r.Where != "" {
			t.Errorf("%s: %s", sql, harness.Describe(r))
		}
		if conn.TxStatus() != 'I' {
			harness.Ask(t, conn, "rollback")
		}
	}
	// What goes before it in a Query keeps its own tag.
	results := conn.Exec(harness.Context(t), "select 1; "+call)
	if !results.NextResult() {
		t.Fatal(harness.Describe(results.Close()))
	}
	if tag, err := results.ResultReader().Close(); tag.String() != "SELECT 1" {
		t.Errorf("tag %q, %v", tag, err)
	}
	if err := results.Close(); harness.SQLState(err) != "2D000" {
		t.Error(harness.Describe(err))
	}
	for _, f := range forms.All() {
		s := &forms.Session{Form: f, Conn: conn, Database: database}
		for _, begin := range []string{"begin", "begin isolation level serializable", "start transaction read only"} {
			s.Want(t, "", begin)
			if said := s.Refused(t, "2D000", call); !strings.Contains(said, "(at 6;") || !strings.Contains(said, "outside a transaction block") {
				t.Errorf("%s: %s", f.Name, said)
			}
			if conn.TxStatus() != 'E' {
				t.Errorf("%s: status %q", f.Name, conn.TxStatus())
			}
			s.Refused(t, "25P02", call)
			s.Want(t, "", "rollback")
		}
	}
	if _, err := forms.RunPipelined(harness.Context(t), conn, forms.Do("begin"), forms.Do("insert into t values (1)"), forms.Do(call), forms.Do("select 1")); harness.SQLState(err) != "2D000" {
		t.Error(harness.Describe(err))
	}
	harness.Ask(t, conn, "rollback")
	harness.Want(t, conn, "3|0|0", "select (select count(*) from mbus4.work_queue), (select count(*) from done), count(*) from t")

	// In a pipeline it commits what came before it in the same one, as any procedure that commits.
	got, err := forms.RunPipelined(harness.Context(t), conn, forms.Do("insert into t values ($1)", 2), forms.Do(call), forms.Do("select count(*) from done"),
		forms.Do("insert into t values ($1)", 3), forms.Do("select 1 / (count(*) - 2) from t"))
	switch harness.SQLState(err) {
	case "2D000": // from Postgres 18 on a pipeline is a transaction block
		harness.Want(t, other, "3|0", "select (select count(*) from mbus4.work_queue), count(*) from t")
	case "22012":
		harness.Want(t, other, "0|3|2", "select (select count(*) from mbus4.work_queue), (select count(*) from done), sum(n) from t")
	default:
		t.Errorf("%q, %s", got, harness.Describe(err))
	}
	// Several of them, each in a pipeline segment of its own.
	p := conn.StartPipeline(harness.Context(t))
	for range 3 {
		p.SendQueryParams("select mbus4.add_message('{}')", nil, nil, nil, nil)
		_ = p.Sync()
		p.SendQueryParams("call mbus4.process_queue($1)", [][]byte{[]byte("1")}, nil, nil, nil)
		_ = p.Sync()
		p.SendQueryParams("select count(*) from mbus4.work_queue", nil, nil, nil, nil)
		_ = p.Sync()
	}
	var said []string
	for range 18 {
		next, err := p.GetResults()
		if err != nil {
			t.Fatal(harness.Describe(err))
		}
		if r, ok := next.(*pgconn.ResultReader); ok {
			read := r.Read()
			said = append(said, strings.TrimSpace(read.CommandTag.String()+" "+harness.RowsText(read)))
		}
	}
	_ = p.Close()
	if got := strings.Join(said[1:3], ", ") + ", " + strings.Join(said[4:6], ", "); got != "CALL, SELECT 1 0, CALL, SELECT 1 0" {
		t.Errorf("pipeline: %q", got)
	}
}

// A NOTICE every two seconds says how far it is. Cancelling stops it at once: what was completed is
// kept, and the message in work is free again.
func TestWorkQueueProgressAndCancel(t *testing.T) {
	t.Parallel()
	for _, f := range forms.All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t)
			config, err := pgconn.ParseConfig(harness.Proxied().DSN(database))
			if err != nil {
				t.Fatal(err)
			}
			notices := make(chan *pgconn.Notice, 100)
			config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices <- n }
			worker, err := pgconn.ConnectConfig(harness.Context(t), config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { harness.Close(worker) })
			conn := harness.Connect(t, harness.Proxied(), database)
			addMessages(t, conn, 60)
			harness.Ask(t, conn, `insert into mbus4.work_queue(payload, next_attempt_at) values ('{"n": 61, "sleep": 30}', now() + interval '1 s')`)
			handler := toDone + "; select 1 / (($1->>'n')::int - 7), pg_sleep(coalesce(($1->>'sleep')::float, 0.1))"
			harness.Ask(t, conn, "update mbus4.work_queue set next_attempt_at = '2000-01-01' where payload->>'n' = '7'")
			ended := make(chan error, 1)
			ctx := harness.Context(t)
			go func() {
				_, err := f.Run(ctx, worker, forms.Do("call mbus4.process_queue(5, $1)", handler))
				ended <- err
			}()
			harness.Await(t, conn, 20*time.Second, "select exists (select from pg_stat_activity where wait_event = 'PgSleep' and query_start < now() - interval '2.5 s' and datname = current_database())")
			select {
			case n := <-notices:
				if n.Severity != "NOTICE" || !strings.HasPrefix(n.Message, "process 5: ") || !strings.HasSuffix(n.Message, " messages completed, 1 failed") {
					t.Errorf("%+v", n)
				}
			case <-time.After(harness.AskLimit):
				t.Error("no notice")
			}
			// Up to the one that would sleep for long.
			harness.Await(t, conn, 60*time.Second, "select count(*) = 2 from mbus4.work_queue")
			cancelCtx, cancel := context.WithTimeout(ctx, harness.AskLimit)
			defer cancel()
			start := time.Now()
			if err := worker.CancelRequest(cancelCtx); err != nil {
				t.Error(err)
			}
			if err := <-ended; harness.SQLState(err) != "57014" || time.Since(start) > 20*time.Second { // the handler sleeps for longer
				t.Errorf("%s after %v", harness.Describe(err), time.Since(start))
			}
			harness.Want(t, conn, "0|2|59", "select count(process_id), count(*), (select count(*) from done) from mbus4.work_queue")
			harness.Want(t, worker, "61", "select payload->>'n' from mbus4.get_next_message(1) where payload ? 'sleep'")
			if worker.TxStatus() != 'I' {
				t.Errorf("status %q", worker.TxStatus())
			}
		})
	}
}

// Under the stricter isolation levels a claim may lose against another, as any statement may; then
// the call is repeated, and nothing is lost or done twice.
func TestWorkQueueIsolation(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			const messages, processes = 200, 4
			database := harness.NewQueueDatabase(t)
			conn := harness.Connect(t, harness.Proxied(), database)
			addMessages(t, conn, messages)
			ctx := harness.Context(t)
			errs := make(chan error, processes)
			for p := range processes {
				worker := harness.Connect(t, harness.Proxied(), database)
				harness.Ask(t, worker, "set default_transaction_isolation = '"+level+"'")
				go func() {
					for again := 0; ; again++ {
						_, err := harness.Query(ctx, worker, "call mbus4.process_queue($1, $2)", p, toDone)
						if harness.SQLState(err) != "40001" || again > 1000 {
							t.Logf("process %d: %d times 40001", p, again)
							errs <- err
							return
						}
					}
				}()
			}
			var failed []error
			for range processes {
				failed = append(failed, <-errs)
			}
			if err := errors.Join(failed...); err != nil {
				t.Error(harness.Describe(err))
			}
			harness.Ask(t, conn, "call mbus4.process_queue(9, $1)", toDone)
			harness.Want(t, conn, fmt.Sprintf("%[1]d|%[1]d|0", messages), "select count(*), count(distinct n), (select count(*) from mbus4.work_queue) from done")
		})
	}
}

// process_queue finds what comes while it runs, wherever in the order: what was added in a transaction
// that began long ago, and what was given back.
func TestWorkQueueLateComers(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t)
	conn, old, worker := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.add_message(to_jsonb(n)) from generate_series(-4, 0) n; create table done (n int, at timestamptz default clock_timestamp())")
	harness.Want(t, conn, "1", "select id from mbus4.get_next_message(9)")
	harness.Ask(t, conn, "update mbus4.work_queue set next_attempt_at = '-infinity' where id = 2")
	harness.Ask(t, old, `begin; select mbus4.add_message('1')`)
	harness.Ask(t, conn, "select mbus4.add_message(to_jsonb(n)) from generate_series(2, 40) n")
	ended := make(chan error, 1)
	ctx := harness.Context(t)
	go func() {
		_, err := harness.Query(ctx, worker, "call mbus4.process_queue(1, $1)", "insert into done values (($1)::int); select pg_sleep(0.1)")
		ended <- err
	}()
	harness.Await(t, conn, 20*time.Second, "select count(*) >= 8 from done")
	harness.Ask(t, old, "commit")
	harness.Want(t, conn, "1", "select mbus4.release_messages(9)")
	if err := <-ended; err != nil {
		t.Fatal(harness.Describe(err))
	}
	harness.Want(t, conn, "0|45", "select (select count(*) from mbus4.work_queue), count(*) from done")
	// Not only at the end.
	harness.Want(t, conn, "t|-3", `select (select max(at) from done where n in (1, -4)) < (select at from done where n = 35), (select n from done order by at limit 1)`)
}
