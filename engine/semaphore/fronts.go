package semaphore

import (
	"context"
	"fmt"
	"slices"
	"time"

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
	waiting    []slotTask     // fresh and scanned in order, without those that have a slot now and those whose rows were locked in this turn or the last one
	whole      bool           // scanned holds all waiting tasks from the floor on
	chosen     []int64        // tasks that were first in the order where a slot was free, when the front was read
	granted    int            // how many of those have got it
	given      int            // how many of waiting get a slot beyond those
	refused    map[int64]bool // tasks whose rows were locked, or gone, in this turn
	skipped    bool           // the semaphore's own row was locked or has changed, so nothing was done
}

// refuse notes that a task's row was locked, or gone.
func (f *front) refuse(task int64) {
	if f.refused == nil {
		f.refused = map[int64]bool{}
	}
	f.refused[task] = true
}

// arrange puts the waiting tasks together and takes out those that were locked, and those that have a slot.
func (f *front) arrange() {
	slices.SortFunc(f.scanned, slotTask.compare)
	f.waiting = append(slices.Clone(f.fresh), f.scanned...)
	slices.SortFunc(f.waiting, slotTask.compare)
	f.waiting = slices.Compact(f.waiting) // a fresh one may have moved behind the floor
	f.waiting = slices.DeleteFunc(f.waiting, func(t slotTask) bool {
		_, runs := f.slots.places[t.id]
		return runs || f.slots.busy[t.id] || f.refused[t.id]
	})
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

// Here, in give.sql and in rivalsSQL semaphore_id is compared negated, as it stands in the indexes
// semaphore_task_running and semaphore_task_wait: so the planner cannot choose the primary key, by
// which it would read all tasks of a semaphore.
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
			g.size += slotsSize
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

// frontArgs are the parameters of the statements front and fresh.
type frontArgs struct {
	ids                 []int32
	priorities          []float64
	arrivals            []int64
	running, more, room []int32
	most                int

	freshOf, freshRunning, freshRoom []int32
	fresh                            []int64
}

// of gives the one of the two statements that there is something to do for, with its parameters.
func (a *frontArgs) of(sql statements) (text string, args []any) {
	args = []any{a.ids, a.priorities, a.arrivals, a.running, a.more, a.room, a.most}
	if len(a.fresh) == 0 {
		return sql.front, args
	}
	return sql.fresh, append(args, a.freshOf, a.fresh, a.freshRunning, a.freshRoom)
}

// add has the statement look at a semaphore, and grant room slots at most.
func (a *frontArgs) add(id int32, s *slots, room int) {
	if len(s.busy) > 0 {
		room = 0 // who was locked is left out
	}
	running := int32(len(s.running))
	a.ids = append(a.ids, id)
	a.priorities = append(a.priorities, s.floor.priority)
	a.arrivals = append(a.arrivals, s.floor.arrival)
	a.running = append(a.running, running)
	a.more = append(a.more, int32(len(s.busy)+1))
	a.room = append(a.room, int32(room))
	for task := range s.fresh {
		a.freshOf, a.fresh = append(a.freshOf, id), append(a.fresh, task)
		a.freshRunning, a.freshRoom = append(a.freshRunning, running), append(a.freshRoom, int32(room))
	}
}

// fronts reads the limits and the first waiting tasks of semaphores that are loaded, and grants what is free.
func (g *allocator) fronts(ctx context.Context, conn *pgx.Conn, ids []int32, out *turned) ([]*front, error) {
	args := frontArgs{most: max(10, 2*turnGrants/len(ids))}
	for _, id := range ids {
		s := g.known[id]
		args.add(id, s, min(max(turnGrants/len(ids), 1), max(mostRunning-len(s.running), 0)))
		clear(s.fresh) // until they are found again
	}
	found := make(map[int32]*front, len(ids))
	granted := map[*front][]slotTask{}
	locked := map[int32]bool{}
	var kind int
	var id, active, leave int32
	var t slotTask
	sql, values := args.of(g.filled())
	rows, err := conn.Query(ctx, sql, values...)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&kind, &id, &active, &leave, &t.id, &t.priority, &t.arrival}, func() error {
			f := found[id]
			if f == nil {
				f = &front{id: id, slots: g.known[id]}
				found[id] = f
			}
			switch kind {
			case rowLimit:
				f.active, f.tryRelease = int(active), int(leave)
			case rowScanned:
				f.scanned = append(f.scanned, t)
			case rowFresh:
				f.fresh = append(f.fresh, t)
				f.slots.wait(t.id, t.place)
			case rowChosen:
				f.chosen = append(f.chosen, t.id)
			case rowLocked:
				f.chosen = append(f.chosen, t.id)
				locked[id] = true
			case rowGranted:
				granted[f] = append(granted[f], t)
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("reading waiting tasks, and granting slots: %w", err)
	}
	now := time.Now()
	fronts := make([]*front, 0, len(found))
	for _, id := range ids {
		f := found[id]
		if f == nil {
			delete(g.known, id) // the semaphore was deleted
			continue
		}
		f.whole = len(f.scanned) < min(max(f.active-len(f.slots.running), 0), args.most)+len(f.slots.busy)+1
		g.settleGrants(f, granted[f], locked[id])
		out.Granted += f.granted
		for range f.granted {
			g.noteGrant(id, now, out)
		}
		f.arrange()
		fronts = append(fronts, f)
	}
	return fronts, nil
}

// settleGrants notes who of those that were chosen has got a slot.
func (g *allocator) settleGrants(f *front, granted []slotTask, locked bool) {
	for _, t := range granted {
		f.slots.put(t)
	}
	f.granted = len(granted)
	g.size += f.granted
	f.skipped = len(f.chosen) > 0 && !locked
	for _, task := range f.chosen {
		if _, runs := f.slots.places[task]; !runs && !f.skipped {
			f.refuse(task)
		}
	}
	if f.granted > 0 {
		g.quietFrom = time.Now()
	}
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
		if f.skipped || len(f.slots.running) < f.active || f.whole || len(f.waiting) == 0 || !f.displaces(len(f.waiting)-1) {
			continue
		}
		byID[f.id] = f
		ids = append(ids, f.id)
		priorities = append(priorities, f.slots.floor.priority)
		arrivals = append(arrivals, f.slots.floor.arrival)
		last = append(last, f.slots.running[f.active-1].priority)
		most = append(most, int32(min(f.tryRelease, len(f.slots.running))+len(f.slots.busy)+len(f.refused)))
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
