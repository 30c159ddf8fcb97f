package engine

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
)

func TestDatabaseInstallsOnce(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	engines := []*Engine{openEngine(t, Options{}), openEngine(t, Options{})} // two proxies
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			db, err := engines[i%2].Database(testContext(t), name)
			if err != nil {
				t.Error(err)
				return
			}
			if db.Site().HstoreSchema != "public" || db.Name() != name {
				t.Errorf("got database %q with hstore in %q", db.Name(), db.Site().HstoreSchema)
			}
		})
	}
	wg.Wait()
	conn := connect(t, name)
	steps, err := schema.migrations(schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := one[int](t, conn, "select count(*) from mbus4.schema_version"); n != len(steps) {
		t.Errorf("%d versions recorded, want %d", n, len(steps))
	}
	if n := one[int](t, conn, "select count(*) from mbus4.consumer where queue = 'dmq' and name = 'default'"); n != 1 {
		t.Errorf("%d consumers of dmq, want 1", n)
	}
}

func TestDatabaseUnknown(t *testing.T) {
	t.Parallel()
	e := openEngine(t, Options{})
	_, err := e.Database(testContext(t), "no_such_database")
	wantCode(t, err, "3D000")
	name := "appears_" + newDatabase(t)
	_, err = e.Database(testContext(t), name)
	wantCode(t, err, "3D000")
	admin := connect(t, "postgres")
	mustExec(t, admin, "create database "+name)
	t.Cleanup(func() {
		mustExec(t, connect(t, "postgres"), "drop database "+name+" with (force)")
	})
	eventually(t, "the database is served", func() bool {
		_, err := e.Database(testContext(t), name)
		return err == nil
	})
}

// An idle database has no connection of ours, so that dropdb works; what then bears its name is
// looked at afresh.
func TestDatabaseDroppedAndMadeAgain(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	e := openEngine(t, Options{})
	if _, err := e.Database(testContext(t), name); err != nil {
		t.Fatal(err)
	}
	admin := connect(t, "postgres")
	mustExec(t, admin, "drop database "+name) // waits for us to let go, without force
	_, err := e.Database(testContext(t), name)
	wantCode(t, err, "3D000")

	mustExec(t, admin, "create database "+name)
	eventually(t, "the new database is served", func() bool {
		_, err := e.Database(testContext(t), name)
		return err == nil
	})
	mustExec(t, admin, "drop database "+name+" with (force)")
	mustExec(t, admin, "create database "+name)
	eventually(t, "the third database has the schema", func() bool {
		if _, err := e.Database(testContext(t), name); err != nil {
			return false
		}
		conn := connect(t, name)
		defer admin.Close(context.Background(), conn)
		return one[bool](t, conn, "select to_regclass('mbus4.message') is not null")
	})
}

func TestDatabaseSurvivesLostConnection(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	e := openEngine(t, Options{})
	db, err := e.Database(testContext(t), name)
	if err != nil {
		t.Fatal(err)
	}
	admin := connect(t, "postgres")
	const kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = $1"
	eventually(t, "the keeper's connection is there to be killed", func() bool {
		return one[int](t, admin, kill, name) > 0
	})
	conn := connect(t, name)
	mustExec(t, conn, postSQL, one[int](t, conn, newConsumer, "q"), "1 s ago", "a", "expired")
	eventually(t, "the keeper is back and sweeps", func() bool {
		again, err := e.Database(testContext(t), name)
		return err == nil && again == db && one[int](t, conn, "select count(*) from mbus4.message") == 0
	})
}

func TestForget(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	e := openEngine(t, Options{})
	e.Forget(name) // unknown: nothing
	first, err := e.Database(testContext(t), name)
	if err != nil {
		t.Fatal(err)
	}
	e.Forget(name)
	second, err := e.Database(testContext(t), name)
	if err != nil {
		t.Fatal(err)
	}
	if first == second {
		t.Error("Forget kept the database")
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	e := openEngine(t, Options{})
	if _, err := e.Database(testContext(t), name); err != nil {
		t.Fatal(err)
	}
	e.Close()
	e.Close()
	_, err := e.Database(testContext(t), name)
	wantCode(t, err, "57P01")
	mustExec(t, connect(t, "postgres"), "drop database "+name)
}

func TestDatabaseGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	blocker := connect(t, name)
	mustExec(t, blocker, "create schema mbus4")
	mustExec(t, blocker, "create table mbus4.upgrade_lock ()")
	mustExec(t, blocker, "begin")
	mustExec(t, blocker, schema.lockUpgradeSQL)
	e := openEngine(t, Options{})
	ctx, cancel := context.WithCancel(testContext(t))
	admin := connect(t, "postgres")
	go func() {
		eventuallyWaits(t, admin, name)
		cancel()
	}()
	if _, err := e.Database(ctx, name); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	// The attempt itself goes on, and the next one gets its result.
	mustExec(t, blocker, "commit")
	if _, err := e.Database(testContext(t), name); err != nil {
		t.Error(err)
	}
}

// eventuallyWaits returns when somebody waits for the migrations' lock.
func eventuallyWaits(t *testing.T, admin *pgx.Conn, database string) {
	t.Helper()
	eventually(t, "somebody waits for the lock", func() bool {
		return one[bool](t, admin, `select exists (select from pg_locks l join pg_database d on d.oid = l.database
			where d.datname = $1 and locktype = 'relation' and not granted)`, database)
	})
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	_, err := Open(testContext(t), Options{AdminDSN: "port=none"})
	wantCode(t, err, "22023")
	_, err = Open(testContext(t), Options{AdminDSN: "host=127.0.0.1 port=1 dbname=postgres"})
	wantCode(t, err, "08001")
}

// refused gives err as the *Error with that SQLSTATE that it has to be.
func refused(t *testing.T, err error, code string) *refusal.Error {
	t.Helper()
	var e *refusal.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error with code %s", err, code)
	}
	if e.Code != code || e.Message == "" {
		t.Fatalf("got code %s (%v), want %s and a message", e.Code, e, code)
	}
	return e
}

// wantCode checks that err is an *Error with that SQLSTATE.
func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	_ = refused(t, err, code)
}

// Where a service and a client's DDL wait for one another it is the service that gives up. The client began
// to wait first, so the server would choose the client.
func TestServicesGiveWay(t *testing.T) {
	t.Parallel()
	name := installed(t)
	client, service, watch := connect(t, name), connect(t, name), connect(t, name)
	if err := admin.Settle(testContext(t), service, admin.ServiceLockWait); err != nil {
		t.Fatal(err)
	}
	mustExec(t, service, "begin; lock mbus4.message in access share mode")
	mustExec(t, client, "begin; lock mbus4.consumer")
	dropped := make(chan error, 1)
	go func() {
		_, err := client.Exec(testContext(t), "drop schema mbus4 cascade")
		dropped <- err
	}()
	eventually(t, "the client waits", func() bool {
		return one[bool](t, watch, "select exists (select from pg_locks where not granted and pid = $1)", client.PgConn().PID())
	})
	_, err := service.Exec(testContext(t), "select from mbus4.consumer")
	if refusal.SQLState(err) != refusal.LockNotAvailable {
		t.Errorf("the service got %v", err)
	}
	mustExec(t, service, "rollback")
	if err := <-dropped; err != nil {
		t.Errorf("the client got %v", err)
	}
}
