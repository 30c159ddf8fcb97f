package workqueue

import (
	"fmt"
	"testing"

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
	harness.Await(t, conn, "select next_attempt_at < clock_timestamp() from mbus4.work_queue")
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
	awaitNoticed(t, conn)
	harness.Want(t, conn, "2 1 1", `with a as (select mbus4.get_next_message(1) as m from generate_series(1, 3))
		select string_agg((m).payload->>'n', ' ') from a`)
	harness.Ask(t, conn, "select mbus4.release_messages(1)")
	// Once it succeeds nothing is left of it.
	harness.Ask(t, conn, "call mbus4.process_queue(1, $1)", toDone)
	harness.Want(t, conn, "0|3", "select (select count(*) from mbus4.work_queue), count(*) from done")
}
