package housekeeping

import (
	"testing"
	"time"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
)

// However much there is to clean up, a round does a batch of each kind where that has taken its slice,
// and posts what is due; the next rounds do the rest.
func TestRoundLeavesWork(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.NewDatabase(t))
	watch := enginetest.Connect(t, conn.Config().Database)
	k := newKeeper(t, conn)
	k.slice = 1
	k.scheduler.owners.long = time.Hour // a post that took long would have its owner rest
	if err := admin.Settle(enginetest.Context(t), conn, admin.ServiceLockWait); err != nil {
		t.Fatal(err)
	}
	id := enginetest.One[int](t, watch, enginetest.NewConsumer, "q")
	// Orphans of as many consumers, and of one.
	kinds := []struct{ name, make, left string }{
		{
			"expired messages", "insert into mbus4.message (id, consumer_id, available_at, added, expires) select n, (select id from mbus4.consumer where qname = 'q'), now(), now(), now() from generate_series(1, 2500) n",
			"from mbus4.message where expires is not null",
		},
		{
			"orphans", "insert into mbus4.message (id, consumer_id, available_at, added) select n, 1000000 + greatest(n, 1250), now(), now() from generate_series(1, 2500) n",
			"from mbus4.message where consumer_id > 1000000",
		},
		{"waiting", "insert into mbus4.waiting (dep, consumer_id, id) select 'x' || greatest(n, 1250), 1000000 + n, n from generate_series(1, 2500) n", "from mbus4.waiting"},
		{"keys of posts", "insert into mbus4.unique_post (queue, key, until) select 'q', n::text, now() - interval '1 h' from generate_series(1, 2500) n", "from mbus4.unique_post"},
		{"inserts into views", "insert into mbus4.view_insert select 'x' || n from generate_series(1, 2500) n", "from mbus4.view_insert"},
		{"temporary queues", "insert into mbus4.queue (qname, consumers_cnt, kind, owner) select 'temp' || n, 1, 'temp', n from generate_series(1, 2500) n", "from mbus4.queue where kind = 'temp'"},
	}
	left := map[string]int{}
	for _, kind := range kinds {
		enginetest.Exec(t, watch, kind.make)
		left[kind.name] = 2500
	}
	enginetest.Exec(t, watch, "insert into mbus4.schedule (name, cron, timezone, qname) values ('s', '@yearly', 'UTC', 'q')")
	rounds := 0
	for ; len(left) > 0 && rounds < 20; rounds++ {
		enginetest.Exec(t, watch, "update mbus4.schedule set planned = hashtextextended(left(cron, 300) || ' ' || left(timezone, 100), 0), tick = now() - interval '1 s'")
		for d := range k.all {
			d.due, d.limit = time.Time{}, time.Minute
		}
		k.scheduler.held = time.Time{} // a look in vain, in a round that took long, would put off the next
		if err := k.round(enginetest.Context(t)); err != nil || k.fails() {
			t.Fatal(err, k.Health.Report())
		}
		if ticks := enginetest.One[int](t, watch, "select count(*) from mbus4.message where consumer_id = $1 and expires is null", id); ticks != rounds+1 {
			t.Fatalf("%d ticks posted in %d rounds", ticks, rounds+1)
		}
		for _, kind := range kinds {
			before, now := left[kind.name], enginetest.One[int](t, watch, "select count(*) "+kind.left)
			if before-now > sweepBatch {
				t.Errorf("round %d: %d %s at once", rounds, before-now, kind.name)
			}
			if left[kind.name] = now; now == 0 {
				delete(left, kind.name)
			}
		}
	}
	if len(left) > 0 {
		t.Errorf("after %d rounds there are %v", rounds, left)
	}
}
