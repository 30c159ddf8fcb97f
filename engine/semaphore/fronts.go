package semaphore

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// front is what one turn needs to know of a semaphore.
type front struct {
	id         int32
	slots      *slots
	active     int
	tryRelease int
	scanned    []slotTask     // the first tasks that wait from the floor on, in order
	fresh      []slotTask     // waiting tasks before the floor
	waiting    []slotTask     // fresh and scanned in order, without those whose rows were locked in the last turn
	whole      bool           // scanned holds all waiting tasks from the floor on
	given      int            // how many of waiting get a slot
	refused    map[int64]bool // tasks whose rows were locked, or gone, in this turn
	skipped    bool           // the semaphore's own row was locked or has changed, so nothing was done
}

// arrange puts the waiting tasks together and takes out those that were locked.
func (f *front) arrange() {
	slices.SortFunc(f.scanned, slotTask.compare)
	f.waiting = append(slices.Clone(f.fresh), f.scanned...)
	slices.SortFunc(f.waiting, slotTask.compare)
	f.waiting = slices.Compact(f.waiting) // a fresh one may have moved behind the floor
	f.waiting = slices.DeleteFunc(f.waiting, func(t slotTask) bool { return f.slots.busy[t.id] })
}

// nextFloor is the place of the first scanned task that still waits.
func (f *front) nextFloor() place {
	for _, t := range f.scanned {
		if _, runs := f.slots.places[t.id]; !runs {
			return t.place
		}
	}
	switch {
	case f.whole:
		return lastPlace
	case len(f.scanned) > 0:
		return f.scanned[len(f.scanned)-1].place
	}
	return f.slots.floor
}

// displaces reports whether a waiting task, given by its number, goes before a running one that may be asked
// to leave.
func (f *front) displaces(next int) bool {
	if f.tryRelease == 0 || len(f.slots.running) == 0 {
		return false
	}
	last := f.slots.running[min(len(f.slots.running), max(f.active, 1))-1]
	return f.waiting[next].priority > last.priority
}

// Here, in frontsSQL and in rivalsSQL semaphore_id is compared negated, as it stands in the indexes semaphore_task_running and
// semaphore_task_wait: so the planner cannot choose the primary key, by which it would read all tasks of a semaphore.
const loadRunningSQL = `
select q.id, t.task_id, t.priority, t.arrival, t.status = 'TRY_RELEASE'
from unnest($1::int[]) q (id)
cross join lateral (
	select t.task_id, t.priority, t.arrival, t.status
	from mbus4.semaphore_task t
	where -t.semaphore_id = -q.id and t.status in ('ACQUIRED', 'TRY_RELEASE')
	offset 0
) t
order by q.id, -t.priority, t.arrival, t.task_id`

