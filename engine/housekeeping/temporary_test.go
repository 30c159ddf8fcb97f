package housekeeping_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine"
	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/schema"
)

// temporaryTest is a database and the sessions of two roles in it: a user of queues and one without rights.
type temporaryTest struct {
	*testing.T
	name           string
	super, hostile *pgx.Conn
	role           string // the user's
}

func newTemporaryTest(t *testing.T) *temporaryTest {
	t.Helper()
	name := enginetest.Installed(t)
	s := &temporaryTest{T: t, name: name, super: enginetest.Connect(t, name), role: enginetest.NewRole(t, name)}
	enginetest.Exec(t, s.super, "grant mbus4_user to "+s.role)
	s.hostile = enginetest.ConnectTo(t, enginetest.DSNAs(t, name, enginetest.NewRole(t, name)))
	return s
}

func (s *temporaryTest) user() *pgx.Conn {
	s.Helper()
	return enginetest.ConnectTo(s.T, enginetest.DSNAs(s.T, s.name, s.role))
}

func (s *temporaryTest) create(conn *pgx.Conn) string {
	s.Helper()
	// DISCARD ALL drops the driver's prepared statements.
	return enginetest.One[string](s.T, conn, "select mbus4.new_temporary_queue()", pgx.QueryExecModeSimpleProtocol)
}

// lives reaps, and reports whether the queue is still there.
func (s *temporaryTest) lives(queue string) bool {
	s.Helper()
	enginetest.Exec(s.T, s.super, "select mbus4.drop_dead_temporary_queues()")
	return enginetest.One[bool](s.T, s.super, "select exists (select from mbus4.queue where qname = $1)", queue)
}

func (s *temporaryTest) dies(queue string) {
	s.Helper()
	enginetest.Eventually(s.T, queue+" dies", func() bool { return !s.lives(queue) })
}

// owner gives the process and the mark of a queue's session.
func (s *temporaryTest) owner(queue string) (pid, mark int64) {
	s.Helper()
	owner := enginetest.One[int64](s.T, s.super, "select owner from mbus4.queue where qname = $1", queue)
	return owner >> 32, owner & (1<<32 - 1)
}

// However its session ends, its queues end, whatever others hold.
func TestTemporaryQueueEndsWithItsSession(t *testing.T) {
	t.Parallel()
	s := newTemporaryTest(t)
	for what, end := range map[string]func(conn *pgx.Conn){
		"closed": func(conn *pgx.Conn) { admin.Close(context.Background(), conn) },
		"terminated": func(conn *pgx.Conn) {
			enginetest.Exec(t, s.super, "select pg_terminate_backend($1)", conn.PgConn().PID())
		},
		"discard all": func(conn *pgx.Conn) { enginetest.Exec(t, conn, "discard all") },
		"unlocked":    func(conn *pgx.Conn) { enginetest.Exec(t, conn, "select pg_advisory_unlock_all()") },
	} {
		conn := s.user()
		queue := s.create(conn)
		pid, mark := s.owner(queue)
		if pid != int64(conn.PgConn().PID()) {
			t.Errorf("%s: owner has pid %d", what, pid)
		}
		// Everybody sees the mark, and may hold it too, in every way that the server gives it.
		enginetest.Exec(t, s.hostile, "select pg_advisory_lock_shared(1835169139, $1), pg_advisory_lock_shared($2)", mark, pid<<32|mark)
		if enginetest.One[bool](t, s.hostile, "select pg_try_advisory_lock(1835169139, $1)", mark) {
			t.Errorf("%s: the mark can be taken away", what)
		}
		if !s.lives(queue) {
			t.Errorf("%s: dead while its session lives", what)
		}
		end(conn)
		s.dies(queue)
	}
}

