package calls

import (
	"fmt"
	"strings"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// newRunDatabase is a database with queue q, in which lie messages 1 to n under the iids m1 and so on,
// and a table done(n).
func newRunDatabase(t *testing.T, n int) string {
	t.Helper()
	database := harness.NewQueueDatabase(t, "q", "r")
	harness.Ask(t, harness.Connect(t, harness.Proxied(), database), fmt.Sprintf(`create table done (n int);
		select mbus4.post('q', hstore('n', n::text), 'own=>h', 'p=>1', iid => 'm' || n) from generate_series(1, %d) n`, n))
	return database
}

const (
	doneNow = "select coalesce(string_agg(n::text, ' ' order by n), '') from done"
	record  = "insert into done values ((($1).data->'n')::int)"
)

// A message whose statement fails goes to dmq with what is known of it, and takes nothing else along.
func TestRunError(t *testing.T) {
	t.Parallel()
	failing := []struct{ exec, message string }{
		{"insert into done select (($1).data->'n')::int / (case when ($1).iid = 'm2' then 0 else 1 end)", "division by zero"},
		{"with d as (insert into done values ((($1).data->'n')::int) returning n) select 1 / (n - 2) from d", "division by zero"},
		{"insert into done select (case when ($1).iid = 'm2' then 'x' || chr(10) || '\"ä\"' else ($1).data->'n' end)::int", "invalid input syntax for type integer: \"x\n\"ä\"\""},
	}
	for i, c := range failing {
		name := []string{"run_on_q", "run_q"}[i%2]
		t.Run(c.message, func(t *testing.T) {
			t.Parallel()
			database := newRunDatabase(t, 3)
			conn := harness.Connect(t, harness.Proxied(), database)
			harness.Ask(t, conn, "select mbus4.post('q', 'n=>9', 'consume_after=>{m2}', iid => 'waits')")
			harness.Want(t, conn, "2", "select mbus4."+name+"($1)", c.exec)
			harness.Want(t, conn, "1 3", doneNow)
			harness.Want(t, conn, "f|t", "select mbus4.is_msg_exists('m1'), mbus4.is_msg_exists('m2')")
			harness.Want(t, conn, "0", "select mbus4."+name+"($1)", c.exec)
			harness.Want(t, conn, `m2|"n"=>"2"|"p"=>"1"|h|q|q|{`+database+`}|t|`+c.message,
				`select iid, data, properties, headers->'own', headers->'destination_queue', headers->'destination', headers->'seenby',
					(headers->'dmq.added')::timestamp between localtimestamp - interval '1 min' and localtimestamp, headers->'dmq.error' from mbus4.consume('dmq')`)
			harness.Await(t, conn, "select exists (select from mbus4.consume('q'))")
		})
	}
}

// A text that is no statement fails for every message, and stops at the first.
func TestRunSyntaxError(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		for _, exec := range []string{"insrt into nowhere", "select nosuch", "select ($1).nosuch", "select $2", "select 1/0", "commit", "select mbus4.nosuch()"} {
			s.Want(t, "t", "select count(*) = 2 from (select mbus4.post('q', 'a=>1') from generate_series(1, 2)) x")
			s.Want(t, "0", "select mbus4.run_on_q($1)", exec)
			s.Want(t, "1|t", "select count(*), bool_and(headers->'dmq.error' <> '') from mbus4.consumen('dmq', amt => 9)")
			s.Want(t, "1", "select count(*) from mbus4.consumen('q', amt => 9)") // the other one stays
		}
	})
}

