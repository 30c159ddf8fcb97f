package housekeeping

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/internal/enginetest"
)

func claim(t *testing.T, conn *pgx.Conn, process int) int64 {
	t.Helper()
	return enginetest.One[int64](t, conn, "select coalesce((select x.id from mbus4.at_get_next_message($1, '1') x), 0)", process)
}

func add(t *testing.T, conn *pgx.Conn) int64 {
	t.Helper()
	return enginetest.One[int64](t, conn, "select mbus4.at_add_message('{}', '1')")
}

// work takes n messages through the work queue, with the hinter at work beside.
func (q *queue) work(t *testing.T, process, n int) {
	t.Helper()
	for range 4 {
		enginetest.Exec(t, q.conn, "insert into mbus4.work_queue (payload) select '1' from generate_series(1, $1::int)", n/4)
		enginetest.Exec(t, q.conn, `update mbus4.work_queue set process_id = $1, fresh = false
			where ctid = any(array(select ctid from mbus4.work_queue where process_id is null and fresh and payload = '1' for update skip locked))`, process)
		enginetest.Exec(t, q.conn, "delete from mbus4.work_queue where process_id = $1", process)
		q.tick(t)
	}
}

// However many messages have gone through the work queue under an old snapshot, and though one of
// them is still claimed, the next one is found where it is.
func TestWorkQueueUnderOldSnapshot(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	old := enginetest.Connect(t, q.database)
	enginetest.Exec(t, old, "begin isolation level repeatable read")
	enginetest.One[int](t, old, "select count(*) from mbus4.work_queue")
	first := add(t, q.conn)
	if got := claim(t, q.conn, 1); got != first {
		t.Fatalf("claimed %d", got)
	}
	q.work(t, 7, 40000)
	add(t, q.conn)
	q.tick(t)
	if n := enginetest.Pages(t, q.conn, "select mbus4.at_get_next_message(7, '1')"); n > 60 {
		t.Errorf("claiming the next message touches %d pages", n)
	}
	if n := enginetest.Pages(t, q.conn, "select mbus4.at_complete_message(1000000, '1')"); n > 60 {
		t.Errorf("completing touches %d pages", n)
	}
}

