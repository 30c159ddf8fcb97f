package semaphore

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/sqlfuncs"
)

// After any calls the Granter, who remembers, has left nothing to do that one who reads all would do; and
// whom it granted a slot goes before all that still wait.
func TestSemaphoreRemembersRightly(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	random := rand.New(rand.NewPCG(3, 4))
	keys := []string{"a", "b"}
	for _, key := range keys {
		s.semaphore(key, 3, 2)
	}
	for step := range 400 {
		before := map[string]bool{}
		for _, key := range keys {
			running, _ := ReadTasks(t, s.conn, key)
			for _, r := range running {
				before[fmt.Sprint(key, r.id)] = true
			}
		}
		for range 1 + random.IntN(4) {
			key, task := keys[random.IntN(2)], random.Int64N(40)
			switch random.IntN(30) {
			case 0:
				active := random.IntN(6)
				s.do(s.calls.Update(enginetest.Context(t), key, active, random.IntN(active+1)))
			case 1, 2, 3, 4, 5, 6, 7, 8, 9:
				task = enginetest.One[int64](t, s.conn, RunningTaskSQL, key, task)
				fallthrough
			case 10, 11:
				delete(before, fmt.Sprint(key, task))
				s.release(key, task)
			case 12: // more than are named one by one
				enginetest.Exec(t, s.conn, s.many(random.IntN(5)), key)
			default:
				s.enqueue(key, task, float64(random.IntN(8)))
			}
		}
		s.turn()
		for _, key := range keys {
			s.checkOracle(key, before)
		}
		if t.Failed() {
			t.Fatalf("step %d", step)
		}
	}
}

// many enqueues 150 tasks to semaphore $1, whose last ones have that priority.
func (s *semaphoreTest) many(priority int) string {
	names := sqlfuncs.Names{Call: "mbus4_call", Number: "0", Mark: "0"}
	match, _ := sqlfuncs.Lookup("semaphore_enqueue")
	call := s.calls.texts.Fragment(match.Func, sqlfuncs.Use{Rows: true}, names).CTEs
	return fmt.Sprintf(`with mbus4_call_args (n, key, task_id, priority) as (
		select n, $1::text, 1000 + n, (-n %% 3 + %d)::float8 from generate_series(1::bigint, 150) n
	), %s select count(*) from mbus4_call`, priority, call)
}

func (s *semaphoreTest) checkOracle(key string, before map[string]bool) {
	s.Helper()
	var active, tryRelease int
	s.do(s.conn.QueryRow(enginetest.Context(s.T), `select active, try_release from mbus4.semaphore where key = $1`, key).Scan(&active, &tryRelease))
	running, waiting := ReadTasks(s.T, s.conn, key)
	if grant, ask := decide(active, tryRelease, running, waiting, nil); len(grant)+len(ask) > 0 {
		s.Errorf("semaphore %s: left to grant %+v, to ask %+v", key, grant, ask)
	}
	for _, r := range running {
		if !before[fmt.Sprint(key, r.id)] && len(waiting) > 0 && waiting[0].compare(r) < 0 {
			s.Errorf("semaphore %s: %+v was granted, and %+v waits", key, r, waiting[0])
		}
	}
}
