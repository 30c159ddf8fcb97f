package housekeeping

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const sweepBatch = 1000 // rows per transaction

// sweeper removes the messages nobody will get: expired ones, but not from dmq, and those of
// consumers that were dropped. It also removes the rows that inserts into views leave behind. What
// somebody has a lease on stays until that ends. It works in small transactions and skips locked
// rows, which are left to the next sweep; so any number of proxies may sweep at once.
type sweeper struct {
	Now func() time.Time // nil: the server's clock
}

func newSweeper() *sweeper { return &sweeper{} }

// Sweep removes everything that is to be removed now and gives the number of rows.
func (s *sweeper) Sweep(ctx context.Context, conn *pgx.Conn) (int64, error) {
	expired, err := s.sweepExpired(ctx, conn)
	if err != nil {
		return expired, err
	}
	orphans, err := sweepOrphans(ctx, conn)
	if err != nil {
		return expired + orphans, err
	}
	if err := sweepKeys(ctx, conn); err != nil {
		return expired + orphans, err
	}
	return expired + orphans, sweepViewInserts(ctx, conn)
}

// Each batch begins where the last one ended ($2): what was just deleted is dead, but still in the
// index. The rows are locked, so their ctids hold until they are deleted. Consumer 1 is that of dmq.
const sweepExpiredSQL = `
with due as materialized (
	select ctid
	from mbus4.message
	where expires <= coalesce($1::timestamptz, now())
	  and expires >= $2::text::timestamptz
	  and consumer_id <> 1
	  and not (available_at > coalesce($1::timestamptz, now()) and available_at < 'infinity' and mbus4.is_leased(available_at, delayed_until, headers))
	order by expires
	limit $3
	for update skip locked
), gone as (
	delete from mbus4.message where ctid = any (array(select ctid from due)) returning expires
)
select count(*), coalesce(max(expires)::text, '') from gone`

func (s *sweeper) sweepExpired(ctx context.Context, conn *pgx.Conn) (int64, error) {
	var asOf *time.Time
	if s.Now != nil {
		now := s.Now()
		asOf = &now
	}
	swept, err := inBatches(func(from string) pgx.Row {
		return conn.QueryRow(ctx, sweepExpiredSQL, asOf, from, sweepBatch)
	})
	if err != nil {
		return swept, fmt.Errorf("sweeping expired messages: %w", err)
	}
	return swept, nil
}

// The consumers that have messages, one index probe each, less those that exist. A message is never
// visible without its consumer, unless that was dropped.
const orphansSQL = `
with recursive present (id) as (
	(select consumer_id from mbus4.message order by consumer_id limit 1)
	union all
	select (select m.consumer_id from mbus4.message m where m.consumer_id > p.id order by m.consumer_id limit 1)
	from present p
	where p.id is not null
)
select id from present p
where id is not null and not exists (select from mbus4.consumer c where c.id = p.id)`

const sweepOrphansSQL = `
with due as materialized (
	select ctid
	from mbus4.message
	where consumer_id = $1
	  and available_at >= $2::text::timestamptz
	  and not exists (select from mbus4.consumer c where c.id = $1)
	order by available_at, id
	limit $3
	for update skip locked
), gone as (
	delete from mbus4.message where ctid = any (array(select ctid from due)) returning available_at
)
select count(*), coalesce(max(available_at)::text, '') from gone`

func sweepOrphans(ctx context.Context, conn *pgx.Conn) (int64, error) {
	rows, err := conn.Query(ctx, orphansSQL)
	if err != nil {
		return 0, fmt.Errorf("looking for messages of dropped consumers: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, fmt.Errorf("looking for messages of dropped consumers: %w", err)
	}
	var total int64
	for _, id := range ids {
		swept, err := inBatches(func(from string) pgx.Row {
			return conn.QueryRow(ctx, sweepOrphansSQL, id, from, sweepBatch)
		})
		total += swept
		if err != nil {
			return total, fmt.Errorf("sweeping messages of a dropped consumer: %w", err)
		}
	}
	return total, nil
}

// The keys of posts whose windows are over. They may be taken over at any moment, and are then
// locked or no longer over.
const sweepKeysSQL = `
with due as materialized (
	select ctid from mbus4.unique_post where until <= now() and until >= $1::text::timestamptz order by until limit $2 for update skip locked
), gone as (
	delete from mbus4.unique_post where ctid = any (array(select ctid from due)) returning until
)
select count(*), coalesce(max(until)::text, '') from gone`

func sweepKeys(ctx context.Context, conn *pgx.Conn) error {
	_, err := inBatches(func(from string) pgx.Row { return conn.QueryRow(ctx, sweepKeysSQL, from, sweepBatch) })
	if err != nil {
		return fmt.Errorf("sweeping keys of posts: %w", err)
	}
	return nil
}

// inBatches repeats a batch, each from where the last one ended, until one is not full. A batch
// gives its number of rows and, as text, its last time.
func inBatches(batch func(from string) pgx.Row) (total int64, err error) {
	return inBatchesFrom("-infinity", batch)
}

// inBatchesFrom is inBatches for batches that begin at a place of another kind than a time.
func inBatchesFrom(from string, batch func(from string) pgx.Row) (total int64, err error) {
	for {
		var n int64
		var last string
		if err := batch(from).Scan(&n, &last); err != nil {
			return total, err
		}
		total += n
		if n < sweepBatch {
			return total, nil
		}
		from = last
	}
}

// Each batch begins at the page where the last one ended ($1); rows of the same page may be read again.
const sweepViewInsertsSQL = `
with due as materialized (
	select ctid from mbus4.view_insert where ctid >= $1::text::tid limit $2 for update skip locked
), gone as (
	delete from mbus4.view_insert where ctid = any (array(select ctid from due)) returning ctid as place
)
select count(*), coalesce(max(place)::text, '') from gone`

// viewInsertPages is the size of the table from which on the sweeper does not wait for autovacuum, which may be
// off: the next sweep would read all of it.
const viewInsertPages = 16

// sweepViewInserts empties mbus4.view_insert. Inserts do not wait for it, nor does it for them: neither DELETE
// nor VACUUM stands in the way of INSERT, and VACUUM gives the pages at the end back only while nobody waits.
func sweepViewInserts(ctx context.Context, conn *pgx.Conn) error {
	_, err := inBatchesFrom("(0,0)", func(from string) pgx.Row {
		return conn.QueryRow(ctx, sweepViewInsertsSQL, from, sweepBatch)
	})
	if err != nil {
		return fmt.Errorf("sweeping what inserts into views left: %w", err)
	}
	var pages int64
	err = conn.QueryRow(ctx, `select pg_catalog.pg_relation_size('mbus4.view_insert') / pg_catalog.current_setting('block_size')::int`).Scan(&pages)
	if err != nil {
		return fmt.Errorf("sweeping what inserts into views left: %w", err)
	}
	if pages > viewInsertPages {
		if _, err := conn.Exec(ctx, `vacuum (skip_locked) mbus4.view_insert`); err != nil {
			return fmt.Errorf("vacuuming what inserts into views left: %w", err)
		}
	}
	return nil
}
