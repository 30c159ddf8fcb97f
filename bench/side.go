package main

import (
	"context"
	"fmt"
)

const (
	queueName = "bench"
	handTable = `
		create extension if not exists hstore;
		create table q (
			id    bigserial primary key,
			added timestamptz default now(),
			data  hstore
		)`
	fillChunk = 20000 // messages posted by one statement when filling
	handName  = "hand-written"
)

// side is one of the two queues compared: one of mbus4 through the proxy, or a plain table directly.
type side struct {
	name  string
	path  path
	table string // where undelivered messages are
	fill  string // statement that posts %d messages
}

func (b *bench) ours() side {
	return side{
		name: "proxy", path: b.stack.proxy, table: "mbus4.message",
		fill: "select mbus4.post('" + queueName + "', hstore('n', g::text)) from generate_series(1, %d) g",
	}
}

func (b *bench) hand() side {
	return side{
		name: handName, path: b.stack.direct, table: "q",
		fill: "insert into q(data) select hstore('n', g::text) from generate_series(1, %d) g",
	}
}

// refill leaves exactly n messages in a table without dead rows.
func (b *bench) refill(ctx context.Context, s side, n int64) error {
	if _, err := execSQL(ctx, b.stack.direct.dsn(), "truncate "+s.table); err != nil {
		return err
	}
	if err := b.add(ctx, s, n); err != nil {
		return err
	}
	// Two Query messages: VACUUM cannot run in the implicit transaction of several statements.
	if _, err := execSQL(ctx, b.stack.direct.dsn(), "vacuum (analyze) "+s.table); err != nil {
		return err
	}
	return b.expect(ctx, s, n)
}

// add posts n messages.
func (b *bench) add(ctx context.Context, s side, n int64) error {
	for n > 0 {
		chunk := min(n, fillChunk)
		if _, err := execSQL(ctx, s.path.dsn(), fmt.Sprintf(s.fill, chunk)); err != nil {
			return fmt.Errorf("filling: %w", err)
		}
		n -= chunk
	}
	return nil
}

// expect checks how many messages there are.
func (b *bench) expect(ctx context.Context, s side, n int64) error {
	left, err := b.left(ctx, s)
	if err != nil {
		return err
	}
	if left != n {
		return fmt.Errorf("INVALID: %d messages in %s where %d are due", left, s.table, n)
	}
	return nil
}

func (b *bench) left(ctx context.Context, s side) (int64, error) {
	return count(ctx, b.stack.direct.dsn(), "select count(*) from "+s.table)
}
