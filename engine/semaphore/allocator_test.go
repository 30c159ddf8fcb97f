package semaphore

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/refusal"
)

// Greater priorities first, equal ones in order of arrival, never more than there are slots.
func TestSemaphoreGrants(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	s.semaphore("k", 2, 0)
	for task, priority := range []float64{1, 1, 3, 1, 3} {
		s.enqueue("k", int64(task+1), priority)
	}
	s.want("k", "3+ 5+ 1 2 4", "Acquired k 3, Acquired k 5")
	s.want("k", "3+ 5+ 1 2 4", "")
	s.release("k", 3)
	s.release("k", 3)
	s.release("k", 99)
	s.want("k", "5+ 1+ 2 4", "Acquired k 1")
	s.release("k", 2) // it only waited
	s.release("k", 1)
	s.want("k", "5+ 4+", "Acquired k 4")
	// Again a task of the same name: it arrives anew.
	s.release("k", 4)
	s.enqueue("k", 6, 1)
	s.enqueue("k", 4, 1)
	s.want("k", "5+ 6+ 4", "Acquired k 6")
}

// A changed priority moves a task that waits, and keeps its arrival.
func TestSemaphorePriorityChanges(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	s.semaphore("k", 1, 0)
	for task := range int64(4) {
		s.enqueue("k", task, 0)
	}
	s.want("k", "0+ 1 2 3", "Acquired k 0")
	s.enqueue("k", 3, 5)
	s.enqueue("k", 1, -5)
	s.release("k", 0)
	s.want("k", "3+ 2 1", "Acquired k 3")
	s.enqueue("k", 1, 0)
	s.release("k", 3)
	s.want("k", "1+ 2", "Acquired k 1")
}

// Better tasks that wait displace as many of the last running ones, of the tail only, and each once.
func TestSemaphoreAsksToRelease(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	s.semaphore("k", 4, 2)
	for task := range int64(4) {
		s.enqueue("k", task, float64(10-task))
	}
	s.want("k", "0+ 1+ 2+ 3+", "Acquired k 0, Acquired k 1, Acquired k 2, Acquired k 3")
	s.enqueue("k", 4, 7) // no better than the last one
	s.want("k", "0+ 1+ 2+ 3+ 4", "")
	s.enqueue("k", 5, 20)
	s.want("k", "5 0+ 1+ 2+ 3! 4", "TryRelease k 3")
	s.want("k", "5 0+ 1+ 2+ 3! 4", "")
	for task := range int64(3) {
		s.enqueue("k", 10+task, 30)
	}
	s.want("k", "10 11 12 5 0+ 1+ 2! 3! 4", "TryRelease k 2") // 0 and 1 are the head
	s.release("k", 2)
	s.want("k", "10+ 11 12 5 0+ 1! 3! 4", "Acquired k 10, TryRelease k 1") // now 1 is of the tail
	s.release("k", 3)
	s.release("k", 1)
	s.want("k", "10+ 11+ 12+ 5 0! 4", "Acquired k 11, Acquired k 12, TryRelease k 0")
	// One that was asked and is better now than all that wait is no longer expected to leave.
	s.enqueue("k", 0, 100)
	s.want("k", "0! 10+ 11+ 12+ 5 4", "")
	s.enqueue("k", 13, 40)
	s.want("k", "0! 13 10+ 11+ 12! 5 4", "TryRelease k 12")
}

