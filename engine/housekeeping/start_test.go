package housekeeping

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
	"mbusproxy/engine/semaphore"
	"mbusproxy/engine/waiting"
)

// newKeeper prepares the database of conn for a keeper of it.
func newKeeper(t *testing.T, conn *pgx.Conn) *Keeper {
	in, features, server, log := enginetest.Prepare(t, conn), &schema.Features{}, enginetest.Server(t), zap.NewNop()
	return NewKeeper(Config{
		Server: server, Installation: in, Features: features, Interval: time.Hour, Log: log,
		Granter: semaphore.NewGranter(server, in, time.Hour, func() {}, log), Watcher: waiting.NewWatcher(server, in, &schema.Features{}, waiting.Looks{}, time.Hour, log),
	}, conn)
}

// A Keeper bears being started and stopped again, by several at once, and closes its session even when it never ran.
func TestKeeperStartsAndStopsOnce(t *testing.T) {
	t.Parallel()
	for _, runs := range []bool{true, false} {
		name := enginetest.NewDatabase(t)
		conn := enginetest.Connect(t, name)
		k := newKeeper(t, conn)
		watch := enginetest.Connect(t, name)
		if runs {
			k.Start()
			k.Start()
			enginetest.Eventually(t, "it keeps the database", func() bool {
				return enginetest.One[bool](t, watch, "select owner is not null from mbus4.service where name = 'hinter'")
			})
		}
		var stops sync.WaitGroup
		for range 3 {
			stops.Go(k.Stop)
		}
		stops.Wait()
		k.Start()
		k.Stop()
		select {
		case <-k.Done():
		default:
			t.Errorf("started %v: not done after Stop", runs)
		}
		if err := k.Verify(enginetest.Context(t), time.Time{}); err != schema.ErrGone { //nolint:errorlint // Verify returns it as it is
			t.Errorf("started %v: Verify gives %v after Stop", runs, err)
		}
		if !conn.IsClosed() {
			t.Errorf("started %v: the session is still open", runs)
		}
	}
}

// dropUnder drops a database with sessions in it, whose connections are closed when it returns: without waiting for their processes a busy machine may
// close them later.
func dropUnder(t *testing.T, admin *pgx.Conn, name string) {
	t.Helper()
	enginetest.Exec(t, admin, "select pg_terminate_backend(pid, 60000) from pg_stat_activity where datname = $1", name)
	enginetest.Exec(t, admin, "drop database "+name)
}

// A database that is dropped and made again before its keeper has come to look is another one for those who ask.
func TestKeeperSeesAnotherDatabase(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	k := newKeeper(t, enginetest.Connect(t, name))
	admin := enginetest.Connect(t, "postgres")
	dropUnder(t, admin, name)
	enginetest.Exec(t, admin, "create database "+name)
	k.Start()
	t.Cleanup(k.Stop)
	if err := k.Verify(enginetest.Context(t), time.Time{}); err != schema.ErrGone { //nolint:errorlint // Verify returns it as it is
		t.Errorf("the keeper of a database that is gone says %v", err)
	}
}

// A database that is dropped and made again is another one also where its new schema mbus4 belongs to somebody who is not trusted.
func TestKeeperSeesHostileDatabase(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	admin := enginetest.Connect(t, "postgres")
	enginetest.Exec(t, admin, "create role "+name)
	enginetest.Exec(t, admin, "create database "+name+"_hostile")
	t.Cleanup(func() {
		enginetest.Exec(t, admin, "drop database "+name+" with (force)")
		enginetest.Exec(t, admin, "drop role "+name)
	})
	hostile := enginetest.Connect(t, name+"_hostile")
	enginetest.Exec(t, hostile, "create schema mbus4_hstore create table mbus4_hstore.any ()")
	enginetest.Exec(t, hostile, "create schema mbus4 authorization "+name+" create table schema_version (version int, oldest int)")
	k := newKeeper(t, enginetest.Connect(t, name))
	dropUnder(t, admin, name)
	enginetest.Exec(t, admin, "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", name+"_hostile")
	enginetest.Exec(t, admin, "alter database "+name+"_hostile rename to "+name)
	k.Start()
	t.Cleanup(k.Stop)
	if err := k.Verify(enginetest.Context(t), time.Now()); err != schema.ErrGone { //nolint:errorlint // Verify returns it as it is
		t.Errorf("the keeper of a database that is gone says %v", err)
	}
}

