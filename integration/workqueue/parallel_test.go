package workqueue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// The experiment of the document: two processes share a queue of slow messages without overlap, and
// need half the time of one.
func TestWorkQueueTwoProcesses(t *testing.T) {
	t.Parallel()
	const messages = 40
	for _, f := range forms.All() {
		t.Run(f.Name, func(t *testing.T) {
			database := harness.NewQueueDatabase(t)
			observer := harness.Connect(t, harness.Proxied(), database)
			took := func(processes int) time.Duration {
				t.Helper()
				addMessages(t, observer, messages)
				conns := make([]*pgconn.PgConn, processes)
				for p := range conns {
					conns[p] = harness.Connect(t, harness.Proxied(), database)
				}
				errs := make([]error, processes)
				var all sync.WaitGroup
				ctx, start := harness.Context(t), time.Now()
				for p, conn := range conns {
					all.Go(func() {
						_, errs[p] = f.Run(ctx, conn, forms.Do("call mbus4.process_queue($1, $2)", p+1, toDone+"; select pg_sleep(0.05)"))
					})
				}
				all.Wait()
				elapsed := time.Since(start)
				if err := errors.Join(errs...); err != nil {
					t.Fatal(harness.Describe(err))
				}
				harness.Want(t, observer, fmt.Sprintf("0|%[1]d|%[1]d|%[2]d|t", messages, processes),
					fmt.Sprintf(`select (select count(*) from mbus4.work_queue), sum(n), sum(different), count(*), min(n) > %d
						from (select count(*) as n, count(distinct n) as different, process from done group by process) s`, messages/processes/2))
				harness.Ask(t, observer, "truncate done")
				return elapsed
			}
			ratio := 1.0
			for try := 0; try < 3 && ratio > 0.65; try++ { // the machine may be busy with something else
				one, two := took(1), took(2)
				ratio = two.Seconds() / one.Seconds()
				t.Logf("one process: %v, two: %v, ratio %.2f", one.Round(time.Millisecond), two.Round(time.Millisecond), ratio)
			}
			if ratio > 0.65 {
				t.Errorf("two processes take %.2f of the time of one", ratio)
			}
		})
	}
}

// Sixteen processes, half of which die in the middle of their work: nothing is lost, and nothing is
// started twice but what the dead had claimed with get_next_message.
func TestWorkQueueDeaths(t *testing.T) {
	t.Parallel()
	const messages, processes = 1600, 16
	database := harness.NewQueueDatabase(t)
	observer, server := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, observer, "create table started (n int, process int)")
	addMessages(t, observer, messages)
	ctx := harness.Context(t)
	fs := forms.All()
	workers := make([]*queueWorker, processes)
	var all sync.WaitGroup
	for p := range workers {
		w := &queueWorker{process: p, form: fs[p%len(fs)], conn: harness.Connect(t, harness.Proxied(), database)}
		workers[p] = w
		run := w.processQueue
		if p%2 == 1 {
			run = w.claimAndComplete
		}
		all.Go(func() { w.err = run(ctx) })
	}
	// Every other pair dies, one of each kind: by the server's hand or by a reset of its connection.
	for p, w := range workers {
		if !w.victim() {
			continue
		}
		harness.Await(t, server, fmt.Sprintf("select count(*) > %d from done", 60*(p+1)))
		if p%8 < 4 {
			harness.Ask(t, server, fmt.Sprintf("select pg_terminate_backend(%d)", w.conn.PID()))
		} else if err := harness.Abort(w.conn); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	for _, w := range workers {
		if w.err != nil && !w.victim() {
			t.Errorf("process %d: %s", w.process, harness.Describe(w.err))
		}
		if w.err == nil && w.victim() && w.process%2 == 1 {
			t.Errorf("process %d was not killed", w.process)
		}
	}
	for _, w := range workers {
		if w.victim() { // one whose client is gone may go on for a while
			harness.AwaitBackendGone(t, server, w.conn.PID())
		}
	}
	harness.Want(t, observer, "0", `select count(*) from done group by n having count(*) > 1 union all select 0`)
	claimed := harness.Ask(t, observer, "select string_agg(payload->>'n', ',') from mbus4.work_queue")
	t.Logf("the dead had claimed %s", claimed)
	harness.Want(t, observer, "t|t", `select count(*) between 1 and 4, bool_and(process_id in (3, 7, 11, 15)) from mbus4.work_queue`)
	harness.Want(t, observer, fmt.Sprint(messages), "select (select count(*) from done) + count(*) from mbus4.work_queue")

	released := harness.Ask(t, observer, "select sum(r) from (select mbus4.release_messages(p) as r from generate_series(0, 15) p) s")
	harness.Want(t, observer, released, "select count(*) from mbus4.work_queue where process_id is null")
	harness.Ask(t, observer, "call mbus4.process_queue(99, $1)", "insert into started select ($1->>'n')::int, 99; "+toDone)
	harness.Want(t, observer, fmt.Sprintf("0|%[1]d|%[1]d", messages), "select (select count(*) from mbus4.work_queue), count(*), count(distinct n) from done")
	if claimed != harness.Null {
		harness.Want(t, observer, "0", fmt.Sprintf("select count(*) from (select n from started group by n having count(*) > 1) s where n not in (%s)", claimed))
	}
	harness.Want(t, observer, fmt.Sprint(messages), "select count(distinct n) from started")
}

// queueWorker is one of the processes that work on a queue.
type queueWorker struct {
	process int
	form    forms.Form
	conn    *pgconn.PgConn
	err     error // of its work
}

// victim: 2, 3, 6, 7, 10, 11, 14 and 15 are killed.
func (w *queueWorker) victim() bool { return w.process%4 >= 2 }

func (w *queueWorker) processQueue(ctx context.Context) error {
	handler := fmt.Sprintf("insert into started select ($1->>'n')::int, %d; %s; select pg_sleep(0.01)", w.process, toDone)
	for again := true; again; {
		if _, err := w.form.Run(ctx, w.conn, forms.Do("call mbus4.process_queue($1, $2)", w.process, handler)); err != nil {
			return err
		}
		// What others hold now may come back when they die.
		left, err := harness.Query(ctx, w.conn, "select exists (select from mbus4.work_queue where process_id is null), pg_sleep(0.01)")
		if err != nil {
			return err
		}
		again = strings.HasPrefix(left, "t")
	}
	return nil
}

// claimAndComplete claims in one transaction, says so in another, and works in a third.
func (w *queueWorker) claimAndComplete(ctx context.Context) error {
	for {
		got, err := w.form.Run(ctx, w.conn, forms.Do("select id, payload->>'n' from mbus4.get_next_message($1)", w.process))
		if err != nil || got == "" {
			return err
		}
		id, n, _ := strings.Cut(got, "|")
		if _, err := w.form.Run(ctx, w.conn, forms.Do("insert into started values ($1, $2)", n, w.process)); err != nil {
			return err
		}
		if _, err := w.form.Run(ctx, w.conn, forms.Do("select pg_sleep(0.02)")); err != nil {
			return err
		}
		if _, err := w.form.Run(ctx, w.conn,
			forms.Do("begin"), forms.Do("insert into done(n) values ($1)", n), forms.Do("select mbus4.complete_message($1)", id), forms.Do("commit")); err != nil {
			return err
		}
	}
}
