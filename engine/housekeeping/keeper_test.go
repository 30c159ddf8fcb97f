package housekeeping_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine"
	"mbusproxy/engine/housekeeping"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/internal/served"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
)

// withMember makes a database, and connects to it as a superuser and as a member of mbus4_user.
func withMember(t *testing.T) (name string, super, user *pgx.Conn) {
	t.Helper()
	name = enginetest.Installed(t)
	super = enginetest.Connect(t, name)
	role := enginetest.NewRole(t, name)
	enginetest.Exec(t, super, "grant mbus4_user to "+role)
	return name, super, enginetest.ConnectTo(t, enginetest.DSNAs(t, name, role))
}

// mbus4_user may delete messages, and so may lock their table in any mode. Services do not hang, and go on when the
// lock is gone, over the same connection.
func TestServicesSurviveLockedTables(t *testing.T) {
	t.Parallel()
	name, super, user := withMember(t)
	log, seen, _ := enginetest.WatchLog()
	e := served.Open(t, engine.Options{SweepInterval: 1, Log: log})
	if _, err := e.Database(enginetest.Context(t), name); err != nil {
		t.Fatal(err)
	}
	id := enginetest.One[int64](t, super, enginetest.NewConsumer, "q")
	for _, table := range []string{"message", "semaphore_task", "work_queue", "schedule"} {
		enginetest.Exec(t, user, "begin; lock mbus4."+table)
		if table == "message" {
			enginetest.Eventually(t, "services notice", func() bool { return seen("housekeeping held up by a lock") })
		}
		enginetest.Exec(t, user, "rollback")
		enginetest.Exec(t, super, enginetest.PostSQL, id, "1 s ago", "of "+table, "")
		enginetest.Eventually(t, "the message is swept", func() bool { return enginetest.One[bool](t, super, "select not exists (select from mbus4.message)") })
	}
	if seen("housekeeping interrupted") {
		t.Error("the connection was given up")
	}
	// What it has no right to delete it cannot lock so that others wait.
	for _, table := range []string{"service", "upgrade_lock", "schema_version", "view_insert", "queue", "consumer", "waiting", "semaphore"} {
		for _, mode := range []string{"exclusive", "share", "access exclusive", "share update exclusive"} {
			_, err := user.Exec(enginetest.Context(t), fmt.Sprintf("begin; lock mbus4.%s in %s mode", table, mode))
			if refusal.SQLState(err) != refusal.LackingRights {
				t.Errorf("%s in %s mode: %v", table, mode, err)
			}
			enginetest.Exec(t, user, "rollback")
		}
	}
}

// Who locks a table in each of many databases that nobody uses has no connection kept in any of them, and when the lock is
// gone the services go on there.
func TestLockedDatabasesAreLeft(t *testing.T) {
	t.Parallel()
	name, super, user := withMember(t)
	id := enginetest.One[int64](t, super, enginetest.NewConsumer, "q")
	enginetest.Exec(t, super, enginetest.PostSQL, id, "1 s ago", "expired", "")
	enginetest.Exec(t, user, "begin; lock mbus4.message")
	connections := func() int {
		return enginetest.One[int](t, super, "select count(*) from pg_stat_activity where datname = current_database() and backend_type = 'client backend'")
	}
	ours := connections()
	log, seen, _ := enginetest.WatchLog()
	e := served.Open(t, engine.Options{SweepInterval: 1, Log: log})
	if _, err := e.Database(enginetest.Context(t), name); err != nil {
		t.Fatal(err)
	}
	enginetest.Eventually(t, "services notice", func() bool { return seen("housekeeping held up by a lock") })
	enginetest.Eventually(t, "the connection is closed", func() bool { return connections() == ours })
	enginetest.Exec(t, user, "rollback")
	enginetest.Eventually(t, "the message is swept", func() bool { return enginetest.One[bool](t, super, "select not exists (select from mbus4.message)") })
}

// The services do it by themselves.
func TestHinterRuns(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	e := served.Open(t, engine.Options{})
	if _, err := e.Database(enginetest.Context(t), name); err != nil {
		t.Fatal(err)
	}
	conn := enginetest.Connect(t, name)
	consumer := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Eventually(t, "the hint rises", func() bool {
		if _, err := e.Database(enginetest.Context(t), name); err != nil { // in use
			t.Fatal(err)
		}
		return enginetest.One[bool](t, conn, fmt.Sprintf(
			"select coalesce(pg_sequence_last_value('mbus4.hint_%d'::regclass), 0) > 0", consumer%schema.HintSlots))
	})
}

// After many queues were made all their consumers get their hints, also where nobody uses them and
// the next look at the database is an hour away.
func TestHintsAreGivenOnce(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	const consumers = 3 * schema.HintSlots
	for i := range consumers {
		enginetest.One[int](t, conn, enginetest.NewConsumer, fmt.Sprint("q", i))
	}
	e := served.Open(t, engine.Options{SweepInterval: time.Hour})
	if _, err := e.Database(enginetest.Context(t), name); err != nil {
		t.Fatal(err)
	}
	enginetest.Eventually(t, "all have hints of their own", func() bool {
		return enginetest.One[int](t, conn, "select count(*) from mbus4.consumer where hint is not null") == consumers
	})
}

func TestSweepOnce(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	e := served.Open(t, engine.Options{SweepInterval: time.Hour})
	if _, err := e.Database(enginetest.Context(t), name); err != nil {
		t.Fatal(err)
	}
	conn := enginetest.Connect(t, name)
	enginetest.Exec(t, conn, enginetest.PostSQL, enginetest.One[int](t, conn, enginetest.NewConsumer, "q"), "1 s ago", "a", "")
	if got, err := housekeeping.Sweep(enginetest.Context(t), conn); err != nil || got > 1 {
		t.Errorf("swept %d, %v", got, err)
	}
	if left := enginetest.One[int](t, conn, "select count(*) from mbus4.message"); left != 0 {
		t.Errorf("%d left", left)
	}
}
