package semaphore

import (
	"cmp"
	"math"
	"slices"
)

// place is where a task stands among those of its semaphore.
type place struct {
	priority float64
	arrival  int64
}

// firstPlace stands before every task, lastPlace behind.
var (
	firstPlace = place{math.Inf(1), math.MinInt64}
	lastPlace  = place{math.Inf(-1), math.MaxInt64}
)

// compare is negative when p comes first: the greater priority, of equal ones the earlier arrival.
func (p place) compare(q place) int {
	switch {
	case p.priority > q.priority:
		return -1
	case p.priority < q.priority:
		return 1
	case p.arrival < q.arrival:
		return -1
	case p.arrival > q.arrival:
		return 1
	}
	return 0
}

// slotTask is a task as the allocator knows it.
type slotTask struct {
	id int64
	place
	asked bool // it is TRY_RELEASE
}

func (t slotTask) compare(u slotTask) int {
	if c := t.place.compare(u.place); c != 0 {
		return c
	}
	return cmp.Compare(t.id, u.id) // rows written by hand may share an arrival, and have any number
}

// slots is what the allocator remembers of one semaphore.
type slots struct {
	running []slotTask      // all that are ACQUIRED or TRY_RELEASE, in order
	places  map[int64]place // of those, by task
	// floor is the place where the scan for waiting tasks starts. Waiting tasks before it are in
	// fresh, or in changes not read yet. They are remembered, not searched for: starting at an
	// earlier place would walk the dead index entries of all tasks granted since, which an old
	// snapshot keeps.
	floor place
	fresh map[int64]place // tasks before floor that wait, or did
	busy  map[int64]bool  // tasks whose rows others had locked in the last turn
}

func newSlots() *slots {
	return &slots{places: map[int64]place{}, floor: firstPlace, fresh: map[int64]place{}}
}

// wait notes that a task waits.
func (s *slots) wait(id int64, at place) {
	delete(s.fresh, id)
	if at.compare(s.floor) >= 0 {
		return
	}
	s.fresh[id] = at
	if len(s.fresh) > mostFresh {
		first := at
		for _, p := range s.fresh {
			if p.compare(first) < 0 {
				first = p
			}
		}
		s.startAt(first)
	}
}

// startAt moves floor to an earlier place, because a task waits there, and forgets the fresh tasks that the scan now
// finds. It does nothing where floor is no later already.
func (s *slots) startAt(from place) {
	if from.compare(s.floor) >= 0 {
		return
	}
	s.floor = from
	for id, at := range s.fresh {
		if at.compare(from) >= 0 {
			delete(s.fresh, id)
		}
	}
}

// put notes that a task runs.
func (s *slots) put(t slotTask) {
	s.remove(t.id)
	delete(s.fresh, t.id)
	i, _ := slices.BinarySearchFunc(s.running, t, slotTask.compare)
	s.running = slices.Insert(s.running, i, t)
	s.places[t.id] = t.place
}

// remove notes that a task does not run.
func (s *slots) remove(id int64) {
	at, ok := s.places[id]
	if !ok {
		return
	}
	i, found := slices.BinarySearchFunc(s.running, slotTask{id: id, place: at}, slotTask.compare)
	if !found {
		panic("semaphore slots out of order")
	}
	s.running = slices.Delete(s.running, i, i+1)
	delete(s.places, id)
}

// decide gives the tasks that get a slot, or else those that are asked to leave theirs. Both lists are
// in order, best first; waiting must hold at least the tasks that could get a slot, and where there is
// none, those with a greater priority than the last running one.
//
//   - A free slot goes to the first task that waits. While there are too many running nothing is granted.
//   - As many as are too many are asked to leave, from the tail.
//   - One more is asked for each waiting task of a greater priority than that one's, but none of the first
//     active - tryRelease. Equal priorities displace nobody.
//   - A task that was asked before, or whose row is locked, is not asked again and counts as leaving, unless it has a slot
//     within active and its priority is now at least that of the first waiting task.
func decide(active, tryRelease int, running, waiting []slotTask, busy map[int64]bool) (grant, ask []slotTask) {
	if free := active - len(running); free > 0 {
		return waiting[:min(free, len(waiting))], nil
	}
	first := max(0, active-tryRelease) // of those who may be displaced
	rivals := 0
	for i := active - 1; i >= first && rivals < len(waiting) && waiting[rivals].priority > running[i].priority; i-- {
		rivals++
	}
	wanted := len(running) - active + rivals
	for i, t := range running {
		// Whoever has locked a running task's row is most likely releasing it.
		if (t.asked || busy[t.id]) && (i >= active || len(waiting) > 0 && t.priority < waiting[0].priority) {
			wanted--
		}
	}
	for i := len(running) - 1; i >= first && wanted > 0; i-- {
		if t := running[i]; !t.asked && !busy[t.id] {
			ask = append(ask, t)
			wanted--
		}
	}
	return nil, ask
}
