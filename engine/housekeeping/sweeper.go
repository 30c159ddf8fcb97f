package housekeeping

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
)

const sweepBatch = 1000 // rows per transaction

// sweeper removes the messages nobody will get: expired ones, but not from dmq, and those of
// consumers that were dropped. It also removes the rows that inserts into views leave behind. What
// somebody has a lease on stays until that ends. It works in small transactions and skips locked
// rows, which are left to the next sweep; so any number of proxies may sweep at once.
//
// Each part goes through what it looks at in passes. A pass may take many turns: it goes on where the
// last batch ended, for what was just deleted is dead, but still in the index.
type sweeper struct {
	Now func() time.Time // nil: the server's clock

	expires string       // where the pass over expired messages is; "": at the beginning
	orphan  messagePlace // where that over messages of dropped consumers is
	until   string       // where that over keys of posts is
	view    string       // where that over inserts into views is
	pages   pagePass     // see sweepPages
}

// messagePlace is a place in the primary key of mbus4.message. The zero value stands before all.
type messagePlace struct {
	known    bool
	consumer int64
	at       string
	id       int64
}

func newSweeper() *sweeper { return &sweeper{} }

// part is one of the things that are swept. They have turns of their own.
type part struct {
	name  string
	sweep func(ctx context.Context, conn *pgx.Conn, s *slice) (rows int64, err error)
}

func (s *sweeper) parts() []part {
	return []part{
		{"expired messages", s.sweepExpired},
		{"messages of dropped consumers", s.sweepOrphans},
		{"keys of posts", s.sweepKeys},
		{"inserts into views", s.sweepViewInserts},
	}
}

// unsweptLease is a condition: somebody has a lease on the message m, at the time $1.
const unsweptLease = `(m.available_at > coalesce($1::timestamptz, now()) and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers))`

// Each batch begins where the last one ended ($2). The rows are locked, so their ctids hold until
// they are deleted. Consumer 1 is that of dmq.
const sweepExpiredSQL = `
with due as materialized (
	select m.ctid
	from mbus4.message m
	where m.expires <= coalesce($1::timestamptz, now())
	  and m.expires >= $2::text::timestamptz
	  and m.consumer_id <> 1
	  and not ` + unsweptLease + `
	order by m.expires
	limit $3
	for update skip locked
), gone as (
	delete from mbus4.message where ctid = any (array(select ctid from due)) returning expires
)
select count(*), coalesce(max(expires)::text, '') from gone`

func (s *sweeper) sweepExpired(ctx context.Context, conn *pgx.Conn, turn *slice) (int64, error) {
	if s.pages.under() {
		return s.sweepPages(ctx, conn, turn)
	}
	asOf := s.asOf()
	swept, err := inBatches(&s.expires, "-infinity", turn, func(from string) pgx.Row {
		return conn.QueryRow(ctx, sweepExpiredSQL, asOf, from, sweepBatch)
	})
	if err != nil {
		err = fmt.Errorf("sweeping expired messages: %w", err)
	}
	return swept, s.orByPages(err)
}

func (s *sweeper) asOf() *time.Time {
	if s.Now == nil {
		return nil
	}
	now := s.Now()
	return &now
}

// The consumers that have messages behind a place, as many as $5 of them, one index probe each; of
// those that do not exist the messages, in the order of the primary key. A message is never visible
// without its consumer, unless that was dropped. Clients may write any consumer_id: a million
// messages of as many consumers are to cost no more than those of one.
//
// The last row says how far it came: the last message it removed, the last consumer it looked at.
const sweepOrphansSQL = `
with recursive present (id, n) as (
	(select m.consumer_id, 1
	 from mbus4.message m
	 where (m.consumer_id, m.available_at, m.id) >= ($1::bigint, $2::text::timestamptz, $3::bigint)
	 order by m.consumer_id, m.available_at, m.id
	 limit 1)
	union all
	select (select m.consumer_id from mbus4.message m where m.consumer_id > p.id order by m.consumer_id limit 1), p.n + 1
	from present p
	where p.id is not null and p.n < $5::int
), orphan as materialized (
	select p.id, p.n
	from present p
	where p.id is not null and not exists (select from mbus4.consumer c where c.id = p.id)
	order by p.n
), due as materialized (
	select d.tid
	from orphan o
	cross join lateral (
		select m.ctid as tid
		from mbus4.message m
		where m.consumer_id = o.id
		  and (m.available_at, m.id) >= (case when o.id = $1 then $2::text::timestamptz else '-infinity' end, case when o.id = $1 then $3 else -9223372036854775808 end)
		order by m.available_at, m.id
		limit $4::int
		for update skip locked
	) d
	limit $4::int
), gone as (
	delete from mbus4.message where ctid = any (array(select tid from due)) returning consumer_id, available_at, id
)
select (select count(*) from gone), l.consumer_id, l.available_at::text, l.id, (select max(p.id) from present p), (select count(*) from present p where p.id is not null)
from (select) one
left join (select g.consumer_id, g.available_at, g.id from gone g order by 1 desc, 2 desc, 3 desc limit 1) l on true`