// With fewer slots nothing is granted until enough have left, and the tail is asked, beyond try_release too.
func TestSemaphoreLimitLowered(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	s.semaphore("k", 4, 0)
	for task := range int64(6) {
		s.enqueue("k", task, float64(-task))
	}
	s.want("k", "0+ 1+ 2+ 3+ 4 5", "Acquired k 0, Acquired k 1, Acquired k 2, Acquired k 3")
	s.do(s.calls.Update(enginetest.Context(t), "k", 2, 0))
	s.want("k", "0+ 1+ 2! 3! 4 5", "TryRelease k 3, TryRelease k 2")
	s.enqueue("k", 6, 10)
	s.release("k", 0)
	s.want("k", "6 1+ 2! 3! 4 5", "")
	s.release("k", 2)
	s.want("k", "6 1+ 3! 4 5", "")
	s.release("k", 3)
	s.want("k", "6+ 1+ 4 5", "Acquired k 6")
	s.do(s.calls.Update(enginetest.Context(t), "k", 0, 0))
	s.want("k", "6! 1! 4 5", "TryRelease k 1, TryRelease k 6")
	s.do(s.calls.Update(enginetest.Context(t), "k", 3, 3))
	s.want("k", "6! 1! 4+ 5", "Acquired k 4")
}

// What is not committed is neither waited for nor acted upon.
func TestSemaphoreStepsAroundLocks(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	s.semaphore("k", 1, 0)
	s.enqueue("k", 1, 1)
	s.enqueue("k", 2, 2)
	s.enqueue("k", 3, 3)
	s.want("k", "3+ 2 1", "Acquired k 3")

	other := enginetest.Connect(t, s.name)
	inTx := func(do func(*Semaphores) error) pgx.Tx {
		tx, err := other.Begin(enginetest.Context(t))
		s.do(err)
		s.do(do(New(tx)))
		return tx
	}
	tx := inTx(func(c *Semaphores) error { return c.Release(enginetest.Context(t), "k", 3) })
	s.want("k", "3+ 2 1", "")
	s.do(tx.Rollback(enginetest.Context(t)))
	s.want("k", "3+ 2 1", "")

	// The first one is held by a transaction: the next one gets the slot, and it is not forgotten.
	tx = inTx(func(c *Semaphores) error { return c.Enqueue(enginetest.Context(t), "k", 2, 4) })
	s.release("k", 3)
	s.want("k", "2 1+", "Acquired k 1")
	s.do(tx.Rollback(enginetest.Context(t)))
	s.release("k", 1)
	enginetest.Eventually(t, "the task that was held gets its slot", func() bool { return s.turn().Granted == 1 })
	s.want("k", "2+", "Acquired k 2")

	// A held task alone: no sign comes with the rollback, yet it is granted.
	s.enqueue("k", 1, 1)
	tx = inTx(func(c *Semaphores) error { return c.Release(enginetest.Context(t), "k", 1) })
	s.release("k", 2)
	s.want("k", "1", "")
	s.do(tx.Rollback(enginetest.Context(t)))
	enginetest.Eventually(t, "the task that was held gets its slot", func() bool { return s.turn().Granted == 1 })
	enginetest.One[string](t, s.conn, eventsSQL)

	// While limits change nothing is granted.
	tx = inTx(func(c *Semaphores) error { return c.Update(enginetest.Context(t), "k", 0, 0) })
	s.release("k", 1)
	s.enqueue("k", 4, 1)
	s.want("k", "4", "")
	s.do(tx.Commit(enginetest.Context(t)))
	s.want("k", "4", "")
	s.do(s.calls.Update(enginetest.Context(t), "k", 1, 0))
	enginetest.Eventually(t, "the task gets its slot", func() bool { return s.turn().Granted == 1 })
}

// A long transaction that writes hides nothing of others, and its own change is seen when it commits.
func TestSemaphoreFollowsTransactions(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	s.semaphore("k", 100, 0)
	s.turn()
	// What was written before it led is discarded once all transactions of the cluster from then have ended.
	enginetest.Exec(t, s.conn, "delete from mbus4.semaphore_change")
	var open []pgx.Tx
	for task := range int64(5) {
		tx, err := enginetest.Connect(t, s.name).Begin(enginetest.Context(t))
		s.do(err)
		s.do(New(tx).Enqueue(enginetest.Context(t), "k", task, 0))
		open = append(open, tx)
		s.enqueue("k", 10+task, 0)
		if got := s.turn(); got.Granted != 1 || got.Changes != 1 {
			t.Errorf("%+v", got)
		}
	}
	for i := range open {
		s.do(open[len(open)-1-i].Commit(enginetest.Context(t)))
		if got := s.turn(); got.Granted != 1 || got.Changes != 1 {
			t.Errorf("%+v", got)
		}
	}
	if n := enginetest.One[int](t, s.conn, "select count(*) from mbus4.semaphore_change"); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}

