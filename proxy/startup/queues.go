package startup

import (
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

// queues are those that wait for a place, by line.
type queues struct {
	lines map[line][]*waiter // in the order in which they came
	from  map[netip.Prefix]int
	count int
	came  uint64
}

func newQueues() queues {
	return queues{lines: make(map[line][]*waiter), from: make(map[netip.Prefix]int)}
}

func (q *queues) add(w *waiter) {
	q.came++
	w.came = q.came
	q.lines[w.line] = append(q.lines[w.line], w)
	q.from[w.origin]++
	q.count++
}

// remove reports whether w was there.
func (q *queues) remove(w *waiter) bool {
	i := slices.Index(q.lines[w.line], w)
	if i >= 0 {
		q.take(w.line, i)
	}
	return i >= 0
}

// take takes out the i-th of a line.
func (q *queues) take(l line, i int) *waiter {
	all := q.lines[l]
	w := all[i]
	if all = slices.Delete(all, i, i+1); len(all) > 0 {
		q.lines[l] = all
	} else {
		delete(q.lines, l)
	}
	thin(q.from, l.origin)
	q.count--
	return w
}

// next takes out the first of the line that is least by compare; of several, of the one whose first came first.
func (q *queues) next(compare func(a, b line) int) *waiter {
	var best *waiter
	for l, all := range q.lines {
		if best == nil {
			best = all[0]
		} else if c := compare(l, best.line); c < 0 || c == 0 && all[0].came < best.came {
			best = all[0]
		}
	}
	return q.take(best.line, 0)
}

// cut takes out the last of the longest line of the origin from which most wait; of several, the one that came last.
func (q *queues) cut() *waiter {
	var worst *waiter
	for l, all := range q.lines {
		last := all[len(all)-1]
		if worst == nil {
			worst = last
			continue
		}
		more := q.from[l.origin] - q.from[worst.origin]
		if more == 0 && l.origin == worst.origin {
			more = len(all) - len(q.lines[worst.line])
		}
		if more > 0 || more == 0 && last.came > worst.came {
			worst = last
		}
	}
	return q.take(worst.line, len(q.lines[worst.line])-1)
}
