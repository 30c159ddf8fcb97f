package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine"
	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/internal/served"
)

func TestDatabaseInstallsOnce(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	engines := []*engine.Engine{served.Open(t, engine.Options{}), served.Open(t, engine.Options{})} // two proxies
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			db, err := engines[i%2].Database(enginetest.Context(t), name)
			if err != nil {
				t.Error(err)
				return
			}
			if db.Name() != name {
				t.Errorf("got database %q", db.Name())
			}
		})
	}
	wg.Wait()
	conn := enginetest.Connect(t, name)
	if n := enginetest.One[int](t, conn, "select count(*) from mbus4.schema_version"); n != 1 {
		t.Errorf("%d versions recorded", n)
	}
	if n := enginetest.One[int](t, conn, "select count(*) from mbus4.consumer where qname = 'dmq' and name = 'default'"); n != 1 {
		t.Errorf("%d consumers of dmq, want 1", n)
	}
}

func TestDatabaseUnknown(t *testing.T) {
	t.Parallel()
	e := served.Open(t, engine.Options{})
	_, err := e.Database(enginetest.Context(t), "no_such_database")
	enginetest.WantCode(t, err, "3D000")
	name := "appears_" + enginetest.NewDatabase(t)
	_, err = e.Database(enginetest.Context(t), name)
	enginetest.WantCode(t, err, "3D000")
	server := enginetest.Connect(t, "postgres")
	enginetest.Exec(t, server, "create database "+name)
	t.Cleanup(func() {
		enginetest.Exec(t, enginetest.Connect(t, "postgres"), "drop database "+name+" with (force)")
	})
	enginetest.Eventually(t, "the database is served", func() bool {
		_, err := e.Database(enginetest.Context(t), name)
		return err == nil
	})
}

// An idle database has no connection of ours, so that dropdb works; what then bears its name is
// looked at afresh.
func TestDatabaseDroppedAndMadeAgain(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	e := served.Open(t, engine.Options{})
	if _, err := e.Database(enginetest.Context(t), name); err != nil {
		t.Fatal(err)
	}
	server := enginetest.Connect(t, "postgres")
	enginetest.Exec(t, server, "drop database "+name) // waits for us to let go, without force
	_, err := e.Database(enginetest.Context(t), name)
	enginetest.WantCode(t, err, "3D000")

	enginetest.Exec(t, server, "create database "+name)
	enginetest.Eventually(t, "the new database is served", func() bool {
		_, err := e.Database(enginetest.Context(t), name)
		return err == nil
	})
	enginetest.Exec(t, server, "drop database "+name+" with (force)")
	enginetest.Exec(t, server, "create database "+name)
	enginetest.Eventually(t, "the third database has the schema", func() bool {
		if _, err := e.Database(enginetest.Context(t), name); err != nil {
			return false
		}
		conn := enginetest.Connect(t, name)
		defer admin.Close(context.Background(), conn)
		return enginetest.One[bool](t, conn, "select to_regclass('mbus4.message') is not null")
	})
}

func TestDatabaseSurvivesLostConnection(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	e := served.Open(t, engine.Options{})
	db, err := e.Database(enginetest.Context(t), name)
	if err != nil {
		t.Fatal(err)
	}
	server := enginetest.Connect(t, "postgres")
	const kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = $1"
	enginetest.Eventually(t, "the keeper's connection is there to be killed", func() bool {
		return enginetest.One[int](t, server, kill, name) > 0
	})
	conn := enginetest.Connect(t, name)
	enginetest.Exec(t, conn, enginetest.PostSQL, enginetest.One[int](t, conn, enginetest.NewConsumer, "q"), "1 s ago", "a", "expired")
	enginetest.Eventually(t, "the keeper is back and sweeps", func() bool {
		again, err := e.Database(enginetest.Context(t), name)
		return err == nil && again == db && enginetest.One[int](t, conn, "select count(*) from mbus4.message") == 0
	})
}

func TestForget(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	e := served.Open(t, engine.Options{})
	e.Forget(name) // unknown: nothing
	first, err := e.Database(enginetest.Context(t), name)
	if err != nil {
		t.Fatal(err)
	}
	e.Forget(name)
	second, err := e.Database(enginetest.Context(t), name)
	if err != nil {
		t.Fatal(err)
	}
	if first == second {
		t.Error("Forget kept the database")
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	e := served.Open(t, engine.Options{})
	if _, err := e.Database(enginetest.Context(t), name); err != nil {
		t.Fatal(err)
	}
	e.Close()
	e.Close()
	_, err := e.Database(enginetest.Context(t), name)
	enginetest.WantCode(t, err, "57P01")
	enginetest.Exec(t, enginetest.Connect(t, "postgres"), "drop database "+name)
}

func TestDatabaseGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	blocker := enginetest.Connect(t, name)
	enginetest.Exec(t, blocker, "create schema mbus4")
	enginetest.Exec(t, blocker, "create table mbus4.upgrade_lock ()")
	enginetest.Exec(t, blocker, "begin")
	enginetest.Exec(t, blocker, "lock table mbus4.upgrade_lock in exclusive mode")
	e := served.Open(t, engine.Options{})
	ctx, cancel := context.WithCancel(enginetest.Context(t))
	server := enginetest.Connect(t, "postgres")
	go func() {
		eventuallyWaits(t, server, name)
		cancel()
	}()
	if _, err := e.Database(ctx, name); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	// The attempt itself goes on, and the next one gets its result.
	enginetest.Exec(t, blocker, "commit")
	if _, err := e.Database(enginetest.Context(t), name); err != nil {
		t.Error(err)
	}
}

// eventuallyWaits returns when somebody waits for the upgrades' lock.
func eventuallyWaits(t *testing.T, server *pgx.Conn, database string) {
	t.Helper()
	enginetest.Eventually(t, "somebody waits for the lock", func() bool {
		return enginetest.One[bool](t, server, `select exists (select from pg_locks l join pg_database d on d.oid = l.database
			where d.datname = $1 and locktype = 'relation' and not granted)`, database)
	})
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	_, err := engine.Open(enginetest.Context(t), engine.Options{AdminDSN: "port=none"})
	enginetest.WantCode(t, err, "22023")
	_, err = engine.Open(enginetest.Context(t), engine.Options{AdminDSN: "host=127.0.0.1 port=1 dbname=postgres"})
	enginetest.WantCode(t, err, "08001")
}