// A database whose schema mbus4 belongs to somebody else now is opened anew, which refuses it, though it is the same one by its OID: OIDs can be chosen
// where a database is made.
func TestKeeperSeesAnotherOwner(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	conn := enginetest.Connect(t, name)
	pid := conn.PgConn().PID()
	k := newKeeper(t, conn)
	k.Start()
	t.Cleanup(k.Stop)
	began := time.Now()
	if err := k.Verify(enginetest.Context(t), began); err != nil {
		t.Fatal(err)
	}
	admin := enginetest.Connect(t, name)
	enginetest.Exec(t, admin, "create role "+name)
	t.Cleanup(func() {
		enginetest.Exec(t, admin, "reassign owned by "+name+" to current_user")
		enginetest.Exec(t, admin, "drop role "+name)
	})
	enginetest.Exec(t, admin, "alter schema mbus4 owner to "+name)
	enginetest.Exec(t, admin, "select pg_terminate_backend($1, 60000)", pid)
	if err := k.Verify(enginetest.Context(t), time.Now()); err != schema.ErrGone { //nolint:errorlint // Verify returns it as it is
		t.Errorf("the keeper of a database whose schema belongs to a stranger says %v", err)
	}
}

// certain returns the keeper of a new database, which is certain of it, and a time before that.
func certain(t *testing.T) (k *Keeper, name string, before time.Time) {
	t.Helper()
	name, before = enginetest.NewDatabase(t), time.Now()
	k = newKeeper(t, enginetest.Connect(t, name))
	k.Start()
	t.Cleanup(k.Stop)
	if err := k.Verify(enginetest.Context(t), before); err != nil {
		t.Fatal(err)
	}
	return k, name, before
}

// Where the engine gets no connection, a session that was there while it had one goes on, and a later one gets an error.
func TestKeeperCannotTell(t *testing.T) {
	t.Parallel()
	k, name, before := certain(t)
	admin := enginetest.Connect(t, "postgres")
	enginetest.Exec(t, admin, "alter database "+name+" allow_connections false")
	enginetest.Eventually(t, "it has no session", func() bool {
		return enginetest.One[bool](t, admin, "select count(pg_terminate_backend(pid, 60000)) = 0 from pg_stat_activity where datname = $1", name)
	})
	if err := k.Verify(enginetest.Context(t), before); err != nil {
		t.Errorf("to a session from before it says %v", err)
	}
	var refused *refusal.Error
	if err := k.Verify(enginetest.Context(t), time.Now()); !errors.As(err, &refused) || refused.Code != refusal.CannotConnectNow {
		t.Errorf("to a later session it says %v", err)
	}
	enginetest.Exec(t, admin, "alter database "+name+" allow_connections true")
	enginetest.Eventually(t, "it tells again", func() bool { return k.Sees(time.Now()) })
}

// A session that was there while the engine had its connection does not wait for the next one; a later session does.
func TestKeeperNeedNotLook(t *testing.T) {
	t.Parallel()
	k, name, before := certain(t)
	lock := enginetest.Connect(t, "postgres")
	enginetest.Exec(t, lock, "begin; lock pg_database in access exclusive mode")
	enginetest.Exec(t, lock, "select pg_terminate_backend(pid, 60000) from pg_stat_activity where datname = $1", name)
	if !k.Sees(before) {
		t.Error("a session from before waits for the next connection")
	}
	if k.Sees(time.Now()) {
		t.Error("a later session does not wait")
	}
	enginetest.Exec(t, lock, "rollback")
	if err := k.Verify(enginetest.Context(t), time.Now()); err != nil {
		t.Error(err)
	}
}

// A database whose sessions somebody ends again and again stays the one that was opened.
func TestKeeperLosesItsSession(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	k := newKeeper(t, enginetest.Connect(t, name))
	admin := enginetest.Connect(t, "postgres")
	k.Start()
	t.Cleanup(k.Stop)
	for range 3 * mostLosses {
		enginetest.Eventually(t, "it has a session", func() bool {
			_ = k.Sees(time.Time{}) // a keeper that nobody asks closes it
			return enginetest.One[bool](t, admin, "select count(pg_terminate_backend(pid)) > 0 from pg_stat_activity where datname = $1", name)
		})
		if err := k.Verify(enginetest.Context(t), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
}
