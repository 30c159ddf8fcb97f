package semaphore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Entries visible now that were not in the snapshot $1: those of transactions that had not begun then, and
// those of transactions that were under way; $2 at most. With each comes what has become of the tasks it names, in
// the same snapshot.
//
// Clients may write entries themselves, in any number, of any semaphore and of any tasks. Of a semaphore that does not
// exist nothing is read but that, and beyond $3 tasks an entry is read as one that says that anything may have changed.
const followSQL = `
with gone as (
	delete from mbus4.semaphore_change
	where ctid = any (array(
		select x.tid
		from (
			(select c.ctid as tid from mbus4.semaphore_change c where c.xid >= pg_catalog.pg_snapshot_xmax($1::text::pg_snapshot) order by c.xid limit $2::int)
			union all
			select c.ctid from pg_catalog.pg_snapshot_xip($1::text::pg_snapshot) x (xid)
			join mbus4.semaphore_change c on c.xid = x.xid
		) x
		limit $2::int))
	returning semaphore_id, tasks, priority, arrival
), entry as materialized (
	select g.semaphore_id, g.tasks, g.priority, g.arrival, s.id is not null as exists, coalesce(pg_catalog.sum(pg_catalog.cardinality(g.tasks)) over (rows unbounded preceding), 0) > $3::int as many
	from gone g
	left join lateral (select s.id from mbus4.semaphore s where s.id = g.semaphore_id offset 0) s on true
)
select pg_catalog.pg_current_snapshot()::text, (select count(*) from entry) >= $2::int, g.semaphore_id, g.exists, g.many, g.priority, g.arrival,
       r.task_id, t.priority, t.arrival, t.status <> 'WAIT', t.status = 'TRY_RELEASE'
from (select) one
left join entry g on true
left join lateral pg_catalog.unnest(case when g.exists and not g.many then g.tasks end) r (task_id) on true
left join lateral (
	select t.priority, t.arrival, t.status
	from mbus4.semaphore_task t
	where t.semaphore_id = g.semaphore_id and t.task_id = r.task_id
	offset 0 -- one probe for each, whatever the planner thinks of their number
) t on true`

// follow reads what has been written to the log since it was last read, and gives the number of entries. more: there
// may be others, which the next call reads; so what is known of the semaphores may be behind.
func (g *allocator) follow(ctx context.Context, conn *pgx.Conn) (entries int, more bool, err error) {
	var (
		seen                  string
		semaphore, task       *int64
		exists, many          *bool
		priority, nowPriority *float64
		arrival, nowArrival   *int64
		runs, asked           *bool
	)
	since := g.since()
	g.followedAt, g.notedAt = time.Now(), time.Time{}
	rows, err := conn.Query(ctx, followSQL, g.seen, mostFollowed, mostTasks)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&seen, &more, &semaphore, &exists, &many, &priority, &arrival, &task, &nowPriority, &nowArrival, &runs, &asked}, func() error {
			if semaphore == nil {
				return nil
			}
			entries++
			id := int32(*semaphore)
			s := g.known[id]
			if !*exists && s == nil {
				return nil
			}
			g.change(id)
			g.noteDue(id, since)
			switch {
			case s == nil:
				return nil
			case *many:
				delete(g.known, id)
				return nil
			}
			if priority != nil && arrival != nil {
				s.startAt(place{*priority, *arrival})
			}
			switch {
			case task == nil:
			case runs == nil:
				s.remove(*task)
				delete(s.fresh, *task)
			case *runs:
				s.put(slotTask{id: *task, place: place{*nowPriority, *nowArrival}, asked: *asked})
			default:
				s.remove(*task)
				s.wait(*task, place{*nowPriority, *nowArrival})
			}
			return nil
		})
	}
	if err != nil {
		return entries, false, fmt.Errorf("reading the changes of semaphores: %w", err)
	}
	if !more {
		g.seen = seen
	}
	return entries, more, nil
}

