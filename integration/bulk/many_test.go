package bulk

import (
	"fmt"
	"testing"
	"time"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/internal/bulk"
)

// However many are dead, a batch takes a moment, and so does looking at those of whom few are meant.
func TestMany(t *testing.T) {
	t.Parallel()
	dead := 30_000
	if harness.Long() {
		dead = 1_000_000
	}
	database := harness.NewQueueDatabase(t, "q")
	admin := harness.Connect(t, harness.Direct(), database)
	ctx := t.Context() // a million takes longer than other tests
	// As posting does it: the lock tells the hinter that something comes.
	if _, err := admin.Exec(ctx, fmt.Sprintf(`
		begin;
		select pg_try_advisory_xact_lock_shared(1835169140, hashtext('dmq') & 63);
		insert into mbus4.message (id, consumer_id, available_at, added, headers, data)
		select nextval('mbus4.post_id'), 1, clock_timestamp(), now(),
		       hstore(array['destination', 'q', 'dmq.consumer', 'default', 'dmq.error', 'error ' || n %% 3, 'retry.attempt', '5', 'rare', (n > %d - 10)::text]), hstore('n', n::text)
		from generate_series(1, %[1]d) n;
		commit`, dead)).ReadAll(); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, database, "postgres")

	began := time.Now()
	rare := bulk.Selection{Selector: `t.headers->'rare' = 'true'`}
	p, err := bulk.Look(ctx, conn, rare, 5, 0, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 10*time.Second { // the limit, and what is left of one statement for samples and one for the count
		t.Errorf("looking took %v", took)
	}
	if p.Count.Exact && p.Count.Messages != 10 || !p.Count.Exact && p.Count.Looked >= int64(dead) {
		t.Errorf("looking gave %+v", p.Count)
	}
	t.Logf("of %d dead %d were looked at in %v: %d found, exact: %v", dead, p.Count.Looked, time.Since(began).Round(time.Millisecond), p.Count.Messages, p.Count.Exact)

	run := func(id int64) bulk.Operation {
		t.Helper()
		began, last, longest, batches := time.Now(), time.Now(), time.Duration(0), 0
		o, err := bulk.Run(ctx, bulk.In(conn), id, bulk.Options{Progress: func(bulk.Operation) {
			longest, last = max(longest, time.Since(last)), time.Now()
			batches++
		}})
		if err != nil || o.State != bulk.Done {
			t.Fatalf("%+v, %v", o, err)
		}
		if longest > 15*time.Second { // about one, on a machine that has nothing else to do
			t.Errorf("%s: a batch took %v", o.Kind, longest)
		}
		t.Logf("%s: %d done of %d in %v, %d batches, the longest %v", o.Kind, o.Done, o.Looked, time.Since(began).Round(time.Millisecond), batches, longest.Round(time.Millisecond))
		return o
	}
	wantCounts(t, run(begin(t, conn, bulk.Request{Kind: bulk.Purge, Selection: rare})), 10, 0, 0)
	done := run(begin(t, conn, bulk.Request{Kind: bulk.Redrive, Selection: bulk.Selection{Queue: "q"}}))
	wantCounts(t, done, int64(dead)-10, 0, 0)
	undo, err := bulk.BeginUndo(ctx, conn, done.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantCounts(t, run(undo), int64(dead)-10, 0, 0)
	harness.Want(t, admin, fmt.Sprintf("%d|%[1]d", dead-10), "select count(*), count(distinct data->'n') from mbus4.message where consumer_id = 1")
}
