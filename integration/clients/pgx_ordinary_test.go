package clients

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// Ordinary work in each of pgx's modes is the same direct and through the proxy.
func TestPgxOrdinary(t *testing.T) {
	t.Parallel()
	for _, mode := range execModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			var saw []string
			for _, e := range harness.Both() {
				o := ordinary{ctx: harness.Context(t), conn: harness.ConnectPgx(t, e, harness.NewDatabase(t), mode)}
				o.run()
				saw = append(saw, o.said.String())
			}
			if saw[0] != saw[1] {
				t.Errorf("direct (-) and through the proxy (+):\n%s", harness.LineDiff(saw[0], saw[1]))
			}
			if strings.Count(saw[0], "\n") < 20 {
				t.Errorf("too little: %s", saw[0])
			}
		})
	}
}

// ordinary is a session that writes down all it sees.
type ordinary struct {
	ctx  context.Context
	conn *pgx.Conn
	said strings.Builder
}

func (o *ordinary) say(name string, things ...any) {
	fmt.Fprintf(&o.said, "%s: %+v\n", name, things)
}

// show runs a statement and writes down columns, values, tag or the error.
func (o *ordinary) show(sql string, args ...any) {
	rows, err := o.conn.Query(o.ctx, sql, args...)
	if err != nil {
		o.say(sql, harness.Describe(err))
		return
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		o.say(sql, values, err)
	}
	for _, f := range rows.FieldDescriptions() {
		f.TableOID = 0 // tables of two databases
		o.say(sql, f)
	}
	o.say(sql, rows.CommandTag(), harness.Describe(rows.Err()))
}

func (o *ordinary) run() {
	o.show("create table item (id int primary key, name text, tags text[], doc jsonb, at timestamptz, raw bytea, price numeric)")
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	insert := "insert into item values ($1, $2, $3, $4, $5, $6, $7) returning *"
	o.show(insert, 1, "one é", []string{"a", "b,c"}, map[string]any{"k": []int{1, 2}}, at, []byte{0, 255, 39}, "12.50")
	o.show(insert, 2, nil, nil, nil, nil, nil, nil)
	o.show("select a.id, b.name from item a left join item b on a.id = b.id + $1 order by 1", 1)
	o.show("select a.id, b.name from item a left join item b on a.id = b.id + $1 order by 1", 1)
	o.show(insert, 1, nil, nil, nil, nil, nil, nil)
	o.show("select 1 +")
	o.show("select id,\n  nosuch from item where id = $1", 1)
	o.show("select 6 / $1::int", 0)
	o.show("select 6 / $1::int", 2)
	o.show("update item set name = 'all'")
	o.show("alter table item add extra int")
	o.show("select name, extra from item order by id") // a cached plan must not survive ALTER TABLE
	o.transactions()
	o.copies()
	var n int
	var pad string
	sum := 0
	rows, err := o.conn.Query(o.ctx, "select n::int4, repeat('x', 100)::text from generate_series(1, 30000) n")
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&n, &pad}, func() error { sum += n + len(pad); return nil })
	}
	o.say("large", sum, err)
	o.cancel()
	var batch pgx.Batch
	for i := range 100 {
		batch.Queue("select $1::int4 * 2", i)
	}
	batch.Queue("select nosuch")
	o.say("batch", harness.Describe(o.conn.SendBatch(o.ctx, &batch).Close()))
	o.notifications()
}

func (o *ordinary) transactions() {
	tx, err := o.conn.Begin(o.ctx)
	if err != nil {
		o.say("begin", err)
		return
	}
	o.show("update item set name = 'changed' where id = $1", 1)
	inner, err := tx.Begin(o.ctx) // a savepoint
	o.say("savepoint", err)
	o.show("select 1/0")
	o.say("status", o.conn.PgConn().TxStatus())
	o.show("select 1")
	o.say("rollback to savepoint", inner.Rollback(o.ctx))
	o.show("select name from item where id = 1")
	o.say("rollback", tx.Rollback(o.ctx))
	o.show("select name from item where id = 1")
}

func (o *ordinary) copies() {
	source := pgx.CopyFromSlice(5000, func(i int) ([]any, error) { return []any{i + 10, fmt.Sprintf("name %d", i)}, nil })
	count, err := o.conn.CopyFrom(o.ctx, pgx.Identifier{"item"}, []string{"id", "name"}, source)
	o.say("copied in", count, err)
	broken := pgx.CopyFromSlice(5000, func(i int) ([]any, error) {
		if i == 3000 {
			return nil, fmt.Errorf("no more")
		}
		return []any{i + 10_000, "x"}, nil
	})
	count, err = o.conn.CopyFrom(o.ctx, pgx.Identifier{"item"}, []string{"id", "name"}, broken)
	o.say("copy broken off", count, harness.Describe(err))
	var out strings.Builder
	tag, err := o.conn.PgConn().CopyTo(o.ctx, &out, "copy (select id, name from item order by id) to stdout")
	o.say("copied out", tag, out.Len(), err)
	tag, err = o.conn.PgConn().CopyFrom(o.ctx, strings.NewReader("1\tx\ty\n"), "copy item(id, name) from stdin")
	o.say("copy fails", tag, harness.Describe(err))
}

// cancel sends a cancel request once the server is seen to be at the statement.
func (o *ordinary) cancel() {
	watcher, err := pgconn.Connect(o.ctx, o.conn.Config().ConnString())
	if err != nil {
		o.say("watcher", err)
		return
	}
	defer watcher.Close(o.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2000 {
			busy, err := harness.Query(o.ctx, watcher, fmt.Sprintf(
				"select count(*) from pg_stat_activity where pid = %d and wait_event = 'PgSleep'", o.conn.PgConn().PID()))
			if err != nil || busy == "1" {
				_ = o.conn.PgConn().CancelRequest(o.ctx)
				return
			}
		}
	}()
	o.show("select pg_sleep(60)")
	<-done
}

func (o *ordinary) notifications() {
	o.show("listen news")
	o.show("select pg_notify('news', $1)", "hello")
	n, err := o.conn.WaitForNotification(o.ctx)
	if err != nil {
		o.say("heard", err)
		return
	}
	o.say("heard", n.Channel, n.Payload, n.PID == o.conn.PgConn().PID())
}

// What Describe says of a statement is the server's own word.
func TestDescribeOrdinary(t *testing.T) {
	t.Parallel()
	var saw []*pgconn.StatementDescription
	database := harness.NewDatabase(t)
	for _, e := range harness.Both() {
		conn := harness.Connect(t, e, database)
		sd, err := conn.Prepare(harness.Context(t), "s", "select oid, relname, $1::int + $2 from pg_class where relname = $3", nil)
		if err != nil {
			t.Fatal(err)
		}
		saw = append(saw, sd)
	}
	if !reflect.DeepEqual(saw[0], saw[1]) {
		t.Errorf("direct %+v\nproxied %+v", saw[0], saw[1])
	}
}