// load reads the running tasks of those semaphores that are not known.
func (g *allocator) load(ctx context.Context, conn *pgx.Conn, ids []int32) error {
	var missing []int32
	for _, id := range ids {
		if g.known[id] == nil {
			missing = append(missing, id)
			g.known[id] = newSlots()
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var id int32
	var t slotTask
	rows, err := conn.Query(ctx, loadRunningSQL, missing)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&id, &t.id, &t.priority, &t.arrival, &t.asked}, func() error {
			s := g.known[id]
			s.running = append(s.running, t)
			s.places[t.id] = t.place
			g.size++
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("reading running tasks: %w", err)
	}
	return nil
}

// The limits of semaphores, and as many of their first waiting tasks as there are slots free, and some
// more. The scan begins at the floor. Of fresh tasks, which are named, those that do wait.
const frontsSQL = `
select s.id, s.active, s.try_release, w.task_id, w.priority, w.arrival, false
from unnest($1::int[], $2::float8[], $3::bigint[], $4::int[], $5::int[]) q (id, priority, arrival, running, more)
join mbus4.semaphore s on s.id = q.id
left join lateral (
	select t.task_id, t.priority, t.arrival
	from mbus4.semaphore_task t
	where -t.semaphore_id = -q.id and t.status = 'WAIT' and (-t.priority, t.arrival) >= (-q.priority, q.arrival)
	order by -t.priority, t.arrival
	limit least(greatest(s.active - q.running, 0), $6) + q.more
) w on true
union all
select q.id, 0, 0, t.task_id, t.priority, t.arrival, true
from unnest($7::int[], $8::bigint[]) q (id, task_id)
cross join lateral (
	select t.task_id, t.priority, t.arrival, t.status
	from mbus4.semaphore_task t
	where t.semaphore_id = q.id and t.task_id = q.task_id
	offset 0 -- one probe for each
) t
where t.status = 'WAIT'`

// fronts reads the limits and the first waiting tasks of semaphores that are loaded.
func (g *allocator) fronts(ctx context.Context, conn *pgx.Conn, ids []int32) ([]*front, error) {
	var (
		priorities        []float64
		arrivals          []int64
		running, more, of []int32
		fresh             []int64
		found             = make(map[int32]*front, len(ids))
		id, active, leave int32
		task, arrival     *int64
		priority          *float64
		isFresh           bool
	)
	most := max(10, 2*turnGrants/len(ids))
	for _, id := range ids {
		s := g.known[id]
		priorities = append(priorities, s.floor.priority)
		arrivals = append(arrivals, s.floor.arrival)
		running = append(running, int32(len(s.running)))
		more = append(more, int32(len(s.busy)+1))
		for task := range s.fresh {
			of, fresh = append(of, id), append(fresh, task)
		}
		clear(s.fresh) // until they are found again
	}
	rows, err := conn.Query(ctx, frontsSQL, ids, priorities, arrivals, running, more, most, of, fresh)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&id, &active, &leave, &task, &priority, &arrival, &isFresh}, func() error {
			f := found[id]
			if f == nil {
				f = &front{id: id, slots: g.known[id]}
				found[id] = f
			}
			if !isFresh {
				f.active, f.tryRelease = int(active), int(leave)
			}
			switch {
			case task == nil:
			case isFresh:
				t := slotTask{id: *task, place: place{*priority, *arrival}}
				f.fresh = append(f.fresh, t)
				f.slots.wait(t.id, t.place)
			default:
				f.scanned = append(f.scanned, slotTask{id: *task, place: place{*priority, *arrival}})
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("reading waiting tasks: %w", err)
	}
	fronts := make([]*front, 0, len(found))
	for _, id := range ids {
		f := found[id]
		if f == nil {
			delete(g.known, id) // the semaphore was deleted
			continue
		}
		f.whole = len(f.scanned) < min(max(f.active-len(f.slots.running), 0), most)+len(f.slots.busy)+1
		f.arrange()
		fronts = append(fronts, f)
	}
	return fronts, nil
}

const rivalsSQL = `
select q.id, w.task_id, w.priority, w.arrival
from unnest($1::int[], $2::float8[], $3::bigint[], $4::float8[], $5::int[]) q (id, priority, arrival, last, most)
cross join lateral (
	select t.task_id, t.priority, t.arrival
	from mbus4.semaphore_task t
	where -t.semaphore_id = -q.id and t.status = 'WAIT' and (-t.priority, t.arrival) >= (-q.priority, q.arrival)
	  and -t.priority < -q.last
	order by -t.priority, t.arrival
	limit q.most
) w`

// addRivals reads more waiting tasks where they may displace running ones.
func (g *allocator) addRivals(ctx context.Context, conn *pgx.Conn, fronts []*front) error {
	var (
		ids, most        []int32
		priorities, last []float64
		arrivals         []int64
		byID             = map[int32]*front{}
	)
	for _, f := range fronts {
		if len(f.slots.running) < f.active || f.whole || len(f.waiting) == 0 || !f.displaces(len(f.waiting)-1) {
			continue
		}
		byID[f.id] = f
		ids = append(ids, f.id)
		priorities = append(priorities, f.slots.floor.priority)
		arrivals = append(arrivals, f.slots.floor.arrival)
		last = append(last, f.slots.running[f.active-1].priority)
		most = append(most, int32(min(f.tryRelease, len(f.slots.running))+len(f.slots.busy)))
	}
	if len(ids) == 0 {
		return nil
	}
	var id int32
	var t slotTask
	more := map[int32][]slotTask{}
	rows, err := conn.Query(ctx, rivalsSQL, ids, priorities, arrivals, last, most)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&id, &t.id, &t.priority, &t.arrival}, func() error {
			more[id] = append(more[id], t)
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("reading better waiting tasks: %w", err)
	}
	for id, tasks := range more {
		f := byID[id]
		f.scanned, f.whole = tasks, false
		f.arrange()
	}
	return nil
}
