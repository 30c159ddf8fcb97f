package semaphore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/calls"
)

// Events is the queue in which semaphores tell of grants and of requests to release.
const Events = "semaphore_events"

// orders are grants and requests to be carried out in one transaction.
type orders struct {
	fronts     map[int32]*front
	semaphores []int32 // with grants or requests
	actives    []int32 // their limit, on which the grants rest
	of         []int32 // for each order: semaphore, task, whether it is a grant
	tasks      []int64
	grants     []bool
}

func (o *orders) size() int { return len(o.tasks) }

func (o *orders) add(f *front, grant, ask []slotTask) {
	if len(grant)+len(ask) == 0 {
		return
	}
	if o.fronts == nil {
		o.fronts = map[int32]*front{}
	}
	o.fronts[f.id] = f
	o.semaphores = append(o.semaphores, f.id)
	o.actives = append(o.actives, int32(f.active))
	for i, t := range append(grant[:len(grant):len(grant)], ask...) {
		o.of = append(o.of, f.id)
		o.tasks = append(o.tasks, t.id)
		o.grants = append(o.grants, i < len(grant))
	}
}

// What the orders change, with an event for each. Nobody is granted anything while the limits of the
// semaphore change, or have changed: the row is locked, so a new limit comes after what was granted under
// the old one. Rows that others hold are passed over.
const giveSQL = `
with mbus4_s as materialized (
	select s.id, s.key
	from unnest($1::int[], $2::int[]) q (id, active)
	join mbus4.semaphore s on s.id = q.id and s.active = q.active
	for share of s skip locked
), mbus4_w as materialized (
	select t.tid, q.n, s.key
	from unnest($3::int[], $4::bigint[], $5::boolean[]) with ordinality q (id, task_id, granted, n)
	join mbus4_s s on s.id = q.id
	cross join lateral (
		select t.ctid as tid
		from mbus4.semaphore_task t
		where t.semaphore_id = q.id and t.task_id = q.task_id
		  and t.status = (case when q.granted then 'WAIT' else 'ACQUIRED' end)::mbus4.semaphore_status
		for update skip locked
	) t
), mbus4_t as (
	update mbus4.semaphore_task t
	set status = (case when t.status = 'WAIT' then 'ACQUIRED' else 'TRY_RELEASE' end)::mbus4.semaphore_status
	from mbus4_w w
	where t.ctid = w.tid
	returning w.n, w.key, t.semaphore_id, t.task_id, t.priority, t.arrival, t.status = 'TRY_RELEASE' as asked
), mbus4_c_a ({columns}) as (
	select t.n, '` + Events + `'::text,
	       {hstore}.hstore(array['event', case when t.asked then 'TryRelease' else 'Acquired' end, 'semaphore_key', t.key, 'task_id', t.task_id::text]),
	       null::{hstore}.hstore, null::{hstore}.hstore, null::timestamp, null::timestamp, null::text
	from (select * from mbus4_t order by n) t
), {post}
select s.id, t.task_id, t.priority, t.arrival, t.asked, (select count(p.post) from mbus4_c p)
from mbus4_s s
left join mbus4_t t on t.semaphore_id = s.id
order by t.n`

// giveText is giveSQL with the statement of posting that calls are served by.
func (g *allocator) giveText() string {
	columns, post := g.texts.Posting(calls.Site{HstoreSchema: g.hstore, Selective: g.features.Selective()})
	return strings.NewReplacer("{columns}", columns, "{hstore}", g.hstore, "{post}", post).Replace(giveSQL)
}

// give carries out orders. What it could not do, because rows were locked or have changed, it notes in the fronts.
func (g *allocator) give(ctx context.Context, conn *pgx.Conn, o *orders, out *turned) error {
	var (
		id            int32
		task, arrival *int64
		priority      *float64
		asked         *bool
		done          = make(map[int32]map[int64]bool, len(o.semaphores))
	)
	rows, err := conn.Query(ctx, g.giveText(), o.semaphores, o.actives, o.of, o.tasks, o.grants)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&id, &task, &priority, &arrival, &asked, nil}, func() error {
			if done[id] == nil {
				done[id] = map[int64]bool{}
			}
			if task == nil {
				return nil
			}
			o.fronts[id].slots.put(slotTask{id: *task, place: place{*priority, *arrival}, asked: *asked})
			if *asked {
				out.Asked++
			} else {
				out.Granted++
				g.size++
			}
			done[id][*task] = true
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("granting slots: %w", err)
	}
	for i, id := range o.of {
		f := o.fronts[id]
		switch {
		case done[id] == nil:
			f.closed = true
		case !done[id][o.tasks[i]]:
			if f.refused == nil {
				f.refused = map[int64]bool{}
			}
			f.refused[o.tasks[i]] = true
		}
	}
	g.quietFrom = time.Now()
	return nil
}
