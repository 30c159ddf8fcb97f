package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"mbusproxy/engine/internal/enginetest"
)

const (
	heldCounts = "select format('%s %s %s %s', ready, delayed, held, exact) from mbus4.consumers where queue = 'q'"
	// Where a message is held, by whom: what why and what messages_of say.
	heldBy = `select concat_ws('; ', (select concat_ws(' ', r.state, r.pid, r.username, r.application, r.detail) from mbus4.reasons('h1') r),
		(select concat_ws(' ', m.state, m.pid, m.username, m.application, m.detail) from mbus4.messages_of('q', state => 'held', amt => 1) m))`
)

// What open transactions hold counts as held, and it is known who they are, whichever way they hold it.
func TestHeld(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn, holder, second := enginetest.Connect(t, name), enginetest.Connect(t, name), enginetest.Connect(t, name)
	q := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid)
		select nextval('mbus4.post_id'), $1, case when n > 5 then now() + interval '1 hour' else clock_timestamp() end, now(), 'h' || n from generate_series(1, 7) n`, q)
	enginetest.Exec(t, holder, "set application_name to worker")
	who := fmt.Sprintf("held %d %s worker", holder.PgConn().PID(), enginetest.One[string](t, conn, "select current_user::text"))
	first := who + " an open transaction has consumed or locked it; " + who
	const prepared = `held the prepared transaction "held" has it; held the prepared transaction "held" has it`
	for _, c := range []struct{ what, take, counts, by, end string }{
		{"consumed", "begin; delete from mbus4.message where iid in ('h1', 'h2', 'h6')", "3 1 3 t", first, "rollback"},
		{"locked", "begin; select from mbus4.message where iid in ('h1', 'h2') for update", "3 2 2 t", first, "rollback"},
		{"in a savepoint", "begin; savepoint s; delete from mbus4.message where iid = 'h1'", "4 2 1 t", first, "rollback"},
		{"in a released savepoint", "begin; create table t (); savepoint s; delete from mbus4.message where iid = 'h1'; release s", "4 2 1 t", first, "rollback"},
		{"in a savepoint that was rolled back", "begin; savepoint s; delete from mbus4.message where iid = 'h1'; rollback to s", "5 2 0 t", "ready 0 before it", "rollback"},
		{"prepared", "begin; delete from mbus4.message where iid = 'h1'; prepare transaction 'held'", "4 2 1 t", prepared, "rollback prepared 'held'"},
		{
			"prepared, in a released savepoint", "begin; savepoint s; delete from mbus4.message where iid = 'h1'; release s; prepare transaction 'held'",
			"4 2 1 t", prepared, "rollback prepared 'held'",
		},
	} {
		enginetest.Exec(t, holder, c.take)
		if got := enginetest.One[string](t, conn, heldCounts); got != c.counts {
			t.Errorf("%s: %s, want %s", c.what, got, c.counts)
		}
		if got := enginetest.One[string](t, conn, heldBy); got != c.by {
			t.Errorf("%s: %s, want %s", c.what, got, c.by)
		}
		enginetest.Exec(t, holder, c.end)
		if got := enginetest.One[string](t, conn, heldCounts); got != "5 2 0 t" {
			t.Errorf("%s, ended: %s", c.what, got)
		}
	}

	// Two that may be it: held, but it is not said by whom.
	for _, c := range []string{"begin; select from mbus4.message where iid = 'h5' for update"} {
		enginetest.Exec(t, second, c)
	}
	enginetest.Exec(t, holder, "begin; savepoint s; delete from mbus4.message where iid = 'h1'; release s")
	if got := enginetest.One[string](t, conn, heldBy); !strings.HasPrefix(got, "held an open transaction") {
		t.Errorf("two open transactions: %s", got)
	}
	// Two that lock the same row: the server tells nobody's name of such a lock, and the row counts as not held.
	enginetest.Exec(t, holder, "rollback; begin; select from mbus4.message where iid = 'h1' for key share")
	enginetest.Exec(t, second, "select from mbus4.message where iid = 'h1' for share")
	if got := enginetest.One[string](t, conn, heldCounts); got != "4 2 1 t" {
		t.Errorf("locked by two: %s", got)
	}
	enginetest.Exec(t, holder, "rollback")
	enginetest.Exec(t, second, "rollback")

	// Very many of one transaction's: estimated.
	enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, data)
		select nextval('mbus4.post_id'), $1, clock_timestamp(), now(), hstore('n', repeat('x', 200)) from generate_series(1, 100000)`, q)
	enginetest.Exec(t, holder, "begin; delete from mbus4.message where ctid = any (array(select ctid from mbus4.message where consumer_id = "+fmt.Sprint(q)+" order by available_at, id limit 50000))")
	if got := enginetest.One[string](t, conn, "select concat_ws(' ', ready between 35000 and 65000, held between 35000 and 65000, exact) from mbus4.consumers where queue = 'q'"); got != "t t f" {
		t.Errorf("half of many: %s, %s", got, enginetest.One[string](t, conn, heldCounts))
	}
	enginetest.Exec(t, holder, "rollback")
	// Few of many, now and later and waiting for others.
	enginetest.Exec(t, conn, postKinds, q, kinds, []int{0, 150, 50, 0})
	enginetest.Exec(t, holder, `begin; delete from mbus4.message where ctid in (
		(select ctid from mbus4.message where available_at between now() and now() + interval '1 day' order by available_at limit 1)
		union all (select ctid from mbus4.message where available_at = 'infinity' limit 2))`)
	if got := enginetest.One[string](t, conn, "select concat_ws(' ', waiting, held) from mbus4.consumers where queue = 'q'"); got != "48 3" {
		t.Errorf("of those for later: %s", got)
	}
	enginetest.Exec(t, holder, "rollback")
	enginetest.Exec(t, holder, "begin; delete from mbus4.message where iid = 'h1'")
	if got := enginetest.One[int](t, conn, "select held from mbus4.consumers where queue = 'q'"); got != 1 {
		t.Errorf("one of many: %d", got)
	}
	enginetest.Exec(t, holder, "rollback")
}

// Whatever number a row's xmax is, asking about it does not fail: it may be that of a group of lockers.
func TestIsOpen(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	const ask = `select count(*) filter (where mbus4.is_open(((x.base + d) & 4294967295)::text::xid, x.base, '{}'))
		from (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as base) x
		cross join (select generate_series(-3000, 3000) union all select (2 ^ n)::bigint * s from generate_series(0, 32) n, (values (1), (-1)) v (s)) y (d)`
	if n := enginetest.One[int](t, conn, ask); n != 0 && n > 200 { // neighbours' transactions may be among them
		t.Error(n)
	}
	enginetest.Exec(t, conn, "begin")
	own := enginetest.One[string](t, conn, "select pg_current_xact_id()::xid::text")
	if n := enginetest.One[int](t, conn, ask); n > 200 {
		t.Error(n)
	}
	other := enginetest.Connect(t, conn.Config().Database)
	for base, want := range map[string]bool{"": true, " - 4294967296": false} { // an id of another age
		if got := enginetest.One[bool](t, other, "select mbus4.is_open($1::text::xid, pg_snapshot_xmax(pg_current_snapshot())::text::bigint"+base+", '{}')", own); got != want {
			t.Errorf("%q: %t", base, got)
		}
	}
	enginetest.Exec(t, conn, "rollback")
	if enginetest.One[bool](t, other, "select mbus4.is_open($1::text::xid, pg_snapshot_xmax(pg_current_snapshot())::text::bigint, '{}')", own) {
		t.Error("it has ended")
	}
}
