package schema_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/internal/enginetest"
)

// postKinds stores messages of each kind for a consumer.
const postKinds = `insert into mbus4.message (id, consumer_id, available_at, added, expires)
	select nextval('mbus4.post_id'), $1, case k when 'ready' then clock_timestamp() when 'expired' then clock_timestamp() when 'delayed' then now() + interval '1 hour' else 'infinity' end,
	       now(), case when k = 'expired' then now() - interval '1 second' end
	from unnest($2::text[], $3::int[]) u (k, n) cross join generate_series(1, u.n)`

var kinds = []string{"ready", "delayed", "waiting", "expired"} //nolint:gochecknoglobals // constant

const told = "select format('%s %s %s %s %s', ready, delayed, waiting, exact, oldest_ready is not null) from mbus4."

// Few messages are counted.
func TestCounts(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	q := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.One[int](t, conn, enginetest.NewConsumer, "empty")
	enginetest.Exec(t, conn, "insert into mbus4.queue (qname, consumers_cnt) values ('alone', 1)")
	enginetest.Exec(t, conn, postKinds, q, kinds, []int{3, 2, 1, 4})
	for what, want := range map[string]string{
		"consumers where queue = 'q'":     "3 2 1 t t",
		"queues where queue = 'q'":        "3 2 1 t t",
		"consumers where queue = 'empty'": "0 0 0 t f",
		"queues where queue = 'dmq'":      "0 0 0 t f",
		"queues where queue = 'alone'":    "0 0 0 t f",
	} {
		if got := enginetest.One[string](t, conn, told+what); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	if got := enginetest.One[string](t, conn, "select string_agg(format('%s %s %s', queue, kind, consumers), ', ' order by queue) from mbus4.queues"); got != "alone plain 0, dmq dmq 1, empty plain 1, q plain 1, semaphore_events plain 1" {
		t.Error(got)
	}
}

// What it costs to look has a bound, however much there is. Of many messages the numbers are
// estimates, and say so; few beside them are counted, and so are those of which there is one kind
// only in great number.
func TestCountsAreBounded(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	big, small := enginetest.One[int](t, conn, enginetest.NewConsumer, "big"), enginetest.One[int](t, conn, enginetest.NewConsumer, "small")
	enginetest.Exec(t, conn, postKinds, small, kinds, []int{30, 20, 10, 40})
	enginetest.Exec(t, conn, postKinds, big, kinds, []int{200_000, 100_000, 50_000, 0})
	check := func(when string) {
		t.Helper()
		if pages := enginetest.Pages(t, conn, "select * from mbus4.consumers"); pages > 2500 {
			t.Errorf("%s: %d pages", when, pages)
		}
		if got := enginetest.One[string](t, conn, told+"consumers where queue = 'small'"); got != "30 20 10 t t" {
			t.Errorf("%s: few: %s", when, got)
		}
		if got := enginetest.One[string](t, conn, `select concat_ws(' ', ready between 150000 and 250000, delayed between 70000 and 130000, waiting between 30000 and 70000, exact)
			from mbus4.queues where queue = 'big'`); got != "t t t f" {
			t.Errorf("%s: many: %s, %s", when, got, enginetest.One[string](t, conn, told+"queues where queue = 'big'"))
		}
	}
	check("not analyzed")
	enginetest.Exec(t, conn, "analyze mbus4.message")
	check("analyzed")
	// A thousand queues with little in each.
	enginetest.Exec(t, conn, `with q as (insert into mbus4.queue (qname, consumers_cnt) select 'q' || n, 1 from generate_series(1, 1000) n returning id, qname)
		insert into mbus4.consumer (queue_id, qname, name) select id, qname, 'default' from q`)
	few := enginetest.Pages(t, conn, "select * from mbus4.queues")
	enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added)
		select nextval('mbus4.post_id'), c.id, clock_timestamp(), now() from mbus4.consumer c cross join generate_series(1, 150) where c.qname ~ '^q[0-9]'`)
	many := enginetest.Pages(t, conn, "select * from mbus4.queues")
	t.Logf("pages: %d for a thousand empty queues, %d with 150 messages in each", few, many)
	if many > few+1000*(101+10) {
		t.Errorf("%d pages for a thousand empty queues, %d with 150 messages in each", few, many)
	}
}

// What was consumed under an old snapshot is not counted through again.
func TestCountsUnderOldSnapshot(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn, old := enginetest.Connect(t, name), enginetest.Connect(t, name)
	q := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, postKinds, q, kinds, []int{200_000, 0, 0, 0})
	tx, err := old.BeginTx(enginetest.Context(t), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	enginetest.One[int](t, old, "select count(*) from mbus4.message")
	enginetest.Exec(t, conn, "delete from mbus4.message")
	enginetest.Exec(t, conn, "select setval(('mbus4.hint_' || $1::int % 128)::regclass, (extract(epoch from clock_timestamp()) * 1000000)::bigint)", q)
	if pages := enginetest.Pages(t, conn, "select * from mbus4.consumers"); pages > 2500 {
		t.Errorf("%d pages", pages)
	}
	if got := enginetest.One[string](t, conn, told+"consumers where queue = 'q'"); got != "0 0 0 t f" {
		t.Error(got)
	}
}

// Whoever may consume may look, and nobody else.
func TestCountsRights(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	enginetest.Exec(t, conn, "set role mbus4_user")
	for _, view := range []string{"queues", "consumers"} {
		if got := enginetest.One[int](t, conn, "select count(*) from mbus4."+view+" where queue = 'dmq'"); got != 1 {
			t.Errorf("%s: %d", view, got)
		}
	}
	enginetest.Exec(t, conn, "reset role")
	for _, view := range []string{"queues", "consumers"} {
		if enginetest.One[bool](t, conn, "select has_table_privilege('public', 'mbus4."+view+"', 'select')") {
			t.Error(view)
		}
	}
	if enginetest.One[bool](t, conn, "select has_function_privilege('public', 'mbus4.states_of_consumers()', 'execute')") {
		t.Error("anybody may count")
	}
}