// Entries that nobody is to read: those of transactions that had ended in the snapshot $1. Of those of the engine's own
// term none is left, but the ones before were not read, and clients may write the number of any transaction.
const discardSQL = `
with gone as (
	delete from mbus4.semaphore_change
	where ctid = any (array(
		select c.ctid from mbus4.semaphore_change c where c.xid < pg_catalog.pg_snapshot_xmin($1::text::pg_snapshot) order by c.xid limit $2::int))
	returning 1
)
select count(*) from gone`

// discard removes such entries, some at a time.
func (g *allocator) discard(ctx context.Context, conn *pgx.Conn) error {
	now := time.Now()
	if now.Before(g.discardAt) {
		return nil
	}
	var gone int
	if err := conn.QueryRow(ctx, discardSQL, g.seen, mostFollowed).Scan(&gone); err != nil {
		return fmt.Errorf("discarding changes of semaphores: %w", err)
	}
	rest := discardInterval
	if gone == mostFollowed {
		rest = 0
	}
	g.discardAt = time.Now().Add(max(rest, discardDuty*time.Since(now)))
	return nil
}

const countSQL = `
select sum(pg_catalog.pg_stat_get_tuples_inserted(t) + pg_catalog.pg_stat_get_tuples_updated(t) + pg_catalog.pg_stat_get_tuples_deleted(t))::bigint
from unnest(array['mbus4.semaphore', 'mbus4.semaphore_task']::regclass[]) t`

// watch begins a full pass when its time has come, or when the tables' counters move though the log has
// told of nothing for a while. The counters lag by a second and more: a pass too many is all the harm.
func (g *allocator) watch(ctx context.Context, conn *pgx.Conn) error {
	now := time.Now()
	direct := false
	if now.Sub(g.countedAt) >= countInterval {
		var n int64
		if err := conn.QueryRow(ctx, countSQL).Scan(&n); err != nil {
			return fmt.Errorf("reading the counters of semaphores: %w", err)
		}
		direct = n != g.counted && !g.countedAt.IsZero() && now.Sub(g.quietFrom) > quietEnough
		g.counted, g.countedAt = n, now
	}
	if g.passing || now.Before(g.passRest) {
		return nil
	}
	if direct || now.Sub(g.passedAt) >= g.interval {
		g.beginPass()
	}
	return nil
}

func (g *allocator) beginPass() {
	g.passing, g.passAgain, g.passFrom, g.passedAt, g.passWork = true, false, -1<<31, time.Now(), 0
	g.passSize = max(g.passSize, passAtLeast)
}

// change notes that a semaphore is to be looked at. Where there are too many, a full pass looks at all.
func (g *allocator) change(id int32) {
	g.changed[id] = struct{}{}
	if len(g.changed) <= mostChanged {
		return
	}
	clear(g.changed)
	if g.passing {
		g.passAgain = true // it may have passed some of them
	} else {
		g.beginPass()
	}
}

// nextOfPass gives the next semaphores of a full pass, at most limit.
func (g *allocator) nextOfPass(ctx context.Context, conn *pgx.Conn, limit int) ([]int32, error) {
	if !g.passing || limit <= 0 {
		return nil, nil
	}
	limit = min(limit, g.passSize)
	rows, err := conn.Query(ctx, `select id from mbus4.semaphore where id > $1 order by id limit $2`, g.passFrom, limit)
	if err != nil {
		return nil, fmt.Errorf("listing semaphores: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		return nil, fmt.Errorf("listing semaphores: %w", err)
	}
	if len(ids) > 0 {
		g.passFrom = ids[len(ids)-1]
	}
	if len(ids) < limit {
		if g.passing = false; g.passAgain {
			g.beginPass()
		}
	}
	return ids, nil
}

// pace adapts how many semaphores of a pass are looked at in one turn, so that grants elsewhere do not
// wait for long.
func (g *allocator) pace(took time.Duration, passed int) {
	if passed > 0 {
		g.passWork += took
		g.passRest = time.Now().Add(passDuty * g.passWork)
	}
	switch {
	case passed == 0:
	case took > 2*passTurn:
		g.passSize = max(g.passSize/2, passAtLeast)
	case took < passTurn:
		g.passSize = min(2*g.passSize, turnSemaphores)
	}
}
