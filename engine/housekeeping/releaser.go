package housekeeping

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
)

const (
	releaseScan  = 1000    // iids looked at in one statement
	releaseBytes = 8 << 20 // of iids looked at in one statement, and one iid: clients choose them, of any length
	releaseBatch = 1000    // rows of mbus4.waiting dealt with in one transaction
	releaseAfter = 1000    // iids of one message that are looked at: clients may write arrays of any length
)

// releaser wakes the messages that wait for others (consume_after) when those are gone.
//
// Consuming wakes what waited for the message itself, in its own transaction, and that is the usual
// way. It cannot see everything: two of the messages somebody waits for, consumed at the same moment
// in two transactions, each see the other one still there; and a message that is being posted while
// its dependency is being consumed is parked by the poster, who still sees the dependency, and not found by the
// consumer, who does not yet see the message. Neither may wait for the other, so both are left to the
// releaser, as are messages that were swept, dropped or had very many waiting for them. It is needed
// for progress only: what is delivered is decided when it is consumed.
//
// Any number of releasers may work at once; they skip locked rows.
//
// Clients may write rows of any kind into mbus4.waiting, and messages that wait for anything. So what
// is gone is dealt with set-wise, in the order of the primary key, whatever there is of it, and a row
// with which the server fails is passed over.
type releaser struct {
	from  string // the iid after which the next statement looks
	scan  int    // iids that it looks at
	seen  bool   // in this pass over the iids there was one
	ended bool   // the pass has come to the last one

	gone  []string // iids that are gone, in order, whose rows are not dealt with yet
	at    waitPlace
	batch int // rows at once
}

// waitPlace is a place among the rows of the first iid that is gone.
type waitPlace struct{ consumer, id int64 }

var firstWait = waitPlace{-1 << 63, -1 << 63} //nolint:gochecknoglobals // a constant

func newReleaser() *releaser { return &releaser{scan: releaseScan, at: firstWait, batch: releaseBatch} }

// released is what one turn of a releaser did.
type released struct {
	Woken   int64
	Waiting bool // there are messages that wait
	Passed  int  // rows that were passed over
	Failed  error
}

// For each iid that is waited for (one index probe each): whether it is gone, that is, nobody is
// still to get it. (Why not simply EXISTS of undelivered: see is_msg_exists.sql.)
const waitedForSQL = `
with recursive d (dep, n, bytes) as (
	(select dep, 1, 0::bigint from mbus4.waiting where dep > $1 order by dep limit 1)
	union all
	select (select w.dep from mbus4.waiting w where w.dep > d.dep order by w.dep limit 1), d.n + 1, d.bytes + octet_length(d.dep)
	from d
	where d.dep is not null and d.n < $2 and d.bytes + octet_length(d.dep) < $3
)
select d.dep, d.n = $2 or d.bytes + octet_length(d.dep) >= $3, not exists (select from unnest(array[d.dep]) i (iid) cross join lateral mbus4.undelivered(i.iid))
from d
where d.dep is not null
order by d.dep`

// The messages that waited for iids that are gone: woken when nothing else is left to wait for,
// else noted under what is, without a lock: consuming steps around locked rows, and would not wake
// a message whose last dependency it takes meanwhile. The nextval tells the hinter that a message
// appears. Rows are found by their addresses, or one by one in the order of an index, lest
// statistics turn the planner to reading whole tables.
//
// Of the first iid the rows from ($3, $4) on. The result says how many it has found, and the last.
const releaseSQL = `
with noted as materialized (
	select w.tid, d.n, w.consumer_id, w.id
	from unnest($1::text[]) with ordinality d (dep, n)
	cross join lateral (
		select w.ctid as tid, w.consumer_id, w.id
		from mbus4.waiting w
		where w.dep = d.dep
		  and (w.consumer_id, w.id) >= (case when d.n = 1 then $3::bigint else -9223372036854775808 end, case when d.n = 1 then $4::bigint else -9223372036854775808 end)
		order by w.consumer_id, w.id
		limit $2::int
		for update skip locked
	) w
	limit $2::int
), parked as materialized (
	select m.ctid as tid, m.consumer_id, m.id,
	       array(select distinct i.iid from (select a.iid from unnest(m.after) a (iid) limit $5::int) i cross join lateral mbus4.undelivered(i.iid)) as alive
	from mbus4.message m
	where m.ctid = any (array(
		select w.tid
		from noted n
		cross join lateral (
			select m.ctid as tid
			from mbus4.message m
			where m.consumer_id = n.consumer_id and m.available_at = 'infinity' and m.id = n.id
			order by m.consumer_id, m.available_at, m.id
			limit 1
		) w))
	  and m.available_at = 'infinity' and m.after is not null
), free as materialized (
	select m.ctid as tid
	from mbus4.message m
	where m.ctid = any (array(select p.tid from parked p where p.alive = '{}'))
	  and m.available_at = 'infinity' and m.after is not null
	for update skip locked
), woken as (
	update mbus4.message
	set available_at = case when nextval('mbus4.message_id') > 0 then greatest(delayed_until, clock_timestamp()) end
	where ctid = any (array(select tid from free))
	returning 1
), renoted as (
	insert into mbus4.waiting (dep, consumer_id, id)
	select dep, p.consumer_id, p.id from parked p cross join unnest(p.alive) dep
	on conflict do nothing
), done as (
	delete from mbus4.waiting w
	where w.ctid = any (array(
		select n.tid
		from noted n
		where exists (select from parked p where p.consumer_id = n.consumer_id and p.id = n.id and (p.alive <> '{}' or p.tid in (select f.tid from free f)))
		   or (select 1 from mbus4.message m
		       where m.consumer_id = n.consumer_id and m.available_at = 'infinity' and m.id = n.id
		       order by m.consumer_id, m.available_at, m.id
		       limit 1) is null))
	returning 1
)
select (select count(*) from woken), (select count(*) from done), (select count(*) from noted), l.n, l.consumer_id, l.id
from (select) one
left join (select n.n, n.consumer_id, n.id from noted n order by 1 desc, 2 desc, 3 desc limit 1) l on true`

