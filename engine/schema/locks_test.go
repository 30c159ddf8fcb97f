package schema_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine"
	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/internal/served"
	"mbusproxy/engine/schema"
	"mbusproxy/engine/semaphore"
)

// Whoever may connect may take every advisory lock the engine ever used, and those that its sessions hold now: it is
// in nobody's way.
func TestAdvisoryLocksOfOthers(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	hostile := enginetest.ConnectTo(t, enginetest.DSNAs(t, name, enginetest.NewRole(t, name)))
	enginetest.Exec(t, hostile, "select pg_advisory_lock(1835169139, n) from generate_series(0, 100) n")

	granted := func(e *engine.Engine, task int64) {
		t.Helper()
		db, err := e.Database(enginetest.Context(t), name)
		if err != nil {
			t.Fatal(err)
		}
		conn := enginetest.Connect(t, name)
		calls := semaphore.New(conn)
		if _, err := calls.GetOrCreate(enginetest.Context(t), "s"); err != nil {
			t.Fatal(err)
		}
		if err := calls.Enqueue(enginetest.Context(t), "s", task, 1); err != nil {
			t.Fatal(err)
		}
		db.NoteSemaphores()
		enginetest.Eventually(t, "the task gets a slot", func() bool {
			return enginetest.One[string](t, conn, "select status::text from mbus4.semaphore_task where task_id = $1", task) == "ACQUIRED"
		})
		enginetest.Eventually(t, "a hint rises", func() bool {
			return enginetest.One[int64](t, conn, "select coalesce(max(last_value), 0) from pg_sequences where schemaname = 'mbus4' and sequencename ~ '^hint_'") > 0
		})
	}
	first := served.Open(t, engine.Options{})
	granted(first, 1)

	// What the engine's sessions hold others may hold as well. It does not keep dead ones alive.
	const squat = `select count(*) from pg_locks where locktype = 'advisory' and classid = 1835169139 and granted and mode = 'ShareLock' and pid <> pg_backend_pid()
		and database = (select oid from pg_database where datname = current_database()) and pg_try_advisory_lock_shared(1835169139, objid::int)`
	enginetest.Eventually(t, "the sessions of two services have their marks", func() bool {
		db, err := first.Database(enginetest.Context(t), name) // in use: the services have sessions
		if err != nil {
			t.Fatal(err)
		}
		db.NoteSemaphores()
		return enginetest.One[int](t, hostile, squat) >= 2
	})
	first.Close()
	granted(served.Open(t, engine.Options{}), 2)
}

// A session that leads does so until it ends, and others find out.
func TestLead(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	super := enginetest.Connect(t, name)
	tries := func(conn *pgx.Conn, want bool) {
		t.Helper()
		if got, err := schema.Lead(enginetest.Context(t), conn, "hinter"); err != nil || got != want {
			t.Errorf("leads: %v, %v; want %v", got, err, want)
		}
	}
	first, second := enginetest.Connect(t, name), enginetest.Connect(t, name)
	tries(first, true)
	tries(second, false)
	tries(first, true)
	tries(second, false)

	// Somebody is just now taking it: nobody waits.
	enginetest.Exec(t, super, "begin; select from mbus4.service for update")
	tries(second, false)
	enginetest.Exec(t, super, "rollback")

	admin.Close(context.Background(), first)
	enginetest.Eventually(t, "the second one leads", func() bool {
		leads, err := schema.Lead(enginetest.Context(t), second, "hinter")
		if err != nil {
			t.Fatal(err)
		}
		return leads
	})

	// The process id of a session that has gone comes back with somebody else, who takes the same mark.
	hostile := enginetest.ConnectTo(t, enginetest.DSNAs(t, name, enginetest.NewRole(t, name)))
	mark := enginetest.One[int64](t, super, "select owner & 4294967295 from mbus4.service where name = 'hinter'")
	enginetest.Exec(t, hostile, "select pg_advisory_lock_shared(1835169139, $1)", mark)
	enginetest.Exec(t, super, "update mbus4.service set owner = $1::bigint << 32 | $2 where name = 'hinter'", hostile.PgConn().PID(), mark)
	third := enginetest.Connect(t, name)
	tries(third, true)
}

// Of a session that leads nothing is seen that would hold back vacuum.
func TestLeadPinsNothing(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	if leads, err := schema.Lead(enginetest.Context(t), conn, "granter"); err != nil || !leads {
		t.Fatal(leads, err)
	}
	if enginetest.One[bool](t, enginetest.Connect(t, name), `select backend_xmin is not null or backend_xid is not null or state <> 'idle'
		from pg_stat_activity where pid = $1`, conn.PgConn().PID()) {
		t.Error("it holds a snapshot or a transaction")
	}
}
