package bulk

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/internal/bulk"
)

// Whatever statistics say, and in a session that has asked while there was nothing, too: to look at
// what is dead, and to run a batch of an operation, costs what the few messages cost that it deals
// with, and not what lies beside and behind them.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	for when, sql := range map[string]string{
		"not analyzed":           "",
		"analyzed":               "analyze mbus4.message; analyze mbus4.operation; analyze mbus4.operation_log",
		"analyzed with one left": "analyze mbus4.message",
	} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q")
			admin := harness.Connect(t, harness.Direct(), database)
			early, conn := connect(t, database, "postgres"), connect(t, database, "postgres")
			if when == "analyzed with one left" {
				harness.Ask(t, admin, sql)
			}
			undone := int64(0)
			ways := map[string]func(tx pgx.Tx) error{
				"list": func(tx pgx.Tx) error {
					_, _, err := bulk.List(harness.Context(t), tx, bulk.Selection{Queue: "q"}, nil, 5, 0)
					return err
				},
				"purge":   runs(t, bulk.Request{Kind: bulk.Purge}),
				"move":    runs(t, bulk.Request{Kind: bulk.Move, TargetQueue: "q"}),
				"redrive": runs(t, bulk.Request{Kind: bulk.Redrive, Selection: bulk.Selection{Queue: "q"}}),
				"undo": func(tx pgx.Tx) error {
					id, err := bulk.BeginUndo(harness.Context(t), tx, undone)
					if err != nil {
						return err
					}
					return batch(t, tx, id)
				},
			}
			for range 7 {
				for what, do := range ways {
					if what != "undo" {
						rows(t, early, do)
					}
				}
			}
			harness.Ask(t, admin, `insert into mbus4.message (id, consumer_id, available_at, added, headers)
				select nextval('mbus4.post_id'), 1, clock_timestamp(), now(), hstore(array['destination', 'q', 'dmq.consumer', 'default']) from generate_series(1, 60000)`)
			harness.Ask(t, admin, `insert into mbus4.message (id, consumer_id, available_at, added, iid, headers)
				select nextval('mbus4.post_id'), (select id from mbus4.consumer where qname = 'q'), clock_timestamp(), now(), 'there' || n, hstore('n', n::text) from generate_series(1, 60000) n`)
			harness.Ask(t, admin, "insert into mbus4.operation (role, role_oid, kind, state, until, at, ended) select 'x', 10, 'redrive', 'done', now(), now(), now() from generate_series(2, 1000)")
			undone = begin(t, conn, bulk.Request{Kind: bulk.Redrive, Selection: bulk.Selection{Queue: "q"}})
			if _, err := bulk.Run(harness.Context(t), bulk.In(conn), undone, bulk.Options{Batch: 5, Progress: func(o bulk.Operation) {
				if err := bulk.Cancel(harness.Context(t), conn, undone); err != nil {
					t.Fatal(err)
				}
			}}); err != nil {
				t.Fatal(err)
			}
			if when == "analyzed" {
				harness.Ask(t, admin, sql)
			}
			for what, do := range ways {
				for _, c := range []*pgx.Conn{early, conn} {
					if n := rows(t, c, do); n > 200 {
						t.Errorf("%s: %d rows and entries of indexes are read", what, n)
					}
				}
			}
		})
	}
}

// runs begins an operation and runs a small batch of it.
func runs(t *testing.T, r bulk.Request) func(tx pgx.Tx) error {
	return func(tx pgx.Tx) error { return batch(t, tx, begin(t, tx, r)) }
}

// batch runs one batch, of five messages, in a transaction.
func batch(t *testing.T, tx pgx.Tx, id int64) error {
	t.Helper()
	var o bulk.Operation
	enough := errors.New("one batch is enough")
	first := true
	_, err := bulk.Run(harness.Context(t), func(ctx context.Context, f func(context.Context, pgx.Tx) error) error {
		if !first {
			return enough
		}
		first = false
		return f(ctx, tx)
	}, id, bulk.Options{Batch: 5, Progress: func(now bulk.Operation) { o = now }})
	switch {
	case err != nil && !errors.Is(err, enough):
		return err
	case o.Done != 5 && o.State != bulk.Done:
		return fmt.Errorf("the batch has done %+v", o)
	}
	return nil
}

// rows is how many rows and entries of indexes of mbus4.message are read by what is then undone.
func rows(t *testing.T, conn *pgx.Conn, do func(tx pgx.Tx) error) (n int64) {
	t.Helper()
	tx, err := conn.Begin(harness.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	read := func() (n int64) {
		t.Helper()
		if err := tx.QueryRow(harness.Context(t), `
			select sum(pg_stat_get_xact_tuples_returned(x.oid) + pg_stat_get_xact_tuples_fetched(x.oid))
			from (select 'mbus4.message'::regclass::oid union all select i.indexrelid from pg_index i where i.indrelid = 'mbus4.message'::regclass) x (oid)`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := read()
	if err := do(tx); err != nil {
		t.Fatal(err)
	}
	n = read() - before
	if err := tx.Rollback(harness.Context(t)); err != nil {
		t.Fatal(err)
	}
	return n
}
