package engine

import (
	"context"
	"testing"
	"time"

	"mbusproxy/engine/housekeeping"
)

// postSQL puts one message where post would: consumer, expires as an interval ("" for none), iid,
// data.
const postSQL = `
insert into mbus4.message (id, consumer_id, available_at, added, iid, expires, data)
select nextval('mbus4.message_id'), $1, clock_timestamp(), now(), $3,
       case $2 when '' then null else now() + $2::text::interval end, hstore('text', $4)`

// newConsumer makes a queue with one consumer and gives the consumer's id.
const newConsumer = `
with q as (insert into mbus4.queue (name, consumers_cnt) values ($1, 1) returning id)
insert into mbus4.consumer (queue_id, queue, name) select id, $1, 'default' from q returning id`

func TestSweepExpired(t *testing.T) {
	t.Parallel()
	conn := connect(t, installed(t))
	id := one[int](t, conn, newConsumer, "q")
	mustExec(t, conn, postSQL, id, "1 s ago", "old", "")
	mustExec(t, conn, postSQL, id, "1 h", "fresh", "")
	mustExec(t, conn, postSQL, id, "", "lasting", "")
	dmq := one[int](t, conn, "select id from mbus4.consumer where queue = 'dmq'")
	mustExec(t, conn, postSQL, dmq, "1 s ago", "dead", "")

	sweep := func(s *housekeeping.Sweeper, want int64) {
		t.Helper()
		if got, err := s.Sweep(testContext(t), conn); err != nil || got != want {
			t.Errorf("swept %d, %v; want %d", got, err, want)
		}
	}
	sweep(housekeeping.NewSweeper(), 1)
	sweep(housekeeping.NewSweeper(), 0)
	late := &housekeeping.Sweeper{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }}
	sweep(late, 1)
	if left := one[string](t, conn, "select string_agg(iid, ' ' order by iid) from mbus4.message"); left != "dead lasting" {
		t.Errorf("left: %s", left)
	}
}

func TestSweepManyInBatches(t *testing.T) {
	t.Parallel()
	name := installed(t)
	conn := connect(t, name)
	id := one[int](t, conn, newConsumer, "q")
	const many = 2*housekeeping.sweepBatch + 500
	mustExec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid, expires)
		select n, $1, now(), now(), 'i' || n, now() - interval '1 s' from generate_series(1, $2::int) n`, id, many)

	// One of them is in a client's hands: it stays, nobody waits.
	client := connect(t, name)
	tx, err := client.Begin(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(testContext(t), "select from mbus4.message where id = 7 for update"); err != nil {
		t.Fatal(err)
	}
	if got, err := housekeeping.NewSweeper().Sweep(testContext(t), conn); err != nil || got != many-1 {
		t.Errorf("swept %d, %v; want %d", got, err, many-1)
	}
	if err := tx.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got, err := housekeeping.NewSweeper().Sweep(testContext(t), conn); err != nil || got != 1 {
		t.Errorf("swept %d, %v; want 1", got, err)
	}
}

func TestSweepOrphans(t *testing.T) {
	t.Parallel()
	conn := connect(t, installed(t))
	kept := one[int](t, conn, newConsumer, "kept")
	dropped := one[int](t, conn, newConsumer, "dropped")
	for _, id := range []int{kept, dropped, dropped + 5} {
		mustExec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid)
			select n, $1, case when n % 2 = 0 then now() else 'infinity' end, now(), 'i' || n
			from generate_series(1, 1500) n`, id)
	}
	mustExec(t, conn, "delete from mbus4.queue where name = 'dropped'") // its consumer goes with it
	if got, err := housekeeping.NewSweeper().Sweep(testContext(t), conn); err != nil || got != 3000 {
		t.Errorf("swept %d, %v; want 3000", got, err)
	}
	if left := one[int](t, conn, "select count(*) from mbus4.message where consumer_id = $1", kept); left != 1500 {
		t.Errorf("%d messages left of 1500", left)
	}
}

func TestSweepOnce(t *testing.T) {
	t.Parallel()
	name := newDatabase(t)
	e := openEngine(t, Options{SweepInterval: time.Hour})
	if _, err := e.Database(testContext(t), name); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, name)
	mustExec(t, conn, postSQL, one[int](t, conn, newConsumer, "q"), "1 s ago", "a", "")
	if got, err := housekeeping.NewSweeper().Sweep(testContext(t), conn); err != nil || got > 1 {
		t.Errorf("swept %d, %v", got, err)
	}
	if left := one[int](t, conn, "select count(*) from mbus4.message"); left != 0 {
		t.Errorf("%d left", left)
	}
}

// What inserts into views leave behind goes, and takes no more room however often that happens. Nobody who inserts waits
// for it.
func TestSweepViewInserts(t *testing.T) {
	t.Parallel()
	name := installed(t)
	conn, client := connect(t, name), connect(t, name)
	const size = "select pg_relation_size('mbus4.view_insert')"
	var first, last int64
	for range 5 {
		mustExec(t, client, "insert into mbus4.view_insert (iid) select md5(n::text) from generate_series(1, 5000) n")
		last = one[int64](t, conn, size)
		if first == 0 {
			first = last
		}
		mustExec(t, client, "begin")
		mustExec(t, client, "insert into mbus4.view_insert (iid) values ('of an open transaction')")
		if _, err := housekeeping.NewSweeper().Sweep(testContext(t), conn); err != nil {
			t.Fatal(err)
		}
		mustExec(t, client, "commit")
	}
	if last > 2*first+8192*4 { // what was deleted beside an open transaction is there for another round
		t.Errorf("it grows: %d bytes, then %d", first, last)
	}
	if _, err := housekeeping.NewSweeper().Sweep(testContext(t), conn); err != nil {
		t.Fatal(err)
	}
	if n := one[int](t, conn, "select count(*) from mbus4.view_insert"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	if n := one[int64](t, conn, size); n > 8192*housekeeping.viewInsertPages {
		t.Errorf("%d bytes are left", n)
	}

	// An insert while the sweeper is at work.
	tx, err := conn.Begin(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, client, "insert into mbus4.view_insert (iid) values ('x')")
	if _, err := tx.Exec(testContext(t), housekeeping.sweepViewInsertsSQL, "(0,0)", housekeeping.sweepBatch); err != nil {
		t.Fatal(err)
	}
	mustExec(t, client, "set lock_timeout = '5s'")
	mustExec(t, client, "insert into mbus4.view_insert (iid) values ('y')")
	if err := tx.Rollback(testContext(t)); err != nil {
		t.Fatal(err)
	}
}
