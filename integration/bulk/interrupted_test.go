package bulk

import (
	"context"
	"fmt"
	"testing"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/internal/bulk"
)

// Whatever ends an operation in the middle, the next log-in goes on with it, and each message is
// put back once, or once removed, or once taken back.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	const amount = 60
	for _, kind := range []bulk.Kind{bulk.Redrive, bulk.Move, bulk.Purge, bulk.Undo} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q", "r")
			role := harness.NewRole(t)
			harness.Admin(t, "grant mbus4_user to "+role)
			die(t, database, amount)
			admin := harness.Connect(t, harness.Direct(), database)
			was := harness.Ask(t, admin, dead)
			conn := connect(t, database, role)
			var id int64
			switch kind {
			case bulk.Undo:
				done := run(t, conn, begin(t, conn, bulk.Request{Kind: bulk.Redrive}))
				var err error
				if id, err = bulk.BeginUndo(harness.Context(t), conn, done.ID); err != nil {
					t.Fatal(err)
				}
			case bulk.Move:
				id = begin(t, conn, bulk.Request{Kind: kind, TargetQueue: "r"})
			default:
				id = begin(t, conn, bulk.Request{Kind: kind})
			}

			// Killed between two batches, with the next one under way, by the client's end, and by the server's.
			for point := range 4 {
				ctx, cancel := context.WithCancel(harness.Context(t))
				_, err := bulk.Run(ctx, bulk.In(conn), id, bulk.Options{Batch: 7, Progress: func(o bulk.Operation) {
					switch point {
					case 0:
						harness.Ask(t, admin, fmt.Sprintf("select pg_terminate_backend(%d, 10000)", conn.PgConn().PID()))
					case 1:
						harness.Close(conn)
					case 2:
						cancel()
					case 3:
						if err := harness.Abort(conn.PgConn()); err != nil {
							t.Error(err)
						}
					}
				}})
				cancel()
				if err == nil {
					t.Fatalf("point %d: it ran on", point)
				}
				pid := conn.PgConn().PID()
				harness.Close(conn)
				harness.AwaitBackendGone(t, admin, pid)
				conn = connect(t, database, role)
				o, err := bulk.Find(harness.Context(t), conn, id)
				if err != nil || o.State != bulk.Paused || !o.Interrupted {
					t.Fatalf("point %d: %+v, %v", point, o, err)
				}
			}
			o := run(t, conn, id)
			wantCounts(t, o, amount, 0, 0)

			switch kind {
			case bulk.Undo:
				harness.Want(t, admin, was, dead)
				harness.Want(t, admin, "0", "select count(*) from mbus4.operation_log")
			case bulk.Purge:
				harness.Want(t, admin, "nothing", all)
			default:
				harness.Want(t, admin, fmt.Sprintf("%d|%[1]d|%[1]d", amount), "select count(*), count(distinct data->'n'), count(*) filter (where consumer_id <> 1) from mbus4.message")
			}
			harness.Want(t, admin, fmt.Sprint(amount), fmt.Sprintf("select sum(messages) from mbus4.audit where action = '%s' and (details->>'operation')::int = %d", kind, id))
		})
	}
}

// A batch that is killed in its middle has done nothing: neither messages, nor how far it came, nor the audit.
func TestKilledInABatch(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	role := harness.NewRole(t)
	harness.Admin(t, "grant mbus4_user to "+role)
	die(t, database, 30)
	admin := harness.Connect(t, harness.Direct(), database)
	was := harness.Ask(t, admin, dead)
	conn := connect(t, database, role)
	id := begin(t, conn, bulk.Request{Kind: bulk.Redrive})
	// Somebody is about to post under the iid of the twentieth: the batch waits for how that ends.
	poster := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, poster, "begin; select mbus4.post('q', 'n=>0', iid => 'own20')")
	ended := make(chan error, 1)
	go func() {
		_, err := bulk.Run(harness.Context(t), bulk.In(conn), id, bulk.Options{Batch: 100})
		ended <- err
	}()
	harness.Await(t, admin, fmt.Sprintf("select exists (select from pg_locks where pid = %d and not granted)", conn.PgConn().PID()))
	harness.Ask(t, admin, fmt.Sprintf("select pg_terminate_backend(%d, 10000)", conn.PgConn().PID()))
	if err := <-ended; err == nil {
		t.Fatal("it ran on")
	}
	harness.Want(t, admin, was, dead)
	harness.Want(t, admin, "0|1|running", fmt.Sprintf("select o.done, (select count(*) from mbus4.audit), o.state from mbus4.operation o where o.id = %d", id))
	harness.Ask(t, poster, "commit")
	// Under its iid the consumer has another by now.
	wantCounts(t, run(t, connect(t, database, role), id), 29, 1, 0)
}

// Paused and cancelled from another session it stops after the batch that is under way; only one
// session runs it at a time.
func TestPausedAndCancelled(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	role := harness.NewRole(t)
	harness.Admin(t, "grant mbus4_user to "+role)
	die(t, database, 50)
	ctx := harness.Context(t)
	conn, steering := connect(t, database, role), connect(t, database, role)
	id := begin(t, conn, bulk.Request{Kind: bulk.Redrive})
	o, err := bulk.Run(ctx, bulk.In(conn), id, bulk.Options{Batch: 10, Progress: func(o bulk.Operation) {
		if o.Done == 10 && o.State == bulk.Running {
			if _, err := bulk.Run(ctx, bulk.In(steering), id, bulk.Options{}); bulk.SQLState(err) != "55006" {
				t.Errorf("run twice: %v", err)
			}
			if seen, err := bulk.Find(ctx, steering, id); err != nil || seen.State != bulk.Running || seen.Interrupted {
				t.Errorf("while it runs: %+v, %v", seen, err)
			}
			if err := bulk.Pause(ctx, steering, id); err != nil {
				t.Error(err)
			}
		}
	}})
	if err != nil || o.State != bulk.Paused || o.Interrupted || o.Done != 10 {
		t.Fatalf("paused: %+v, %v", o, err)
	}
	if o, err := bulk.Run(ctx, bulk.In(steering), id, bulk.Options{}); err != nil || o.State != bulk.Paused || o.Done != 10 {
		t.Fatalf("what is paused runs: %+v, %v", o, err)
	}
	if _, err := bulk.BeginUndo(ctx, conn, id); bulk.SQLState(err) != "55000" {
		t.Errorf("undone before it ended: %v", err)
	}
	if err := bulk.Resume(ctx, steering, id); err != nil {
		t.Fatal(err)
	}
	harness.Close(conn)
	harness.AwaitBackendGone(t, harness.Connect(t, harness.Direct(), database), conn.PgConn().PID()) // until then it is the one that runs it
	o, err = bulk.Run(ctx, bulk.In(steering), id, bulk.Options{Batch: 10, Progress: func(o bulk.Operation) {
		if o.Done == 30 {
			if err := bulk.Cancel(ctx, steering, id); err != nil { // between two batches
				t.Error(err)
			}
		}
	}})
	if err != nil || o.State != bulk.Cancelled || o.Done != 30 {
		t.Fatalf("cancelled: %+v, %v", o, err)
	}
	if err := bulk.Resume(ctx, steering, id); bulk.SQLState(err) != "55000" {
		t.Errorf("resumed after its end: %v", err)
	}
	undo, err := bulk.BeginUndo(ctx, steering, id)
	if err != nil {
		t.Fatal(err)
	}
	wantCounts(t, run(t, steering, undo), 30, 0, 0)
	harness.Want(t, harness.Connect(t, harness.Direct(), database), "50", "select count(*) from mbus4.message where consumer_id = 1")
}
