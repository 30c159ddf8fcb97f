package housekeeping

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/internal/enginetest"
)

// waitSQL parks a message of consumer $1 with iid $2 behind the iids $3.
const waitSQL = `
with m as (
	insert into mbus4.message (id, consumer_id, available_at, added, iid, after)
	select nextval('mbus4.message_id'), $1, 'infinity', now(), $2, $3::text[]
	returning consumer_id, id, after
)
insert into mbus4.waiting (dep, consumer_id, id) select dep, m.consumer_id, m.id from m cross join unnest(m.after) dep`

const parkedSQL = "select coalesce(string_agg(iid, ' ' order by iid), '') from mbus4.message where after is not null and available_at = 'infinity'"

func TestRelease(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	id := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, enginetest.PostSQL, id, "", "x", "")
	enginetest.Exec(t, conn, enginetest.PostSQL, id, "-1 s", "expired", "")
	enginetest.Exec(t, conn, waitSQL, id, "behind_x", []string{"x", "gone"})
	enginetest.Exec(t, conn, waitSQL, id, "behind_gone", []string{"gone", "expired"})
	enginetest.Exec(t, conn, waitSQL, id, "behind_other", []string{"behind_gone"})
	// What lies in dmq does not expire.
	dmq := enginetest.One[int](t, conn, "select id from mbus4.consumer where qname = 'dmq'")
	enginetest.Exec(t, conn, enginetest.PostSQL, dmq, "-1 s", "dead", "")
	enginetest.Exec(t, conn, waitSQL, id, "behind_dead", []string{"dead"})

	r := newReleaser()
	release := func(woken int64, parked string) {
		t.Helper()
		got, err := r.Release(enginetest.Context(t), conn, &slice{})
		if err != nil || got.Woken != woken || got.Waiting != true {
			t.Errorf("got %+v, %v; want %d woken", got, err, woken)
		}
		if left := enginetest.One[string](t, conn, parkedSQL); left != parked {
			t.Errorf("parked: %s; want %s", left, parked)
		}
	}
	release(1, "behind_dead behind_other behind_x")
	release(0, "behind_dead behind_other behind_x")
	enginetest.Exec(t, conn, "delete from mbus4.message where iid = 'x'")
	release(1, "behind_dead behind_other")
	enginetest.Exec(t, conn, "delete from mbus4.message where iid = 'dead'")
	release(1, "behind_other")
	// What is left of a message that was taken is removed.
	enginetest.Exec(t, conn, "delete from mbus4.message where iid in ('behind_gone', 'behind_other')")
	release(0, "")
	if n := enginetest.One[int](t, conn, "select count(*) from mbus4.waiting"); n != 0 {
		t.Errorf("%d rows of waiting are left", n)
	}
	if got, err := r.Release(enginetest.Context(t), conn, &slice{}); err != nil || got.Waiting {
		t.Errorf("with nothing waiting: %+v, %v", got, err)
	}
}

// A message that somebody takes is left to the next turn, without waiting.
func TestReleaseStepsAroundLocks(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn, taker := enginetest.Connect(t, name), enginetest.Connect(t, name)
	id := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, waitSQL, id, "m", []string{"gone"})
	tx, err := taker.Begin(enginetest.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(enginetest.Context(t), "delete from mbus4.message where iid = 'm'"); err != nil {
		t.Fatal(err)
	}
	r := newReleaser()
	if got, err := r.Release(enginetest.Context(t), conn, &slice{}); err != nil || got.Woken != 0 {
		t.Errorf("while it is taken: %+v, %v", got, err)
	}
	if err := tx.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Release(enginetest.Context(t), conn, &slice{}); err != nil || got.Woken != 1 {
		t.Errorf("after it came back: %+v, %v", got, err)
	}
}

// A turn that finds a message waiting for something else does not keep who takes that from waking
// it: consuming steps around locked rows.
func TestReleaseLocksNothingThatWaits(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn, taker := enginetest.Connect(t, name), enginetest.Connect(t, name)
	id := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, enginetest.PostSQL, id, "", "x", "")
	enginetest.Exec(t, conn, waitSQL, id, "m", []string{"gone", "x"})
	enginetest.Exec(t, conn, "begin")
	if got, err := newReleaser().Release(enginetest.Context(t), conn, &slice{}); err != nil || got.Woken != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	enginetest.Exec(t, taker, "begin")
	enginetest.Exec(t, taker, "delete from mbus4.message where iid = 'x'")
	if n := enginetest.One[int](t, taker, "select coalesce(array_length(mbus4.wakeable(array['x']), 1), 0)"); n != 1 {
		t.Errorf("%d messages can be woken by who takes the last that they wait for, want 1", n)
	}
}

// More iids than one turn looks at, and more messages behind one than one transaction wakes.
func TestReleaseMany(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	id := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	const bulk = `
with m as (
	insert into mbus4.message (id, consumer_id, available_at, added, iid, after)
	select nextval('mbus4.message_id'), $1, 'infinity', now(), $3 || n, array[case when $3 = 'one' then 'dep' else 'dep' || n end]
	from generate_series(1, $2::int) n
	returning consumer_id, id, after
)
insert into mbus4.waiting (dep, consumer_id, id) select m.after[1], m.consumer_id, m.id from m`
	enginetest.Exec(t, conn, bulk, id, 2*releaseScan+10, "each")
	enginetest.Exec(t, conn, bulk, id, 2*releaseBatch+10, "one")
	r := newReleaser()
	var woken int64
	for range 4 {
		got, err := r.Release(enginetest.Context(t), conn, &slice{})
		if err != nil {
			t.Fatal(err)
		}
		woken += got.Woken
	}
	if want := int64(2*releaseScan + 2*releaseBatch + 20); woken != want {
		t.Errorf("%d woken, want %d", woken, want)
	}
}

// Whatever ANALYZE saw, and however many messages wait for one, the releaser finds its way by indexes.
func TestReleaserPlans(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	id := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	explain := func(state string) {
		t.Helper()
		for sql, args := range map[string]string{waitedForSQL: "('', 1000, 8388608)", releaseSQL: "('{gone,none}', 1000, -1, -1, 1000)"} {
			for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
				enginetest.Exec(t, conn, "set plan_cache_mode = "+mode)
				enginetest.Exec(t, conn, "prepare p as "+sql)
				rows, err := conn.Query(enginetest.Context(t), "explain execute p"+args)
				if err != nil {
					t.Fatal(err)
				}
				lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
				if err != nil {
					t.Fatal(err)
				}
				enginetest.Exec(t, conn, "deallocate p")
				if plan := strings.Join(lines, "\n"); strings.Contains(plan, "Seq Scan on waiting") || strings.Contains(plan, "Seq Scan on message") || strings.Contains(plan, "JIT") {
					t.Errorf("%s, %s:\n%s", state, mode, plan)
				}
			}
		}
	}
	const analyze = "analyze mbus4.waiting, mbus4.message, mbus4.consumer"
	enginetest.Exec(t, conn, analyze)
	explain("empty")
	enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid, after)
		select n, $1, 'infinity', now(), 'm' || n, '{gone}' from generate_series(1, 100000) n`, id)
	enginetest.Exec(t, conn, "insert into mbus4.waiting (dep, consumer_id, id) select 'gone', $1, n from generate_series(1, 100000) n", id)
	explain("full, analyzed when empty")
	enginetest.Exec(t, conn, analyze)
	explain("full")
	enginetest.Exec(t, conn, "vacuum analyze mbus4.waiting, mbus4.message")
	explain("full, vacuumed")
}
