package startup

import (
	"cmp"
	"net/netip"
	"slices"
)

// line is what connections have in common that wait one behind the other: their origin, and the name they log in with if
// one has logged in with it from there; all other names share a line, so that making up names is of no use.
type line struct {
	origin netip.Prefix
	name   string
}

// waiter is one that waits for a place.
type waiter struct {
	*Client
	line line
	came uint64     // ascending
	let  chan error // gets one value, and has room for it; nil: the place is taken
}

// queue is one line, in the order in which they came.
type queue struct {
	waiters []*waiter
	turn    uint64 // when it had its last turn, as of queues.turn; at first, when it came to be
}

// queues are those that wait for a place, by line.
type queues struct {
	lines map[line]*queue
	from  map[netip.Prefix]int
	count int
	came  uint64
	turn  uint64 // ascending
}

func newQueues() queues {
	return queues{lines: make(map[line]*queue), from: make(map[netip.Prefix]int)}
}

func (q *queues) add(w *waiter) {
	q.came++
	w.came = q.came
	l := q.lines[w.line]
	if l == nil {
		l = &queue{turn: q.turn}
		q.lines[w.line] = l
	}
	l.waiters = append(l.waiters, w)
	q.from[w.origin]++
	q.count++
}

// remove reports whether w was there.
func (q *queues) remove(w *waiter) bool {
	l := q.lines[w.line]
	if l == nil {
		return false
	}
	i := slices.Index(l.waiters, w)
	if i >= 0 {
		q.take(w.line, i)
	}
	return i >= 0
}

// take takes out the i-th of a line.
func (q *queues) take(l line, i int) *waiter {
	from := q.lines[l]
	w := from.waiters[i]
	if from.waiters = slices.Delete(from.waiters, i, i+1); len(from.waiters) == 0 {
		delete(q.lines, l)
	}
	thin(q.from, l.origin)
	q.count--
	return w
}

// next takes out the first of the line that is least by compare, of those that may; of several, of the one that has waited longest for a turn, so
// that nobody waits behind all of another line; then of the one whose first came first. Nil: none may.
func (q *queues) next(may func(line) bool, compare func(a, b line) int) *waiter {
	var best *waiter
	for l, of := range q.lines {
		if !may(l) {
			continue
		}
		first := of.waiters[0]
		if best == nil || cmp.Or(compare(l, best.line), cmp.Compare(of.turn, q.lines[best.line].turn), cmp.Compare(first.came, best.came)) < 0 {
			best = first
		}
	}
	if best == nil {
		return nil
	}
	q.turn++
	q.lines[best.line].turn = q.turn
	return q.take(best.line, 0)
}

// waiting is how many wait in lines that may.
func (q *queues) waiting(may func(line) bool) int {
	n := 0
	for l, of := range q.lines {
		if may(l) {
			n += len(of.waiters)
		}
	}
	return n
}

// cut takes out the last of the longest line of the origin from which most wait; of several, the one that came last.
func (q *queues) cut() *waiter {
	var worst *waiter
	for l, of := range q.lines {
		last := of.waiters[len(of.waiters)-1]
		if worst == nil {
			worst = last
			continue
		}
		more := q.from[l.origin] - q.from[worst.origin]
		if more == 0 && l.origin == worst.origin {
			more = len(of.waiters) - len(q.lines[worst.line].waiters)
		}
		if more > 0 || more == 0 && last.came > worst.came {
			worst = last
		}
	}
	return q.take(worst.line, len(q.lines[worst.line].waiters)-1)
}