// The hint rises, and yet nothing is hidden: not what comes back, not what an open transaction
// adds, not what stands in the past.
func TestWorkHintHidesNothing(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(t *testing.T, q *queue, other *pgx.Conn) int64{
		"released": func(t *testing.T, q *queue, other *pgx.Conn) int64 {
			id := add(t, q.conn)
			claim(t, q.conn, 1)
			q.work(t, 7, 40)
			enginetest.Exec(t, q.conn, "select mbus4.at_release_messages(1, '1')")
			return id
		},
		"released in an open transaction": func(t *testing.T, q *queue, other *pgx.Conn) int64 {
			id := add(t, q.conn)
			claim(t, q.conn, 1)
			q.work(t, 7, 40)
			enginetest.Exec(t, other, "begin")
			enginetest.Exec(t, other, "select mbus4.at_release_messages(1, '1')")
			q.work(t, 7, 40)
			enginetest.Exec(t, other, "commit")
			return id
		},
		"a claim undone": func(t *testing.T, q *queue, other *pgx.Conn) int64 {
			id := add(t, q.conn)
			enginetest.Exec(t, other, "begin")
			claim(t, other, 1)
			q.work(t, 7, 40)
			enginetest.Exec(t, other, "rollback")
			return id
		},
		"added in an open transaction": func(t *testing.T, q *queue, other *pgx.Conn) int64 {
			enginetest.Exec(t, other, "begin")
			id := add(t, other)
			q.work(t, 7, 40)
			enginetest.Exec(t, other, "commit")
			return id
		},
		"added late in an old transaction": func(t *testing.T, q *queue, other *pgx.Conn) int64 {
			enginetest.Exec(t, other, "begin")
			enginetest.One[int](t, other, "select count(*) from mbus4.work_queue")
			q.work(t, 7, 40)
			id := enginetest.One[int64](t, other, "insert into mbus4.work_queue (payload) values ('{}') returning id")
			q.work(t, 7, 40)
			enginetest.Exec(t, other, "commit")
			return id
		},
		"prepared": func(t *testing.T, q *queue, other *pgx.Conn) int64 {
			enginetest.Exec(t, other, "begin")
			id := add(t, other)
			enginetest.Exec(t, other, "prepare transaction 'adds'")
			q.work(t, 7, 40)
			enginetest.Exec(t, other, "commit prepared 'adds'")
			return id
		},
		"claimed and released by hand": func(t *testing.T, q *queue, other *pgx.Conn) int64 {
			id := add(t, q.conn)
			enginetest.Exec(t, q.conn, "update mbus4.work_queue set process_id = 1 where id = $1", id)
			q.work(t, 7, 40)
			enginetest.Exec(t, q.conn, "update mbus4.work_queue set process_id = null where id = $1", id)
			if got := claim(t, q.conn, 2); got != 0 {
				t.Errorf("claimed %d: the hint has no effect", got)
			}
			return id
		},
		"moved into the past": func(t *testing.T, q *queue, other *pgx.Conn) int64 {
			id := add(t, q.conn)
			q.work(t, 7, 40)
			enginetest.Exec(t, q.conn, "update mbus4.work_queue set next_attempt_at = now() - interval '1 hour' where id = $1", id)
			return id
		},
		"put into the past": func(t *testing.T, q *queue, other *pgx.Conn) int64 {
			q.work(t, 7, 40)
			id := enginetest.One[int64](t, other, "insert into mbus4.work_queue (payload, next_attempt_at) values ('{}', '-infinity') returning id")
			return id
		},
		"tried again": func(t *testing.T, q *queue, other *pgx.Conn) int64 {
			q.work(t, 7, 40)
			id := add(t, q.conn)
			claim(t, q.conn, 1)
			enginetest.Exec(t, q.conn, "update mbus4.work_queue set process_id = null, attempts = 1, next_attempt_at = clock_timestamp() + interval '1 hour' where id = $1", id)
			q.work(t, 7, 40)
			enginetest.Exec(t, q.conn, "update mbus4.work_queue set next_attempt_at = next_attempt_at - interval '1 hour' where id = $1", id)
			return id
		},
		"the clock set back": func(t *testing.T, q *queue, other *pgx.Conn) int64 {
			future := time.Now().Add(time.Hour).UnixMicro()
			enginetest.Exec(t, q.conn, fmt.Sprintf("select setval('mbus4.hint_work', %d)", future))
			q.hinter.work.hint = future
			id := add(t, q.conn)
			q.tick(t)
			return id
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue(t)
			q.work(t, 7, 40)
			want := hide(t, q, enginetest.Connect(t, q.database))
			q.hinter.work.low = time.Time{} // a second has passed
			q.tick(t)
			if got := claim(t, q.conn, 2); got != want {
				t.Errorf("claimed %d, want %d", got, want)
			}
			enginetest.Exec(t, q.conn, "delete from mbus4.work_queue")
			const hint = "select last_value from mbus4.hint_work"
			before := enginetest.One[int64](t, q.conn, hint)
			q.work(t, 7, 40)
			if after := enginetest.One[int64](t, q.conn, hint); after <= before {
				t.Errorf("the hint does not rise any more: %d, then %d", before, after)
			}
		})
	}
}

// What comes back stands in the order in which it was.
func TestWorkQueueOrder(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ids := []int64{add(t, q.conn), add(t, q.conn), add(t, q.conn), add(t, q.conn)}
	claim(t, q.conn, 1)
	claim(t, q.conn, 1)
	enginetest.Exec(t, q.conn, "select mbus4.at_release_messages(1, '1')")
	enginetest.Exec(t, q.conn, "update mbus4.work_queue set next_attempt_at = (select next_attempt_at from mbus4.work_queue where id = $1) + interval '1 microsecond' where id = $2", ids[2], ids[1])
	for _, want := range []int64{ids[0], ids[2], ids[1], ids[3], 0} {
		if got := claim(t, q.conn, 2); got != want {
			t.Errorf("claimed %d, want %d", got, want)
		}
	}
}