// Null fails for every message, and an empty text succeeds, as in the original.
func TestRunNull(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "0", "select mbus4.run_on_q($1)", nil)
		s.Want(t, "0", "select mbus4.run_q(null)")
		for _, iid := range []string{"m1", "m2"} {
			s.Want(t, iid, "select mbus4.post('q', 'a=>1', iid => $1)", iid)
		}
		s.Want(t, "0", "select mbus4.run_on_q($1)", nil)
		s.Want(t, "t|f", "select mbus4.peek_dmq('m1'), mbus4.peek_dmq('m2')")
		s.Want(t, "0", "select mbus4.run_on_q($1)", nil)
		s.Want(t, "m1|query string argument of EXECUTE is null\nm2|query string argument of EXECUTE is null",
			"select iid, headers->'dmq.error' from mbus4.consumen('dmq', amt => 9) order by iid")
		s.Want(t, "t", "select mbus4.post('q', 'a=>1') <> ''")
		s.Want(t, "1|f", "select mbus4.run_on_q($1), mbus4.peek_dmq()", "")
	})
}

// The statement may itself call mbus4.
func TestRunCalls(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		harness.Ask(t, s.Conn, "select mbus4.create_consumer('r', 'odd', '(t.data->''n'')::int % 2 = 1'); create table done (n int)")
		execs := []struct{ exec, left string }{
			{"select mbus4.post('r', ($1).data, iid => 'r' || ($1).iid)", "r/default:123 r/odd:13"},
			{"select mbus4.post_r(($1).data) from generate_series(1, 2)", "r/default:112233 r/odd:1133"},
			{"with m as (select mbus4.post('r', ($1).data) from generate_series(1, 1)) insert into done select 1 from m", "r/default:123 r/odd:13"},
			{"select mbus4.post('r', ($1).data, hstore('consume_after', array[($1).iid]::text))", "r/default:123 r/odd:13"},
			{"select mbus4.post(case when ($1).iid = 'm2' then 'nowhere' else 'r' end, ($1).data)", "dmq/default:2 r/default:13 r/odd:13"},
			{"select mbus4.post('q', ($1).data, iid => ($1).iid)", "q/default:123"},
			{"select mbus4.create_queue('new' || (($1).data->'n'), 1)", ""},
			{"select mbus4.create_consumer('r', 'c', 't.iid = ''x''') where ($1).iid = 'm2'", ""},
		}
		for _, c := range execs {
			s.Want(t, "", "begin")
			for n := 1; n <= 3; n++ {
				s.Want(t, fmt.Sprint("m", n), "select mbus4.post('q', hstore('n', $1), iid => $2)", n, fmt.Sprint("m", n))
			}
			s.Want(t, fmt.Sprint(3-strings.Count(c.left, "dmq/")), "select mbus4.run_on_q($1)", c.exec)
			s.Want(t, c.left, `select coalesce(string_agg(q || ':' || n, ' ' order by q), '') from (
				select c.qname || '/' || c.name q, string_agg(m.data->'n', '' order by m.data->'n') n
				from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id group by 1) x`)
			s.Want(t, "", "rollback")
		}
		// The error of a call is what a client would see.
		s.Want(t, "m", "select mbus4.post('q', '', iid => 'm')")
		s.Want(t, "0", "select mbus4.run_on_q($1)", "select mbus4.post('nowhere', '')")
		s.Want(t, `queue "nowhere" does not exist`, "select headers->'dmq.error' from mbus4.consume('dmq')")
		// What cannot be served at all is refused as it would be outside, and nothing is taken.
		s.Want(t, "m", "select mbus4.post('q', '', iid => 'm')")
		for exec, code := range map[string]string{
			"create view v as select mbus4.post('r', '')":             "0A000",
			"select mbus4.post('r')":                                  "42883",
			"select mbus4.run_on_q('select 1')":                       "0A000",
			"select mbus4.create_view('q')":                           "0A000",
			"select mbus4.create_consumer('r', 'c', 'now() > now()')": "0A000 42P17",
			"select mbus4.create_consumer('r', 'c', ($1).iid)":        "0A000",
		} {
			s.Refused(t, code, "select mbus4.run_on_q($1)", exec)
		}
		s.Want(t, "m", "select iid from mbus4.consume('q')")
	})
}