const orphansAtOnce = 1000 // consumers looked at in one transaction

// sweepOrphans removes messages whose consumers do not exist.
func (s *sweeper) sweepOrphans(ctx context.Context, conn *pgx.Conn, turn *slice) (total int64, err error) {
	if s.pages.under() {
		return 0, nil // that is done meanwhile
	}
	for {
		at := s.orphan
		if !at.known {
			at = messagePlace{consumer: -1 << 63, at: "-infinity", id: -1 << 63}
		}
		var gone, looked int64
		var consumer, id, lastLooked *int64
		var available *string
		err := conn.QueryRow(ctx, sweepOrphansSQL, at.consumer, at.at, at.id, sweepBatch, orphansAtOnce).Scan(&gone, &consumer, &available, &id, &lastLooked, &looked)
		if err != nil {
			return total, s.orByPages(fmt.Errorf("sweeping messages of dropped consumers: %w", err))
		}
		total += gone
		switch {
		case gone == sweepBatch:
			s.orphan = messagePlace{known: true, consumer: *consumer, at: *available, id: *id}
		case looked == orphansAtOnce:
			s.orphan = messagePlace{known: true, consumer: *lastLooked, at: "infinity", id: 1<<63 - 1}
		default:
			s.orphan = messagePlace{}
			return total, nil
		}
		if turn.over() {
			return total, nil
		}
	}
}

// The keys of posts whose windows have been over for a while: a call that has just found one open reads its iid. They may be taken over at any moment, and are then
// locked or no longer over.
const sweepKeysSQL = `
with due as materialized (
	select ctid from mbus4.unique_post where until <= now() - interval '5 seconds' and until >= $1::text::timestamptz order by until limit $2 for update skip locked
), gone as (
	delete from mbus4.unique_post where ctid = any (array(select ctid from due)) returning until
)
select count(*), coalesce(max(until)::text, '') from gone`

func (s *sweeper) sweepKeys(ctx context.Context, conn *pgx.Conn, turn *slice) (int64, error) {
	swept, err := inBatches(&s.until, "-infinity", turn, func(from string) pgx.Row {
		return conn.QueryRow(ctx, sweepKeysSQL, from, sweepBatch)
	})
	if err != nil {
		return swept, fmt.Errorf("sweeping keys of posts: %w", err)
	}
	return swept, nil
}

// inBatches repeats a batch, each from where the last one ended, until one is not full or the turn is
// over; then the next turn goes on from there. A batch gives its number of rows and, as text, the
// place of its last one.
func inBatches(place *string, first string, turn *slice, batch func(from string) pgx.Row) (total int64, err error) {
	for {
		if *place == "" {
			*place = first
		}
		var n int64
		var last string
		if err := batch(*place).Scan(&n, &last); err != nil {
			*place = ""
			return total, err
		}
		total += n
		if n < sweepBatch {
			*place = ""
			return total, nil
		}
		if *place = last; turn.over() {
			return total, nil
		}
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
func (s *sweeper) sweepViewInserts(ctx context.Context, conn *pgx.Conn, turn *slice) (int64, error) {
	swept, err := inBatches(&s.view, "(0,0)", turn, func(from string) pgx.Row {
		return conn.QueryRow(ctx, sweepViewInsertsSQL, from, sweepBatch)
	})
	if err != nil || turn.cut {
		if err != nil {
			err = fmt.Errorf("sweeping what inserts into views left: %w", err)
		}
		return swept, err
	}
	var pages int64
	err = conn.QueryRow(ctx, `select pg_catalog.pg_relation_size('mbus4.view_insert') / pg_catalog.current_setting('block_size')::int`).Scan(&pages)
	if err != nil {
		return swept, fmt.Errorf("sweeping what inserts into views left: %w", err)
	}
	if pages > viewInsertPages {
		if _, err := conn.Exec(ctx, `vacuum (skip_locked) mbus4.view_insert`); err != nil {
			return swept, fmt.Errorf("vacuuming what inserts into views left: %w", err)
		}
	}
	return swept, nil
}

// orByPages has messages swept page by page if a statement has taken too long.
func (s *sweeper) orByPages(err error) error {
	if refusal.SQLState(err) != refusal.QueryCanceled {
		return err
	}
	s.pages.begin()
	return nil
}
