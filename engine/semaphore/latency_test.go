package semaphore

import (
	"testing"
	"time"

	"mbusproxy/engine/internal/enginetest"
)

// since tells the allocator that a transaction of this proxy ended so long ago, after the last look.
func (s *semaphoreTest) since(ago time.Duration) {
	s.granter.notedAt = time.Now().Add(-ago)
	s.granter.followedAt = s.granter.notedAt.Add(-time.Hour)
}

// wantAfter turns, and wants one time for each grant, none shorter than least and none as long as most.
func (s *semaphoreTest) wantAfter(grants int, least, most time.Duration) {
	s.Helper()
	out := s.turn()
	if out.Granted != grants || len(out.After) != grants {
		s.Fatalf("%d grants, of which %v are known; want %d", out.Granted, out.After, grants)
	}
	for _, d := range out.After {
		if d < least || d >= most {
			s.Errorf("a grant took %v, not %v to %v", d, least, most)
		}
	}
}

// A grant has taken the time since the release, or since the task came where a slot was free,
// whatever has kept the allocator.
func TestGrantLatency(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	s := newSemaphoreTest(t)
	s.semaphore("k", 2, 0)
	s.turn()
	s.enqueue("k", 1, 1)
	s.since(minute)
	s.wantAfter(1, minute, 2*minute)

	// Who waits for a slot has waited since it was free.
	for task := range int64(4) {
		s.enqueue("k", 2+task, 1)
	}
	s.since(minute)
	s.wantAfter(1, minute, 2*minute)
	s.release("k", 1)
	s.since(10 * minute)
	s.wantAfter(1, 10*minute, 11*minute)

	// A transaction that this proxy has not seen may have ended just after the last look.
	s.release("k", 2)
	s.granter.notedAt, s.granter.followedAt = time.Time{}, time.Now().Add(-5*minute)
	s.wantAfter(1, 5*minute, 6*minute)
	s.release("k", 3)
	s.granter.notedAt, s.granter.followedAt = time.Now().Add(-7*minute), time.Now().Add(-3*minute)
	s.wantAfter(1, 3*minute, 4*minute)

	// A row that somebody has locked is granted late.
	s.enqueue("k", 9, 1)
	s.turn()
	lock := enginetest.Connect(t, s.name)
	enginetest.Exec(t, lock, "begin; select from mbus4.semaphore_task where task_id = 9 for update")
	s.release("k", 4)
	s.since(minute)
	if out := s.turn(); out.Granted != 0 {
		t.Fatalf("%+v", out)
	}
	enginetest.Exec(t, lock, "commit")
	s.since(0)
	var out turned
	enginetest.Eventually(t, "the row is tried again", func() bool {
		out = s.turn()
		return out.Granted > 0
	})
	if len(out.After) != 1 || out.After[0] < minute {
		t.Errorf("%v", out.After)
	}
	if len(s.granter.due) != 0 {
		t.Errorf("%d semaphores are due", len(s.granter.due))
	}

	// What a full pass finds has waited nobody knows how long.
	enginetest.Exec(t, s.conn, "delete from mbus4.semaphore_task where task_id = 5; insert into mbus4.semaphore_task (semaphore_id, task_id, priority) select id, 10, 1 from mbus4.semaphore")
	s.granter.forget()
	if out := s.turn(); out.Granted != 1 || len(out.After) != 0 {
		t.Errorf("%+v", out)
	}
}

// The classes are those of Prometheus: each has what is in those below it.
func TestLatencies(t *testing.T) {
	var l latencies
	l.add([]time.Duration{0, time.Millisecond, 2 * time.Millisecond, 700 * time.Millisecond, time.Hour})
	got := l.read()
	if got.Count != 5 || got.Sum != time.Hour+703*time.Millisecond || got.Within[0] != 2 || got.Within[1] != 3 || got.Within[8] != 3 || got.Within[9] != 4 || got.Within[len(got.Within)-1] != 4 {
		t.Errorf("%+v", got)
	}
}