// Release takes one turn: it looks at iids, some thousand at once, and wakes all that waited for
// those that are gone.
func (r *releaser) Release(ctx context.Context, conn *pgx.Conn, turn *slice) (out released, err error) {
	out.Waiting = true
	for {
		if err := r.wake(ctx, conn, turn, &out); err != nil || len(r.gone) > 0 {
			return out, err
		}
		if r.ended {
			out.Waiting, r.seen, r.ended = r.seen, false, false
			return out, nil
		}
		if err := r.look(ctx, conn, &out); err != nil {
			return out, err
		}
		if (!r.ended || len(r.gone) > 0) && turn.over() {
			return out, nil
		}
	}
}

// look finds which iids that are waited for are gone, from where the last look ended.
func (r *releaser) look(ctx context.Context, conn *pgx.Conn, out *released) error {
	var dep string
	var isGone, isLast bool // isLast: there was room for no more
	rows, err := conn.Query(ctx, waitedForSQL, r.from, r.scan, releaseBytes)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&dep, &isLast, &isGone}, func() error {
			r.seen = true
			if isGone {
				r.gone = append(r.gone, dep)
			}
			return nil
		})
	}
	switch {
	case err == nil:
	case lasting(ctx, conn, err):
		r.gone = nil
		return fmt.Errorf("looking for iids waited for: %w", err)
	case r.scan > 1:
		r.gone, r.scan = nil, max(r.scan/4, 1) // the fault lies with one of them
		return nil
	default:
		r.gone, isLast = nil, true
		out.Passed, out.Failed = out.Passed+1, err
		err = conn.QueryRow(ctx, `select w.dep from mbus4.waiting w where w.dep > $1 order by w.dep limit 1`, r.from).Scan(&dep)
		if isLast = err == nil; err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("passing over an iid waited for: %w", err)
		}
	}
	r.at, r.from, r.ended = firstWait, "", !isLast
	r.scan = min(2*r.scan, releaseScan)
	if isLast {
		r.from = dep
	}
	return nil
}

// lasting reports whether a failure lies with no row.
func lasting(ctx context.Context, conn *pgx.Conn, err error) bool {
	return ctx.Err() != nil || conn.IsClosed() || refusal.SQLState(err) == refusal.LockNotAvailable
}

// wake deals with the rows of the iids that are gone, until that is done or the turn is over.
func (r *releaser) wake(ctx context.Context, conn *pgx.Conn, turn *slice, out *released) error {
	for len(r.gone) > 0 {
		var woken, done int64
		var noted int
		var n, consumer, id *int64
		err := conn.QueryRow(ctx, releaseSQL, r.gone, r.batch, r.at.consumer, r.at.id, releaseAfter).Scan(&woken, &done, &noted, &n, &consumer, &id)
		switch {
		case err == nil:
			out.Woken += woken
			if noted < r.batch {
				r.gone, r.at = nil, firstWait
				break
			}
			r.gone, r.at = r.gone[*n-1:], waitPlace{*consumer, *id}
			r.pass()
			r.batch = min(2*r.batch, releaseBatch)
		case lasting(ctx, conn, err):
			return fmt.Errorf("waking messages that waited: %w", err)
		case r.batch > 1:
			r.batch = max(r.batch/4, 1) // the fault lies with one of them
		default:
			out.Passed, out.Failed = out.Passed+1, err
			if err := r.passOver(ctx, conn); err != nil {
				return err
			}
		}
		if len(r.gone) > 0 && turn.over() {
			break
		}
	}
	return nil
}

// pass goes behind the row where r.at is.
func (r *releaser) pass() {
	switch {
	case r.at.id < 1<<63-1:
		r.at.id++
	case r.at.consumer < 1<<63-1:
		r.at = waitPlace{r.at.consumer + 1, -1 << 63}
	default:
		r.gone, r.at = r.gone[1:], firstWait
	}
}

// passOver goes behind the next row. It stays what it is until the next pass.
func (r *releaser) passOver(ctx context.Context, conn *pgx.Conn) error {
	for len(r.gone) > 0 {
		err := conn.QueryRow(ctx, `
			select w.consumer_id, w.id
			from mbus4.waiting w
			where w.dep = $1 and (w.consumer_id, w.id) >= ($2::bigint, $3::bigint)
			order by w.consumer_id, w.id
			limit 1`, r.gone[0], r.at.consumer, r.at.id).Scan(&r.at.consumer, &r.at.id)
		if err == nil {
			r.pass()
			return nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("passing over a message that waits: %w", err)
		}
		r.gone, r.at = r.gone[1:], firstWait
	}
	return nil
}
