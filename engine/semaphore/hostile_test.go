package semaphore

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"mbusproxy/engine/internal/enginetest"
)

// newHostile gives a session of a role that may write what mbus4_user may.
func (s *semaphoreTest) newHostile() (exec func(sql string, args ...any)) {
	s.Helper()
	role := enginetest.NewRole(s.T, s.name)
	enginetest.Exec(s.T, s.conn, "grant mbus4_user to "+role)
	conn := enginetest.ConnectTo(s.T, enginetest.DSNAs(s.T, s.name, role))
	return func(sql string, args ...any) {
		s.Helper()
		enginetest.Exec(s.T, conn, sql, args...)
	}
}

// Whatever rows mbus4_user writes into the tables past the functions, granting goes on, for the same
// semaphore and for others.
func TestHostileRows(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	s.semaphore("k", 1, 0)
	s.semaphore("of all", 2, 1)
	id := enginetest.One[int](t, s.conn, "select id from mbus4.semaphore where key = 'of all'")
	hostile := s.newHostile()
	change := func(values string) { hostile("insert into mbus4.semaphore_change " + values) }
	task := int64(0)
	works := func(after string) {
		t.Helper()
		task++
		s.enqueue("k", task, 1)
		s.want("k", fmt.Sprintf("%d+", task), fmt.Sprintf("Acquired k %d", task))
		s.release("k", task)
		s.want("k", "", "")
		if t.Failed() {
			t.Fatal("after " + after)
		}
	}
	works("nothing")
	s.enqueue("of all", 1, 1) // what is known of a semaphore is what changes are noted in
	s.want("of all", "1+", "Acquired of all 1")
	for _, values := range []string{
		"(semaphore_id) values (-2147483648)", "(semaphore_id) values (2147483647), (0), (-1)",
		"(semaphore_id, priority) values (@, 1)", "(semaphore_id, arrival) values (@, 1)",
		"(semaphore_id, priority, arrival) values (@, 'NaN', 1), (@, 'Infinity', -9223372036854775808), (@, '-Infinity', 9223372036854775807)",
		"(semaphore_id, tasks) values (@, '{}'), (@, '{NULL}'), (@, '{{1,2},{3,NULL}}'), (@, '[-5:-4]={9223372036854775807,-9223372036854775808}')",
		"(semaphore_id, tasks) select @, array_agg(n) from generate_series(1, 30000) n",
		"(semaphore_id, xid) values (@, '0'), (@, '18446744073709551615')",
	} {
		values = strings.ReplaceAll(values, "@", strconv.Itoa(id))
		change(values)
		works(values)
	}
	s.want("of all", "1+", "")

	// Tasks that stand at one place, with numbers whose difference no number holds.
	hostile("update mbus4.semaphore set active = 2147483647, try_release = 2147483647 where id = $1", id)
	for range 3 { // all come, and leave in some order
		for _, at := range []string{"1, 0", "'-Infinity', 9223372036854775807", "'Infinity', -9223372036854775808"} {
			hostile(`with tasks as (
					insert into mbus4.semaphore_task (semaphore_id, task_id, priority, arrival)
					select $1, n, `+at+` from unnest('{-9223372036854775808,-9223372036854775807,-6000000000000000000,-3,2,4000000000000000000,9223372036854775806,9223372036854775807}'::bigint[]) n
					returning task_id)
				insert into mbus4.semaphore_change (semaphore_id, tasks, priority, arrival) select $1, array_agg(task_id), `+at+` from tasks`, id)
			s.turn()
			enginetest.One[string](t, s.conn, eventsSQL)
			if n := enginetest.One[int](t, s.conn, "select count(*) from mbus4.semaphore_task where semaphore_id = $1 and status = 'ACQUIRED'", id); n != 9 {
				t.Errorf("%d tasks have a slot, of those that stand at %s", n, at)
			}
			hostile(`with gone as (delete from mbus4.semaphore_task where semaphore_id = $1 and task_id <> 1 returning task_id)
				insert into mbus4.semaphore_change (semaphore_id, tasks) select $1, array_agg(task_id order by md5(task_id::text)) from gone`, id)
			works("tasks that stand at " + at)
		}
	}
}

// However much is in the log, a turn reads so much of it; nothing of it is lost, and of semaphores
// that do not exist nothing is kept.
func TestFloodOfChanges(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	s.semaphore("k", 1, 0)
	hostile := s.newHostile()
	// What is there when it begins to lead is of no use; and there may be any amount of it.
	const flood = "insert into mbus4.semaphore_change (semaphore_id) select n from generate_series(1000000, 1000000 + $1::int) n"
	hostile(flood, 3*mostFollowed)
	s.turn()
	if n := enginetest.One[int](t, s.conn, "select count(*) from mbus4.semaphore_change"); n < mostFollowed {
		t.Errorf("beginning to lead has removed all but %d rows at once", n)
	}
	hostile(flood, 3*mostFollowed)
	s.enqueue("k", 1, 1)
	turns := 0
	for more := true; more; turns++ {
		out, err := s.granter.Turn(enginetest.Context(t), s.grants)
		if err != nil {
			t.Fatal(err)
		}
		if out.Changes > mostFollowed {
			t.Errorf("a turn has read %d entries", out.Changes)
		}
		more = out.More
	}
	if turns < 4 {
		t.Errorf("%d turns", turns)
	}
	if n := len(s.granter.due); n > 1 {
		t.Errorf("%d semaphores are waited for", n)
	}
	s.want("k", "1+", "Acquired k 1")
	enginetest.Eventually(t, "what nobody reads goes", func() bool {
		s.turn()
		return enginetest.One[int](t, s.conn, "select count(*) from mbus4.semaphore_change") == 0
	})
}
