package semaphore

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
)

// statementCount counts the statements of a connection.
type statementCount struct{ n int }

func (c *statementCount) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.n++
	return ctx
}

func (c *statementCount) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A slot that comes free is granted in two statements, however many semaphores it is: one reads
// what has changed, one grants and looks who is next.
func TestSemaphoreGrantTakesTwoStatements(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	var count statementCount
	config := s.grants.Config()
	config.Tracer = &count
	conn, err := pgx.ConnectConfig(enginetest.Context(t), config)
	s.do(err)
	defer admin.Close(enginetest.Context(t), conn)
	s.do(settleGranter(enginetest.Context(t), conn))
	s.grants = conn
	keys := []string{"a", "b", "c"}
	for _, key := range keys {
		s.semaphore(key, 1, 1)
		for task := range int64(4) {
			s.enqueue(key, task, float64(-task))
		}
	}
	s.turn()
	for task := range int64(2) {
		for _, key := range keys {
			s.release(key, task)
		}
		s.granter.countedAt = time.Now() // the tables' counters are not read in this turn
		before := count.n
		if got := s.turn(); got.Granted != len(keys) || count.n-before != 2 {
			t.Errorf("granted %d slots in %d statements; want %d in 2", got.Granted, count.n-before, len(keys))
		}
	}
	enginetest.One[string](t, s.conn, eventsSQL)
	for _, key := range keys {
		s.want(key, "2+ 3", "")
	}
}

// More slots than are granted in one statement are all granted, in the order.
func TestSemaphoreGrantsMany(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	const slots = turnGrants + turnGrants/2
	s.semaphore("k", slots, 0)
	s.semaphore("l", 2, 0)
	s.fill("k", 1, slots+10)
	s.fill("l", 1, 5)
	if got := s.turn(); got.Granted != slots+2 {
		t.Errorf("granted %d", got.Granted)
	}
	for _, key := range []string{"k", "l"} {
		running, waiting := ReadTasks(t, s.conn, key)
		if last := running[len(running)-1]; last.compare(waiting[0]) > 0 {
			t.Errorf("semaphore %s: %+v was granted, and %+v waits", key, last, waiting[0])
		}
	}
	if n := enginetest.One[int](t, s.conn, `select count(*) from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id where c.qname = 'semaphore_events'`); n != slots+2 {
		t.Errorf("%d events", n)
	}
}

// Where the first task is held by another transaction, the next one gets the slot in the same turn,
// and the first one the next slot.
func TestSemaphoreTurnPassesOverWhoIsHeld(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	s.semaphore("k", 1, 0)
	for task := range int64(4) {
		s.enqueue("k", task, float64(-task))
	}
	s.want("k", "0+ 1 2 3", "Acquired k 0")
	other := enginetest.Connect(t, s.name)
	tx, err := other.Begin(enginetest.Context(t))
	s.do(err)
	s.do(New(tx).Enqueue(enginetest.Context(t), "k", 1, -1))
	s.release("k", 0)
	got, err := s.granter.Turn(enginetest.Context(t), s.grants)
	s.do(err)
	if got.Granted != 1 || !got.Busy {
		t.Errorf("%+v", got)
	}
	s.want("k", "1 2+ 3", "Acquired k 2")
	s.do(tx.Commit(enginetest.Context(t)))
	s.release("k", 2)
	enginetest.Eventually(t, "the task that was held gets its slot", func() bool { return s.turn().Granted == 1 })
	s.want("k", "1+ 3", "Acquired k 1")
}
