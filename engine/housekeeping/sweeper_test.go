package housekeeping

import (
	"context"
	"testing"
	"time"

	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/refusal"
)

func TestSweepExpired(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	id := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, enginetest.PostSQL, id, "1 s ago", "old", "")
	enginetest.Exec(t, conn, enginetest.PostSQL, id, "1 h", "fresh", "")
	enginetest.Exec(t, conn, enginetest.PostSQL, id, "", "lasting", "")
	dmq := enginetest.One[int](t, conn, "select id from mbus4.consumer where qname = 'dmq'")
	enginetest.Exec(t, conn, enginetest.PostSQL, dmq, "1 s ago", "dead", "")

	sweep := func(s *sweeper, want int64) {
		t.Helper()
		if got, err := s.Sweep(enginetest.Context(t), conn); err != nil || got != want {
			t.Errorf("swept %d, %v; want %d", got, err, want)
		}
	}
	sweep(newSweeper(), 1)
	sweep(newSweeper(), 0)
	late := &sweeper{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }}
	sweep(late, 1)
	if left := enginetest.One[string](t, conn, "select string_agg(iid, ' ' order by iid) from mbus4.message"); left != "dead lasting" {
		t.Errorf("left: %s", left)
	}
}

// Keys of posts go when their windows are over, but for one that is being taken over.
func TestSweepKeys(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	enginetest.Exec(t, conn, `insert into mbus4.unique_post (queue, key, until, iid)
		select 'q', n::text, now() + (n - $1::int - 0.5) * interval '1 h', 'i' from generate_series(1, $1::int + 3) n`, sweepBatch+100)
	client := enginetest.Connect(t, name)
	enginetest.Exec(t, client, "begin; update mbus4.unique_post set until = now() + interval '1 h' where key = '7'")
	if _, err := newSweeper().Sweep(enginetest.Context(t), conn); err != nil {
		t.Fatal(err)
	}
	enginetest.Exec(t, client, "commit")
	if left := enginetest.One[string](t, conn, "select string_agg(key, ' ' order by key::int) from mbus4.unique_post"); left != "7 1101 1102 1103" {
		t.Errorf("left: %s", left)
	}
}

func TestSweepManyInBatches(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	id := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	const many = 2*sweepBatch + 500
	enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid, expires)
		select n, $1, now(), now(), 'i' || n, now() - interval '1 s' from generate_series(1, $2::int) n`, id, many)

	// One of them is in a client's hands: it stays, nobody waits.
	client := enginetest.Connect(t, name)
	tx, err := client.Begin(enginetest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(enginetest.Context(t), "select from mbus4.message where id = 7 for update"); err != nil {
		t.Fatal(err)
	}
	if got, err := newSweeper().Sweep(enginetest.Context(t), conn); err != nil || got != many-1 {
		t.Errorf("swept %d, %v; want %d", got, err, many-1)
	}
	if err := tx.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got, err := newSweeper().Sweep(enginetest.Context(t), conn); err != nil || got != 1 {
		t.Errorf("swept %d, %v; want 1", got, err)
	}
}

func TestSweepOrphans(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	kept := enginetest.One[int](t, conn, enginetest.NewConsumer, "kept")
	dropped := enginetest.One[int](t, conn, enginetest.NewConsumer, "dropped")
	for _, id := range []int{kept, dropped, dropped + 5} {
		enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid)
			select n, $1, case when n % 2 = 0 then now() else 'infinity' end, now(), 'i' || n
			from generate_series(1, 1500) n`, id)
	}
	enginetest.Exec(t, conn, "delete from mbus4.queue where qname = 'dropped'") // its consumer goes with it
	if got, err := newSweeper().Sweep(enginetest.Context(t), conn); err != nil || got != 3000 {
		t.Errorf("swept %d, %v; want 3000", got, err)
	}
	if left := enginetest.One[int](t, conn, "select count(*) from mbus4.message where consumer_id = $1", kept); left != 1500 {
		t.Errorf("%d messages left of 1500", left)
	}
}

// What inserts into views leave behind goes, and takes no more room however often that happens.
// Nobody who inserts waits for it.
func TestSweepViewInserts(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn, client := enginetest.Connect(t, name), enginetest.Connect(t, name)
	const size = "select pg_relation_size('mbus4.view_insert')"
	var first, last int64
	for range 5 {
		enginetest.Exec(t, client, "insert into mbus4.view_insert (iid) select md5(n::text) from generate_series(1, 5000) n")
		last = enginetest.One[int64](t, conn, size)
		if first == 0 {
			first = last
		}
		enginetest.Exec(t, client, "begin")
		enginetest.Exec(t, client, "insert into mbus4.view_insert (iid) values ('of an open transaction')")
		if _, err := newSweeper().Sweep(enginetest.Context(t), conn); err != nil {
			t.Fatal(err)
		}
		enginetest.Exec(t, client, "commit")
	}
	if last > 2*first+8192*4 { // what was deleted beside an open transaction is there for another round
		t.Errorf("it grows: %d bytes, then %d", first, last)
	}
	if _, err := newSweeper().Sweep(enginetest.Context(t), conn); err != nil {
		t.Fatal(err)
	}
	if n := enginetest.One[int](t, conn, "select count(*) from mbus4.view_insert"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	if n := enginetest.One[int64](t, conn, size); n > 8192*viewInsertPages {
		t.Errorf("%d bytes are left", n)
	}

	// An insert while the sweeper is at work.
	tx, err := conn.Begin(enginetest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Exec(t, client, "insert into mbus4.view_insert (iid) values ('x')")
	if _, err := tx.Exec(enginetest.Context(t), sweepViewInsertsSQL, "(0,0)", sweepBatch); err != nil {
		t.Fatal(err)
	}
	enginetest.Exec(t, client, "set lock_timeout = '5s'")
	enginetest.Exec(t, client, "insert into mbus4.view_insert (iid) values ('y')")
	if err := tx.Rollback(enginetest.Context(t)); err != nil {
		t.Fatal(err)
	}
}

// A page that takes longer than a statement may is passed over, and what stands behind it is swept.
func TestSweepPassesOverAPage(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	id := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, `create or replace function mbus4.is_leased(available_at timestamptz, delayed_until timestamptz, headers public.hstore) returns boolean language sql volatile as $$ select pg_sleep(60) is null $$`)
	const expired = "insert into mbus4.message (id, consumer_id, available_at, added, expires, iid) select n, $1, now() + $2::text::interval, now(), now(), $2::text || n from generate_series(1, $3) n"
	enginetest.Exec(t, conn, "alter table mbus4.message set (fillfactor = 10)")
	enginetest.Exec(t, conn, expired, id, "1 day", 1) // is asked for a lease
	enginetest.Exec(t, conn, expired, id, "0", 40)
	enginetest.Exec(t, conn, "set statement_timeout = '1 s'")
	s := newSweeper()
	s.pages = pagePass{end: 1<<32 - 1, size: 1}
	for n := 0; s.pages.under(); n++ {
		_, err := s.sweepPages(enginetest.Context(t), conn, &slice{})
		if err != nil && (refusal.SQLState(err) != refusal.QueryCanceled || n > 0) {
			t.Fatal(err)
		}
	}
	if n := enginetest.One[int](t, conn, "select count(distinct (ctid::text::point)[0]) from mbus4.message where expires is not null"); n != 1 {
		t.Errorf("some are left on %d pages", n)
	}
}
