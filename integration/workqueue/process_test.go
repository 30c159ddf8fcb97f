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
			awaitNoticed(t, conn)
			ended := make(chan error, 1)
			ctx := harness.Context(t)
			go func() {
				_, err := f.Run(ctx, worker, forms.Do("call mbus4.process_queue(5, $1)", handler))
				ended <- err
			}()
			harness.Await(t, conn, "select exists (select from pg_stat_activity where wait_event = 'PgSleep' and query_start < now() - interval '2.5 s' and datname = current_database())")
			select {
			case n := <-notices:
				if n.Severity != "NOTICE" || !strings.HasPrefix(n.Message, "process 5: ") || !strings.HasSuffix(n.Message, " messages completed, 1 failed") {
					t.Errorf("%+v", n)
				}
			case <-time.After(harness.AskLimit):
				t.Error("no notice")
			}
			// Up to the one that would sleep for long.
			harness.Await(t, conn, "select count(*) = 2 from mbus4.work_queue")
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
			harness.Ask(t, conn, "update mbus4.work_queue set next_attempt_at = 'infinity' where not payload ? 'sleep'") // the failed one comes again in a second
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
	awaitNoticed(t, conn)
	harness.Ask(t, old, `begin; select mbus4.add_message('1')`)
	harness.Ask(t, conn, "select mbus4.add_message(to_jsonb(n)) from generate_series(2, 40) n")
	ended := make(chan error, 1)
	ctx := harness.Context(t)
	go func() {
		_, err := harness.Query(ctx, worker, "call mbus4.process_queue(1, $1)", "insert into done values (($1)::int); select pg_sleep(0.1)")
		ended <- err
	}()
	harness.Await(t, conn, "select count(*) >= 8 from done")
	harness.Ask(t, old, "commit")
	harness.Want(t, conn, "1", "select mbus4.release_messages(9)")
	if err := <-ended; err != nil {
		t.Fatal(harness.Describe(err))
	}
	harness.Want(t, conn, "0|45", "select (select count(*) from mbus4.work_queue), count(*) from done")
	// Not only at the end.
	harness.Want(t, conn, "t|-3", `select (select max(at) from done where n in (1, -4)) < (select at from done where n = 35), (select n from done order by at limit 1)`)
}
