package waiting

import (
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/harness"
)

// What somebody has consumed and gives back wakes who waits for it, without a sweep, however it comes back.
func TestWaitForWhatIsGivenBack(t *testing.T) {
	t.Parallel()
	proxy := unswept(t)
	for name, c := range map[string]struct{ before, giveBack string }{
		"rollback":                  {"begin; select mbus4.consume('q')", "rollback"},
		"rollback after an error":   {"begin; select mbus4.consume('q')", "rollback"},
		"its client is gone":        {"begin; select mbus4.consume('q')", ""},
		"its session is terminated": {"begin; select mbus4.consume('q')", ""},
		"a half read portal":        {"begin", "rollback"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabaseAt(t, proxy.Endpoint, "q")
			direct, holder, waiter := harness.Connect(t, harness.Direct(), database), harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
			harness.Ask(t, holder, "select mbus4.post('q', 'n=>1')")
			harness.Ask(t, holder, c.before)
			if name == "a half read portal" {
				f := holder.Frontend()
				f.Send(&pgproto3.Parse{Query: "select n from generate_series(1, 3) n, mbus4.consume('q')"})
				f.Send(&pgproto3.Bind{})
				f.Send(&pgproto3.Execute{MaxRows: 1})
				f.Send(&pgproto3.Flush{})
				if err := f.Flush(); err != nil {
					t.Fatal(err)
				}
				for suspended := false; !suspended; {
					m, err := f.Receive()
					if err != nil {
						t.Fatal(err)
					}
					_, suspended = m.(*pgproto3.PortalSuspended)
				}
				f.Send(&pgproto3.Sync{})
			}
			a := ask(t, waiter, waitForOne)
			awaitWaiting(t, direct, waiter)
			// The look at a line in which somebody waits for the first time is over as well.
			harness.Await(t, direct, `select exists (select from pg_stat_activity w, pg_stat_activity c where w.datname = current_database() and c.pid = $1
				and w.state = 'idle' and w.query like '%unnest($1::pg_catalog.text[])%' and w.query_start > c.state_change)`, int(waiter.PID()))
			switch name {
			case "its client is gone":
				if err := holder.Conn().Close(); err != nil {
					t.Fatal(err)
				}
			case "its session is terminated":
				harness.Ask(t, direct, "select pg_terminate_backend($1)", int(holder.PID()))
			case "rollback after an error":
				harness.Refused(t, holder, "22012", "select 1 / 0")
			}
			if c.giveBack != "" {
				harness.Ask(t, holder, c.giveBack)
			}
			a.want(t, "1")
		})
	}
}

// Who is woken for a message and fails with it leaves it to the next in line.
func TestWaitBehindOneThatFails(t *testing.T) {
	t.Parallel()
	proxy := unswept(t)
	for name, args := range map[string][]any{"simple": nil, "extended": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabaseAt(t, proxy.Endpoint, "q")
			direct, poster := harness.Connect(t, harness.Direct(), database), harness.Connect(t, proxy.Endpoint, database)
			failing, waiter := harness.Connect(t, proxy.Endpoint, database), harness.Connect(t, proxy.Endpoint, database)
			harness.Ask(t, direct, "create table kept (v text check (v <> '1'))")
			a := ask(t, failing, "insert into kept select data->'n' from mbus4.consume('q', wait => '1h')", args...)
			awaitWaiting(t, direct, failing)
			b := ask(t, waiter, waitForOne, args...)
			awaitWaiting(t, direct, waiter)
			harness.Ask(t, poster, "select mbus4.post('q', 'n=>1')")
			if _, err := a.answer(t); harness.SQLState(err) != "23514" {
				t.Errorf("%v, want 23514", err)
			}
			b.want(t, "1")
		})
	}
}
