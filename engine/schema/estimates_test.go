package schema_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/internal/enginetest"
)

// An estimate touches as many pages for any backlog, whatever ANALYZE has seen of it.
func TestEstimatesAreBounded(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	q := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	other := enginetest.One[int](t, conn, enginetest.NewConsumer, "other")
	fill := func(consumer, n int) {
		t.Helper()
		enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, data)
			select nextval('mbus4.post_id'), $1, clock_timestamp(), now(), hstore('n', n::text) from generate_series(1, $2::int) n`, consumer, n)
	}
	check := func(when string) {
		t.Helper()
		for _, queue := range []string{"q", "other", "dmq"} {
			if n := enginetest.Pages(t, conn, fmt.Sprintf("select mbus4.estimated_messages_of('%s', 1)", queue)); n > 400 {
				t.Errorf("%s: %d pages for queue %s", when, n, queue)
			}
		}
	}
	enginetest.Exec(t, conn, "analyze mbus4.message")
	fill(q, 1000)
	check("analyzed while empty")
	fill(q, 150000)
	check("not analyzed")
	fill(other, 150000)
	check("another queue has as much")
	enginetest.Exec(t, conn, "analyze mbus4.message")
	check("analyzed")
}

// What was consumed under an old snapshot is not counted through again.
func TestEstimatesUnderOldSnapshot(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn, old := enginetest.Connect(t, name), enginetest.Connect(t, name)
	q := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added)
		select nextval('mbus4.post_id'), $1, clock_timestamp(), now() from generate_series(1, 100000) n`, q)
	tx, err := old.BeginTx(enginetest.Context(t), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	enginetest.One[int](t, old, "select count(*) from mbus4.message")
	enginetest.Exec(t, conn, "delete from mbus4.message")
	enginetest.Exec(t, conn, fmt.Sprintf("select setval('mbus4.hint_%d', (extract(epoch from clock_timestamp()) * 1000000)::bigint)", q%128))
	if n := enginetest.Pages(t, conn, "select mbus4.estimated_messages_of('q', 1)"); n > 40 {
		t.Errorf("%d pages", n)
	}
}
