package waiting

import "time"

// urgency says how soon the Watcher is to look at the lines that have been touched.
type urgency uint8

const (
	lookNever urgency = iota
	// lookLater: those who have ended were not likely to have posted, and have given something back at most.
	lookLater
	// lookSoon: in each line in which somebody waits one has been woken, so that a look is for
	// messages beyond the first.
	lookSoon
	// lookNow: somebody may wait for what was posted.
	lookNow
)

// fewLines is in how many lines of the queues that it may have posted to the first is woken at once
// by a transaction, without a look of the Watcher.
const fewLines = 8

// Signal tells that something may have changed what there is in those queues, posted that it is
// likely that there is more.
func (l *Lines) Signal(queues Queues, posted bool) {
	if l.signal(queues, posted) {
		l.ring()
	}
}

func (l *Lines) signal(queues Queues, posted bool) (ring bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.touch(queues)
	switch {
	case n == 0:
		return false
	case !posted:
		return l.hurry(lookLater, queues)
	case n <= fewLines && l.wakeFirst(queues):
		return l.hurry(lookSoon, queues)
	}
	return l.hurry(lookNow, queues)
}

// told tells that another proxy has told of a change in those queues. The Watcher, who tells it, looks.
func (l *Lines) told(queues Queues) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.touch(queues) > 0 {
		l.hurry(lookNow, queues)
	}
}

// touch notes that there has been a change in those queues, and tells in how many lines somebody
// waits whom it may concern. l.mu is held.
func (l *Lines) touch(queues Queues) (lines int) {
	if queues == 0 {
		return 0
	}
	if l.version++; l.idle == 0 {
		return 0
	}
	for of := range l.of.among(queues) {
		if len(of.idle) > 0 {
			lines++
		}
	}
	return lines
}

// hurry has the Watcher look at the lines of those queues as soon as that at least. l.mu is held.
// ring says that he does not know.
func (l *Lines) hurry(to urgency, queues Queues) (ring bool) {
	l.touched |= queues
	if to <= l.changed {
		return false
	}
	if l.changed = to; to == lookSoon {
		l.since = time.Now()
	}
	return true
}

// wakeFirst gives the first of each line of those queues a turn where nobody has one, and it is
// likely that he finds something. l.mu is held. all says that there is no line of them left in which
// somebody waits and nobody has a turn.
func (l *Lines) wakeFirst(queues Queues) (all bool) {
	all = true
	for of := range l.of.among(queues) {
		switch {
		case len(of.idle) == 0:
		case of.key.Selective || of.vain:
			all = false
		case of.turns == 0:
			l.wake(of, 1)
		default:
			of.owed = true
		}
	}
	return all
}

// pending says how soon there is something to look at, since when that is so where it is lookSoon,
// and when the first delay ends for which somebody waits; zero: none is known.
func (l *Lines) pending() (how urgency, since, delayEnds time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	how = l.changed
	for _, of := range l.lines {
		if len(of.idle) == 0 {
			continue
		}
		if of.fresh {
			how = lookNow
		}
		if !of.delayEnds.IsZero() && (delayEnds.IsZero() || of.delayEnds.Before(delayEnds)) {
			delayEnds = of.delayEnds
		}
	}
	return how, l.since, delayEnds
}