// One Granter leads; the next one goes on where it ended, and the first one too when nobody led in between.
func TestSemaphoreLead(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	s.semaphore("k", 3, 0)
	s.turn()
	second, secondConn := newTestGranter(), granterConn(t, s.name)
	if out, err := second.Turn(enginetest.Context(t), secondConn); err != nil || out.Leads {
		t.Fatalf("%+v, %v", out, err)
	}
	s.enqueue("k", 1, 0)
	s.turn()
	admin.Close(enginetest.Context(t), s.grants)
	s.enqueue("k", 2, 0)
	s.grants = granterConn(t, s.name)
	term := s.granter.term
	s.want("k", "1+ 2+", "Acquired k 1, Acquired k 2")
	if s.granter.term != term {
		t.Error("the Granter has forgotten what it knew")
	}
	admin.Close(enginetest.Context(t), s.grants)
	s.enqueue("k", 3, 0)
	s.enqueue("k", 4, 0)
	enginetest.Eventually(t, "the second one leads", func() bool {
		out, err := second.Turn(enginetest.Context(t), secondConn)
		return err == nil && out.Granted == 1
	})
	admin.Close(enginetest.Context(t), secondConn)
	s.grants = granterConn(t, s.name)
	s.release("k", 1)
	s.want("k", "2+ 3+ 4+", "Acquired k 3, Acquired k 4")
	if s.granter.term == term {
		t.Error("the Granter trusts what it knew before another one led")
	}
}

// What is written to the tables directly is found by the full pass.
func TestSemaphoreDirectWrites(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	s.semaphore("k", 1, 1)
	s.turn()
	enginetest.Exec(t, s.conn, `insert into mbus4.semaphore_task (semaphore_id, task_id, priority) select id, 7, 1 from mbus4.semaphore`)
	s.want("k", "7", "")
	s.granter.passedAt, s.granter.passRest = s.granter.passedAt.Add(-s.granter.interval), s.granter.passedAt
	s.want("k", "7+", "Acquired k 7")
	enginetest.Exec(t, s.conn, `delete from mbus4.semaphore_task`)
	s.enqueue("k", 8, 0)
	s.want("k", "8", "")
	s.granter.passedAt, s.granter.passRest = s.granter.passedAt.Add(-s.granter.interval), s.granter.passedAt
	s.want("k", "8+", "Acquired k 8")
}

func TestSemaphoresRefuse(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	ctx := enginetest.Context(t)
	made, err := s.calls.GetOrCreate(ctx, "k")
	if err != nil || made.Key != "k" || made.Active != 1000 || made.TryRelease != 900 {
		t.Errorf("%+v, %v", made, err)
	}
	if again, err := s.calls.GetOrCreate(ctx, "k"); err != nil || again != made {
		t.Errorf("%+v, %v", again, err)
	}
	_, empty := s.calls.GetOrCreate(ctx, "")
	for what, c := range map[string]struct {
		err  error
		code string
	}{
		"empty key":       {empty, "22023"},
		"unknown":         {s.calls.Enqueue(ctx, "nokey", 1, 1), "42704"},
		"unknown update":  {s.calls.Update(ctx, "nokey", 1, 1), "42704"},
		"unknown release": {s.calls.Release(ctx, "nokey", 1), "42704"},
		"too many":        {s.calls.Update(ctx, "k", 1, 2), "22023"},
		"negative":        {s.calls.Update(ctx, "k", -1, -1), "22023"},
	} {
		var e *refusal.Error
		if !errors.As(c.err, &e) || e.Code != c.code {
			t.Errorf("%s: %v", what, c.err)
		}
	}
}