// Nobody makes the making of a temporary queue wait.
func TestTemporaryQueueDoesNotWait(t *testing.T) {
	t.Parallel()
	s := newTemporaryTest(t)
	conn := s.user()
	// What sessions were known by before: the key that anybody can work out.
	enginetest.Exec(t, s.hostile, `select pg_advisory_lock(hashtextextended('mbus4 ' || a.pid || ' ' || coalesce(b.backend_start::text, ''), 0))
		from pg_stat_get_activity($1) a, (select a.backend_start from pg_stat_get_activity($1) a union all select null) b`, conn.PgConn().PID())
	enginetest.Exec(t, s.hostile, "select pg_advisory_lock(1835169139, n) from generate_series(1, 1000) n")
	enginetest.Exec(t, conn, "set statement_timeout = '10s'")
	queue := s.create(conn)
	if !s.lives(queue) {
		t.Error("the queue is dead")
	}
	// Somebody waits for the mark: its session needs not.
	_, mark := s.owner(queue)
	waiter := enginetest.ConnectTo(t, enginetest.DSNAs(t, s.name, s.role))
	waiting := make(chan error, 1)
	go func() {
		_, err := waiter.Exec(enginetest.Context(t), fmt.Sprintf("select pg_advisory_lock(1835169139, %d)", mark))
		waiting <- err
	}()
	enginetest.Eventually(t, "somebody waits for the mark", func() bool {
		return enginetest.One[bool](t, s.super, "select exists (select from pg_locks where pid = $1 and not granted)", waiter.PgConn().PID())
	})
	again := s.create(conn)
	if _, m := s.owner(again); m != mark {
		t.Error("the session has another mark")
	}
	enginetest.Exec(t, conn, "discard all")
	if err := <-waiting; err != nil {
		t.Error(err)
	}
	s.dies(queue) // though somebody holds the lock now, in another process
	s.dies(again)
	if _, m := s.owner(s.create(conn)); m == mark {
		t.Error("the mark that somebody holds was drawn again")
	}
}

// A session holds one lock, however many queues it makes and rolls back.
func TestTemporaryQueuesTakeOneLock(t *testing.T) {
	t.Parallel()
	s := newTemporaryTest(t)
	conn := s.user()
	for range 300 {
		enginetest.Exec(t, conn, "begin; select mbus4.new_temporary_queue(), mbus4.new_temporary_queue(); rollback", pgx.QueryExecModeSimpleProtocol)
	}
	queues := []string{s.create(conn), s.create(conn)}
	if n := enginetest.One[int](t, s.super, "select count(*) from pg_locks where locktype = 'advisory' and pid = $1", conn.PgConn().PID()); n != 1 {
		t.Errorf("%d locks", n)
	}
	for _, queue := range queues {
		if !s.lives(queue) {
			t.Errorf("%s is dead", queue)
		}
	}
}

// A prepared transaction makes a queue of a session that goes on without it, or ends.
func TestTemporaryQueuePrepared(t *testing.T) {
	t.Parallel()
	s := newTemporaryTest(t)
	conn := s.user()
	gid := "of " + s.name
	enginetest.Exec(t, conn, "begin")
	queue := s.create(conn)
	enginetest.Exec(t, conn, "prepare transaction '"+gid+"'")
	enginetest.Exec(t, conn, "commit prepared '"+gid+"'")
	if !s.lives(queue) {
		t.Error("dead while its session lives")
	}
	enginetest.Exec(t, conn, "begin")
	later := s.create(conn)
	enginetest.Exec(t, conn, "prepare transaction '"+gid+"'")
	// One that holds a lock of that kind is no session, and keeps no queue alive.
	held := "held " + gid
	enginetest.Exec(t, s.hostile, "begin")
	enginetest.Exec(t, s.hostile, "select pg_advisory_xact_lock(1835169139, 7)")
	enginetest.Exec(t, s.hostile, "prepare transaction '"+held+"'")
	defer enginetest.Exec(t, s.super, "rollback prepared '"+held+"'")
	admin.Close(context.Background(), conn)
	s.dies(queue)
	enginetest.Exec(t, s.super, "commit prepared '"+gid+"'")
	s.dies(later)
}

