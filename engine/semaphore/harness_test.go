package semaphore

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
)

// semaphoreTest is a database with a Granter that works when told.
type semaphoreTest struct {
	*testing.T
	name    string
	conn    *pgx.Conn
	calls   *Semaphores
	granter *allocator
	grants  *pgx.Conn // the granter's
}

func newSemaphoreTest(t *testing.T) *semaphoreTest {
	t.Helper()
	s := &semaphoreTest{T: t, name: enginetest.Installed(t)}
	s.conn = enginetest.Connect(t, s.name)
	s.calls = New(s.conn)
	s.granter = newTestGranter()
	s.grants = granterConn(t, s.name)
	return s
}

func newTestGranter() *allocator {
	return newAllocator(time.Hour)
}

// granterConn is a connection as a Granter has it.
func granterConn(t *testing.T, database string) *pgx.Conn {
	t.Helper()
	conn := enginetest.Connect(t, database)
	err := admin.Settle(enginetest.Context(t), conn, admin.ServiceLockWait)
	if err == nil {
		err = settleGranter(enginetest.Context(t), conn)
	}
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Exec(t, conn, "set idle_session_timeout = 0")
	return conn
}

// semaphore makes a semaphore with these limits.
func (s *semaphoreTest) semaphore(key string, active, tryRelease int) {
	s.Helper()
	if _, err := s.calls.GetOrCreate(enginetest.Context(s.T), key); err != nil {
		s.Fatal(err)
	}
	s.do(s.calls.Update(enginetest.Context(s.T), key, active, tryRelease))
}

func (s *semaphoreTest) do(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *semaphoreTest) enqueue(key string, task int64, priority float64) {
	s.Helper()
	s.do(s.calls.Enqueue(enginetest.Context(s.T), key, task, priority))
}

func (s *semaphoreTest) release(key string, task int64) {
	s.Helper()
	s.do(s.calls.Release(enginetest.Context(s.T), key, task))
}

// turn has the granter do all it can now, and returns what it did in all. It waits until the granter leads: the
// lock of a connection that was closed goes when its server process has noticed.
func (s *semaphoreTest) turn() turned {
	s.Helper()
	var all turned
	once := func() turned {
		s.Helper()
		out, err := s.granter.Turn(enginetest.Context(s.T), s.grants)
		if err != nil {
			s.Fatal(err)
		}
		all.Granted += out.Granted
		all.Asked += out.Asked
		all.Changes += out.Changes
		all.After = append(all.After, out.After...)
		return out
	}
	var out turned
	enginetest.Eventually(s.T, "the granter leads", func() bool {
		out = once()
		return out.Leads
	})
	for out.More {
		out = once()
	}
	return all
}

const (
	statusSQL = `select coalesce(string_agg(t.task_id || case t.status when 'ACQUIRED' then '+' when 'TRY_RELEASE' then '!' else '' end, ' '
		order by t.priority desc, t.arrival), '') from mbus4.semaphore_task t join mbus4.semaphore s on s.id = t.semaphore_id where s.key = $1`
	eventsSQL = `with m as (delete from mbus4.message m using mbus4.consumer c
		where c.id = m.consumer_id and c.qname = 'semaphore_events' and c.name = 'default' returning m.id, m.data)
		select coalesce(string_agg((data->'event') || ' ' || (data->'semaphore_key') || ' ' || (data->'task_id'), ', ' order by id), '') from m`
)

// want turns, and compares the tasks of a semaphore in order, with + for those that have a slot and ! for
// those that are asked to leave, and the events since the last time.
func (s *semaphoreTest) want(key, tasks, events string) {
	s.Helper()
	s.turn()
	if got := enginetest.One[string](s.T, s.conn, statusSQL, key); got != tasks {
		s.Errorf("tasks: %s; want %s", got, tasks)
	}
	if got := enginetest.One[string](s.T, s.conn, eventsSQL); got != events {
		s.Errorf("events: %s; want %s", got, events)
	}
}
