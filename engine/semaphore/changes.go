package semaphore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Entries visible now that were not in the snapshot $1: those of transactions that had not begun then, and
// those of transactions that were under way. With each comes what has become of the tasks it names, in
// the same snapshot.
const followSQL = `
with gone as (
	delete from mbus4.semaphore_change
	where ctid = any (array(
		select c.ctid from mbus4.semaphore_change c
		where c.xid >= pg_catalog.pg_snapshot_xmax($1::text::pg_snapshot)
		union all
		select c.ctid from pg_catalog.pg_snapshot_xip($1::text::pg_snapshot) x (xid)
		join mbus4.semaphore_change c on c.xid = x.xid))
	returning semaphore_id, tasks, priority, arrival
)
select pg_catalog.pg_current_snapshot()::text, g.semaphore_id, g.priority, g.arrival,
       r.task_id, t.priority, t.arrival, t.status <> 'WAIT', t.status = 'TRY_RELEASE'
from (select) one
left join gone g on true
left join lateral pg_catalog.unnest(g.tasks) r (task_id) on true
left join lateral (
	select t.priority, t.arrival, t.status
	from mbus4.semaphore_task t
	where t.semaphore_id = g.semaphore_id and t.task_id = r.task_id
	offset 0 -- one probe for each, whatever the planner thinks of their number
) t on true`

// follow reads what has been written to the log since it was last read, and gives the number of entries.
func (g *allocator) follow(ctx context.Context, conn *pgx.Conn) (entries int, err error) {
	var (
		semaphore, task       *int64
		priority, nowPriority *float64
		arrival, nowArrival   *int64
		runs, asked           *bool
	)
	since := g.since()
	g.followedAt, g.notedAt = time.Now(), time.Time{}
	rows, err := conn.Query(ctx, followSQL, g.seen)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&g.seen, &semaphore, &priority, &arrival, &task, &nowPriority, &nowArrival, &runs, &asked}, func() error {
			if semaphore == nil {
				return nil
			}
			entries++
			id := int32(*semaphore)
			g.changed[id] = struct{}{}
			g.noteDue(id, since)
			s := g.known[id]
			if s == nil {
				return nil
			}
			if priority != nil {
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
		return entries, fmt.Errorf("reading the changes of semaphores: %w", err)
	}
	return entries, nil
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
		g.passing, g.passFrom, g.passedAt, g.passWork = true, -1<<31, now, 0
		g.passSize = max(g.passSize, passAtLeast)
	}
	return nil
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
		g.passing = false
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