// A process id comes back, to a session of another role, which takes the mark as well; or to one of the same role,
// later.
func TestTemporaryQueuePidReused(t *testing.T) {
	t.Parallel()
	s := newTemporaryTest(t)
	conn := s.user()
	queue := s.create(conn)
	_, mark := s.owner(queue)
	for _, next := range []*pgx.Conn{s.hostile, s.user()} {
		// What the queue's row says is as if the other session's process were the queue's session.
		enginetest.Exec(t, next, "select pg_advisory_lock_shared(1835169139, $1)", mark)
		enginetest.Exec(t, s.super, "update mbus4.queue set owner = $2::bigint << 32 | $3 where qname = $1", queue, next.PgConn().PID(), mark)
		if s.lives(queue) {
			t.Error("somebody else keeps the queue alive")
		}
		queue = s.create(conn)
		if !s.lives(queue) {
			t.Error("dead while its session lives")
		}
	}
}

// The same where the owner of the schema may not see when sessions of others began.
func TestTemporaryQueueOfPlainOwner(t *testing.T) {
	t.Parallel()
	enginetest.Installed(t) // makes the roles, which are the cluster's and which a plain owner may not make
	name := enginetest.NewDatabase(t)
	super := enginetest.Connect(t, name)
	owner, user := enginetest.NewRole(t, name), enginetest.NewRole(t, name)
	enginetest.Exec(t, super, fmt.Sprintf("grant create on database %s to %s", name, owner))
	if _, err := engine.Init(enginetest.Context(t), enginetest.DSNAs(t, name, owner), schema.Options{}); err != nil {
		t.Fatal(err)
	}
	enginetest.Exec(t, super, "grant mbus4_user to "+user)
	s := &temporaryTest{T: t, name: name, super: super, role: user, hostile: enginetest.ConnectTo(t, enginetest.DSNAs(t, name, enginetest.NewRole(t, name)))}
	reaper := enginetest.ConnectTo(t, enginetest.DSNAs(t, name, owner))
	conn := s.user()
	queue := s.create(conn)
	_, mark := s.owner(queue)
	enginetest.Exec(t, reaper, "select mbus4.drop_dead_temporary_queues()")
	if !enginetest.One[bool](t, super, "select count(*) = 1 and min(owner_started) is null from mbus4.queue where kind = 'temp'") {
		t.Fatal("the queue is dead, or this is no test")
	}
	enginetest.Exec(t, s.hostile, "select pg_advisory_lock_shared(1835169139, $1)", mark)
	enginetest.Exec(t, super, "update mbus4.queue set owner = $2::bigint << 32 | $3 where qname = $1", queue, s.hostile.PgConn().PID(), mark)
	enginetest.Exec(t, reaper, "select mbus4.drop_dead_temporary_queues()")
	if enginetest.One[bool](t, super, "select exists (select from mbus4.queue where kind = 'temp')") {
		t.Error("another role keeps the queue alive")
	}
}

// Ids are not used up by what comes and goes.
func TestTemporaryQueuesUseOneIDEach(t *testing.T) {
	t.Parallel()
	s := newTemporaryTest(t)
	enginetest.Exec(t, s.super, enginetest.NewConsumer, "q")
	const ids = "select (select last_value from mbus4.queue_id_seq) * 1000000 + (select last_value from mbus4.consumer_id_seq)"
	conn := s.user()
	before := enginetest.One[int64](t, s.super, ids)
	for range 10 {
		enginetest.One[string](t, conn, "select mbus4.new_temporary_consumer('q', null, 1)")
	}
	// One row of queue, two of consumer: its own and that which feeds it.
	if after := enginetest.One[int64](t, s.super, ids); after-before != 10*1000000+20 {
		t.Errorf("%d queues and %d consumers", (after-before)/1000000, (after-before)%1000000)
	}
}
