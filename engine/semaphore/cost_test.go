package semaphore

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/internal/enginetest"
)

// fill makes tasks wait, as many as to, directly but as the calls would tell of it.
func (s *semaphoreTest) fill(key string, from, to int) {
	s.Helper()
	enginetest.Exec(s.T, s.conn, `insert into mbus4.semaphore_task (semaphore_id, task_id, priority)
		select s.id, n, (n * 7919) % 100000 from mbus4.semaphore s, generate_series($2::int, $3::int) n where s.key = $1`, key, from, to)
	enginetest.Exec(s.T, s.conn, `insert into mbus4.semaphore_change (semaphore_id, priority, arrival)
		select id, 1e9, 0 from mbus4.semaphore where key = $1`, key)
}

func (s *semaphoreTest) frontPages(key string) (remembered, afresh int) {
	s.Helper()
	id := enginetest.One[int32](s.T, s.conn, "select id from mbus4.semaphore where key = $1", key)
	known := s.granter.known[id]
	if known == nil {
		s.Fatalf("nothing is known of semaphore %s", key)
	}
	pages := func(from place) int {
		args := frontArgs{ids: []int32{id}, priorities: []float64{from.priority}, arrivals: []int64{from.arrival}, running: []int32{int32(len(known.running))}, more: []int32{1}, room: []int32{0}, most: 10}
		sql, values := args.of(s.granter.filled())
		return enginetest.Pages(s.T, s.grants, sql, values...)
	}
	return pages(known.floor), pages(firstPlace)
}

// What one look at a semaphore costs depends neither on how many tasks wait nor, under an old snapshot, on
// how many were granted, released and told of before.
func TestSemaphoreCost(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	s.semaphore("small", 100, 0)
	s.semaphore("large", 100, 0)
	s.fill("small", 1, 1000)
	s.fill("large", 1, 100000)
	s.turn()
	small, _ := s.frontPages("small")
	large, _ := s.frontPages("large")
	t.Logf("pages touched with 1,000 waiting: %d, with 100,000: %d", small, large)
	if large > small+5 {
		t.Errorf("%d pages with 100,000 waiting, %d with 1,000", large, small)
	}

	old, err := enginetest.Connect(t, s.name).BeginTx(enginetest.Context(t), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	s.do(err)
	defer old.Rollback(enginetest.Context(t))
	_, err = old.Exec(enginetest.Context(t), "select count(*) from mbus4.semaphore")
	s.do(err)
	for range 200 {
		enginetest.Exec(t, s.conn, `with gone as (delete from mbus4.semaphore_task t using mbus4.semaphore s
				where s.id = t.semaphore_id and s.key = 'large' and t.status <> 'WAIT' returning t.semaphore_id, t.task_id)
			insert into mbus4.semaphore_change (semaphore_id, tasks) select semaphore_id, array_agg(task_id) from gone group by 1`)
		if got := s.turn(); got.Granted != 100 {
			t.Fatalf("%+v", got)
		}
	}
	held, afresh := s.frontPages("large")
	log := enginetest.Pages(s.T, s.grants, followSQL, s.granter.seen, mostFollowed, mostTasks)
	t.Logf("under an old snapshot, after 20,000 grants: %d pages from where the granter remembers, %d from the beginning; %d for the log", held, afresh, log)
	if held > small+5 || log > 10 {
		t.Errorf("an old snapshot makes it dearer: %d pages, %d for the log", held, log)
	}
	if afresh < 1000 {
		t.Errorf("%d pages from the beginning: the test shows nothing", afresh)
	}
	// Better tasks that come while worse ones wait: between the two lies all that was granted.
	for n := range int64(5) {
		s.enqueue("large", 200000+n, 1e6+float64(n))
		s.release("large", enginetest.One[int64](t, s.conn, RunningTaskSQL, "large", 0))
		if got := s.turn(); got.Granted != 1 {
			t.Fatalf("%+v", got)
		}
		s.release("large", 200000+n)
		s.turn()
		if held, _ := s.frontPages("large"); held > small+5 {
			t.Errorf("after a better task came, %d pages", held)
		}
	}
	s.do(s.calls.Enqueue(enginetest.Context(t), "large", 300000, 1e6))
	s.release("large", enginetest.One[int64](t, s.conn, RunningTaskSQL, "large", 0))
	began := time.Now()
	if got := s.turn(); got.Granted != 1 {
		t.Errorf("%+v", got)
	}
	t.Logf("granting one more: %v", time.Since(began))
}

// The plans that the granter's session makes use the indexes, whatever the tables held when they were made.
func TestSemaphorePlans(t *testing.T) {
	t.Parallel()
	s := newSemaphoreTest(t)
	s.turn()
	check := func(when string) {
		t.Helper()
		sql := s.granter.filled()
		look := []any{[]int32{1}, []float64{1}, []int64{1}, []int32{0}, []int32{1}, []int32{1}, 10}
		for what, c := range map[string]struct {
			sql  string
			args []any
		}{
			"changes": {followSQL, []any{s.granter.seen, mostFollowed, mostTasks}},
			"running": {loadRunningSQL, []any{[]int32{1}}},
			"front":   {sql.front, look},
			"fresh":   {sql.fresh, append(look, []int32{1}, []int64{5}, []int32{0}, []int32{1})},
			"rivals":  {rivalsSQL, []any{[]int32{1}, []float64{1}, []int64{1}, []float64{-1}, []int32{5}}},
			"give":    {sql.give, []any{[]int32{1}, []int32{10}, []int32{1}, []int64{77}, []bool{true}}},
		} {
			if n := enginetest.Pages(s.T, s.grants, c.sql, c.args...); n > 60 {
				t.Errorf("%s: %s touches %d pages", when, what, n)
			}
		}
	}
	check("empty")
	s.semaphore("k", 0, 0)
	enginetest.Exec(t, s.conn, "analyze mbus4.semaphore_task, mbus4.semaphore_change, mbus4.semaphore")
	check("analyzed while empty")
	s.fill("k", 1, 100000)
	check("filled")
	enginetest.Exec(t, s.conn, "vacuum analyze mbus4.semaphore_task")
	check("analyzed while full")
	// The calls, too.
	for _, c := range []struct {
		function string
		args     []any
	}{
		{"semaphore_enqueue", []any{"k", 5, 1}},
		{"semaphore_release", []any{"k", 5}},
		{"semaphore_update", []any{"k", 5, 1}},
		{"semaphore_get_or_create", []any{"k"}},
	} {
		if n := enginetest.Pages(s.T, s.conn, s.calls.texts.Statement(c.function, "1"), c.args...); n > 40 {
			t.Errorf("%s touches %d pages", c.function, n)
		}
	}
	enginetest.Exec(t, s.conn, "insert into mbus4.semaphore (key) select 'x' || n from generate_series(1, 5000) n")
	if n := enginetest.Pages(s.T, s.conn, s.calls.texts.Statement("semaphore_enqueue", "1"), "x77", 5, 1); n > 40 {
		t.Errorf("enqueuing with 5,000 semaphores touches %d pages", n)
	}
}
