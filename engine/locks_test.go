package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
	"mbusproxy/engine/semaphore"
)

// Whoever may connect may take every advisory lock the engine ever used, and those that its sessions hold now: it is
// in nobody's way.
func TestAdvisoryLocksOfOthers(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	hostile := connectTo(t, dsnAs(t, name, newRole(t, name)))
	mustExec(t, hostile, "select pg_advisory_lock(1835169139, n) from generate_series(0, 100) n")

	granted := func(e *Engine, task int64) {
		t.Helper()
		db, err := e.Database(testContext(t), name)
		if err != nil {
			t.Fatal(err)
		}
		conn := connect(t, name)
		calls := semaphore.New(conn)
		if _, err := calls.GetOrCreate(testContext(t), "s"); err != nil {
			t.Fatal(err)
		}
		if err := calls.Enqueue(testContext(t), "s", task, 1); err != nil {
			t.Fatal(err)
		}
		db.NoteSemaphores()
		eventually(t, "the task gets a slot", func() bool {
			return one[string](t, conn, "select status::text from mbus4.semaphore_task where task_id = $1", task) == "ACQUIRED"
		})
		eventually(t, "a hint rises", func() bool {
			return one[int64](t, conn, "select coalesce(max(last_value), 0) from pg_sequences where schemaname = 'mbus4' and sequencename ~ '^hint_'") > 0
		})
	}
	first := openEngine(t, Options{})
	granted(first, 1)

	// What the engine's sessions hold others may hold as well. It does not keep dead ones alive.
	const squat = `select count(*) from pg_locks where locktype = 'advisory' and classid = 1835169139 and granted and mode = 'ShareLock'
		and database = (select oid from pg_database where datname = current_database()) and pg_try_advisory_lock_shared(1835169139, objid::int)`
	if n := one[int](t, hostile, squat); n < 2 {
		t.Errorf("%d marks of sessions, want those of two services", n)
	}
	first.Close()
	granted(openEngine(t, Options{}), 2)
}

// A session that leads does so until it ends, and others find out.
func TestLead(t *testing.T) {
	t.Parallel()
	name := installed(t)
	super := connect(t, name)
	tries := func(conn *pgx.Conn, want bool) {
		t.Helper()
		if got, err := schema.Lead(testContext(t), conn, schema.serviceHinter); err != nil || got != want {
			t.Errorf("leads: %v, %v; want %v", got, err, want)
		}
	}
	first, second := connect(t, name), connect(t, name)
	tries(first, true)
	tries(second, false)
	tries(first, true)
	tries(second, false)

	// Somebody is just now taking it: nobody waits.
	mustExec(t, super, "begin; select from mbus4.service for update")
	tries(second, false)
	mustExec(t, super, "rollback")

	admin.Close(context.Background(), first)
	eventually(t, "the second one leads", func() bool {
		leads, err := schema.Lead(testContext(t), second, schema.serviceHinter)
		if err != nil {
			t.Fatal(err)
		}
		return leads
	})

	// The process id of a session that has gone comes back with somebody else, who takes the same mark.
	hostile := connectTo(t, dsnAs(t, name, newRole(t, name)))
	mark := one[int64](t, super, "select owner & 4294967295 from mbus4.service where name = 'hinter'")
	mustExec(t, hostile, "select pg_advisory_lock_shared(1835169139, $1)", mark)
	mustExec(t, super, "update mbus4.service set owner = $1::bigint << 32 | $2 where name = 'hinter'", hostile.PgConn().PID(), mark)
	third := connect(t, name)
	tries(third, true)
}

// Of a session that leads nothing is seen that would hold back vacuum.
func TestLeadPinsNothing(t *testing.T) {
	t.Parallel()
	name := installed(t)
	conn := connect(t, name)
	if leads, err := schema.Lead(testContext(t), conn, schema.serviceGranter); err != nil || !leads {
		t.Fatal(leads, err)
	}
	if one[bool](t, connect(t, name), `select backend_xmin is not null or backend_xid is not null or state <> 'idle'
		from pg_stat_activity where pid = $1`, conn.PgConn().PID()) {
		t.Error("it holds a snapshot or a transaction")
	}
}

// mbus4_user may delete messages, and so may lock their table in any mode. Services do not hang, and go on when the
// lock is gone, over the same connection.
func TestServicesSurviveLockedTables(t *testing.T) {
	t.Parallel()
	name := installed(t)
	super := connect(t, name)
	role := newRole(t, name)
	mustExec(t, super, "grant mbus4_user to "+role)
	user := connectTo(t, dsnAs(t, name, role))
	log, seen, _ := watchLog()
	e := openEngine(t, Options{SweepInterval: 1, Log: log})
	if _, err := e.Database(testContext(t), name); err != nil {
		t.Fatal(err)
	}
	id := one[int64](t, super, newConsumer, "q")
	for _, table := range []string{"message", "semaphore_task", "work_queue"} {
		mustExec(t, user, "begin; lock mbus4."+table)
		if table == "message" {
			eventually(t, "services notice", func() bool { return seen("housekeeping held up by a lock") })
		}
		mustExec(t, user, "rollback")
		mustExec(t, super, postSQL, id, "1 s ago", "of "+table, "")
		eventually(t, "the message is swept", func() bool { return one[bool](t, super, "select not exists (select from mbus4.message)") })
	}
	if seen("housekeeping interrupted") {
		t.Error("the connection was given up")
	}
	// What it has no right to delete it cannot lock so that others wait.
	for _, table := range []string{"service", "upgrade_lock", "schema_version", "view_insert", "queue", "consumer", "waiting", "semaphore"} {
		for _, mode := range []string{"exclusive", "share", "access exclusive", "share update exclusive"} {
			_, err := user.Exec(testContext(t), fmt.Sprintf("begin; lock mbus4.%s in %s mode", table, mode))
			if refusal.SQLState(err) != refusal.LackingRights {
				t.Errorf("%s in %s mode: %v", table, mode, err)
			}
			mustExec(t, user, "rollback")
		}
	}
}

// Any role may notify: what it sends is not kept.
func TestNotificationsAreNotKept(t *testing.T) {
	t.Parallel()
	name := installed(t)
	e := openEngine(t, Options{})
	conn, err := e.server.Connect(testContext(t), name)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background(), conn)
	mustExec(t, conn, "listen "+semaphore.grantChannel)
	hostile := connectTo(t, dsnAs(t, name, newRole(t, name)))
	mustExec(t, hostile, "select pg_notify($1, n::text) from generate_series(1, 1000) n", semaphore.grantChannel)
	n, err := conn.WaitForNotification(testContext(t)) // the wait ends all the same
	if err != nil {
		t.Fatal(err)
	}
	if n != nil {
		t.Errorf("kept %+v", n)
	}
}