// It is part of the client's transaction, and takes a hundred messages at most.
func TestRunInTransaction(t *testing.T) {
	t.Parallel()
	database := newRunDatabase(t, 130)
	for _, f := range protocols() {
		s := &forms.Session{Form: f, Conn: harness.Connect(t, harness.Proxied(), database), Database: database}
		s.Want(t, "", "begin")
		s.Want(t, "100", "select mbus4.run_on_q($1)", record)
		s.Want(t, "100|1|100", "select count(*), min(n), max(n) from done")
		s.Want(t, "", "savepoint s")
		s.Want(t, "0", "select mbus4.run_on_q($1)", "select 1 / 0")
		s.Want(t, "29|1", "select count(*) filter (where c.qname = 'q'), count(*) filter (where c.qname = 'dmq') from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id")
		s.Want(t, "", "rollback to s")
		s.Want(t, "30|0", "select mbus4.run_on_q($1), mbus4.run_q($1)", record)
		s.Want(t, "130", "select count(distinct n) from done")
		s.Want(t, "f", "select mbus4.peek_q()")
		s.Want(t, "", "rollback")
		s.Want(t, "0", "select count(*) from done")
		s.Want(t, "130", "select mbus4.estimated_messages('q')")
	}
}

// In one Query message with others: each in its place, and all undone when one fails.
func TestRunAmongStatements(t *testing.T) {
	t.Parallel()
	database := newRunDatabase(t, 2)
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Want(t, conn, "2\n1 2\n0", "select mbus4.run_on_q('"+strings.ReplaceAll(record, "'", "''")+"'); "+doneNow+"; select mbus4.run_on_q('select 1')")
	harness.Want(t, conn, "x\n1\n1 2 7", "select mbus4.post('q', 'n=>7', iid => 'x'); select mbus4.run_on_q('"+strings.ReplaceAll(record, "'", "''")+"'); "+doneNow)
	harness.Refused(t, conn, "22012", "select mbus4.post('q', 'n=>8', iid => 'y'); select mbus4.run_on_q('insert into done values (8)'); select 1 / 0")
	harness.Want(t, conn, "1 2 7\nf", doneNow+"; select mbus4.peek_q()")
}

// Where a call cannot be done by a statement before it, it is refused and nothing is taken.
func TestRunRefusedPositions(t *testing.T) {
	t.Parallel()
	statements := []string{
		"select 1 where mbus4.run_on_q('select 1') > 0",
		"select mbus4.run_on_q('select 1') from done",
		"select mbus4.run_on_q('select 1') limit 1",
		"select mbus4.run_on_q('select 1') order by 1",
		"select case when true then mbus4.run_on_q('select 1') end",
		"select (select mbus4.run_on_q('select 1'))",
		"insert into done select mbus4.run_on_q('select 1')",
		"insert into done values (mbus4.run_on_q('select 1'))",
		"update done set n = mbus4.run_on_q('select 1')",
		"with r as (select mbus4.run_on_q('select 1')) select * from r",
		"create table x as select mbus4.run_on_q('select 1')",
		"explain select mbus4.run_on_q('select 1')",
		"prepare p as select mbus4.run_on_q('select 1')",
		"declare c cursor for select mbus4.run_on_q('select 1')",
		"copy (select mbus4.run_on_q('select 1')) to stdout",
		"select mbus4.run_on_q('select 1'), generate_series(1, 2)",
		"select mbus4.run_on_q('select 1') union select 1",
	}
	database := newRunDatabase(t, 1)
	for _, f := range protocols() {
		t.Run(f.Name, func(t *testing.T) {
			s := &forms.Session{Form: f, Conn: harness.Connect(t, harness.Proxied(), database), Database: database}
			for _, sql := range statements {
				said := s.Refused(t, "0A000", sql)
				if strings.Contains(said, "(at 0;") || strings.Contains(said, `hint ""`) {
					t.Errorf("%s: no position or hint: %s", sql, said)
				}
			}
			s.Want(t, "m1", "select iid from mbus4.message")
		})
	}
}

