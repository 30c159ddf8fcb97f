package housekeeping

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const (
	releaseScan  = 5000    // iids looked at in one turn
	releaseBytes = 8 << 20 // of iids looked at in one turn, and one iid: clients choose them, of any length
	releaseBatch = 1000    // waiting messages woken in one transaction
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
type releaser struct {
	from string // the iid after which the next turn looks
}

func newReleaser() *releaser { return &releaser{} }

// released is what one turn of a releaser did.
type released struct {
	Woken   int64
	Waiting bool // there are messages that wait
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

// The messages that waited for an iid that is gone: woken when nothing else is left to wait for,
// else noted under what is, without a lock: consuming steps around locked rows, and would not wake
// a message whose last dependency it takes meanwhile. The nextval tells the hinter that a message
// appears. Rows are found by their addresses, or one by one in the order of an index, lest
// statistics turn the planner to reading whole tables.
const releaseSQL = `
with noted as materialized (
	select ctid as tid, dep, consumer_id, id
	from mbus4.waiting
	where dep = $1
	order by consumer_id, id
	limit $2
	for update skip locked
), parked as materialized (
	select m.ctid as tid, m.consumer_id, m.id,
	       array(select distinct i.iid from unnest(m.after) i (iid) cross join lateral mbus4.undelivered(i.iid)) as alive
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
select (select count(*) from woken), (select count(*) from done)`

// Release takes one turn: it looks at some thousand iids and wakes all that waited for those that
// are gone.
func (r *releaser) Release(ctx context.Context, conn *pgx.Conn) (released, error) {
	var out released
	rows, err := conn.Query(ctx, waitedForSQL, r.from, releaseScan, releaseBytes)
	if err != nil {
		return out, fmt.Errorf("looking for iids waited for: %w", err)
	}
	var dep string
	var isGone, isLast bool // isLast: there was room for no more
	var gone []string
	n := 0
	_, err = pgx.ForEachRow(rows, []any{&dep, &isLast, &isGone}, func() error {
		n++
		if isGone {
			gone = append(gone, dep)
		}
		return nil
	})
	if err != nil {
		return out, fmt.Errorf("looking for iids waited for: %w", err)
	}
	out.Waiting = n > 0 || r.from != ""
	r.from = ""
	if isLast {
		r.from = dep
	}
	for _, dep := range gone {
		for {
			var woken, done int64
			if err := conn.QueryRow(ctx, releaseSQL, dep, releaseBatch).Scan(&woken, &done); err != nil {
				return out, fmt.Errorf("waking messages that waited: %w", err)
			}
			out.Woken += woken
			if done < releaseBatch {
				break
			}
		}
	}
	return out, nil
}