// A Query has no parameters, and the server's error for one is that for any other statement.
func TestRunParameterInQuery(t *testing.T) {
	t.Parallel()
	database := newRunDatabase(t, 1)
	conn := harness.Connect(t, harness.Proxied(), database)
	for _, sql := range []string{
		"select mbus4.run_on_q($1)",
		"select 'ü', mbus4.run_on_q(exec => $2)",
		"select mbus4.run_on_q('select 1'), mbus4.run_on_q($3)",
		"select mbus4.create_view('q', viewname => $1)",
		"call mbus4.process_queue($1, 'select 1')",
		"select mbus4.create_consumer('q', 'c', $1)",
		"select iid from mbus4.dyn_consume('q', $1)",
	} {
		said := harness.Refusal(t, conn, "42P02", sql)
		at := strings.Index(sql, "$")
		if want := "there is no parameter " + sql[at:at+2]; said.Message != want || int(said.Position) != 1+len([]rune(sql[:at])) {
			t.Errorf("%s: %q at %d", sql, said.Message, said.Position)
		}
	}
	harness.Want(t, conn, "m1", "select iid from mbus4.message")
}

// Cancelled in the middle, nothing was done.
func TestRunCancel(t *testing.T) {
	t.Parallel()
	for _, f := range protocols() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			database := newRunDatabase(t, 5)
			conn, server := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
			ended := make(chan error, 1)
			ctx := harness.Context(t)
			go func() {
				_, err := f.Run(ctx, conn, forms.Do("select mbus4.run_on_q($1)",
					"with d as (insert into done values ((($1).data->'n')::int)) select pg_sleep(30) where ($1).iid = 'm3'"))
				ended <- err
			}()
			sleeping := fmt.Sprintf("select count(*) = 1 from pg_stat_activity where pid = %d and wait_event = 'PgSleep'", conn.PID())
			harness.Await(t, server, sleeping)
			if err := conn.CancelRequest(ctx); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; harness.SQLState(err) != "57014" {
				t.Errorf("%s; want 57014", harness.Describe(err))
			}
			harness.Want(t, conn, "", doneNow)
			harness.Want(t, conn, "5|0", "select mbus4.estimated_messages('q'), mbus4.estimated_messages('dmq')")
			harness.Want(t, conn, "5", "select mbus4.run_on_q($1)", record)
		})
	}
}

// Two sessions at once share the messages without overlap.
func TestRunConcurrently(t *testing.T) {
	t.Parallel()
	database := newRunDatabase(t, 150)
	one, two := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, one, "begin")
	harness.Want(t, one, "100", "select mbus4.run_on_q($1)", record)
	harness.Want(t, two, "50", "select mbus4.run_on_q($1)", record)
	harness.Ask(t, one, "commit")
	harness.Want(t, two, "0", "select mbus4.run_on_q($1)", record)
	harness.Want(t, two, "150|150", "select count(*), count(distinct n) from done")
}

// Where the consumer has a policy for attempts, a message that fails comes again later, and goes to
// dmq after the last attempt.
func TestRunRetries(t *testing.T) {
	t.Parallel()
	database := newRunDatabase(t, 3)
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.alter_consumer('q', max_attempts => 2, backoff => '1 h', jitter => 0)")
	const exec = "insert into done select (($1).data->'n')::int / (case when ($1).iid = 'm2' then 0 else 1 end)"
	harness.Want(t, conn, "2", "select mbus4.run_on_q($1)", exec)
	harness.Want(t, conn, "delayed|t|1|division by zero", `select w.state, w.until between now() + '59 min' and now() + '1 h', m.headers->'retry.attempt', m.headers->'retry.error'
		from mbus4.why('m2') w, mbus4.peek('m2') m`)
	harness.Ask(t, conn, "update mbus4.message set available_at = clock_timestamp()")
	harness.Want(t, conn, "0", "select mbus4.run_on_q($1)", exec)
	harness.Want(t, conn, "m2|2|division by zero|q", "select iid, headers->'retry.attempt', headers->'dmq.error', headers->'destination' from mbus4.consume('dmq')")
}
