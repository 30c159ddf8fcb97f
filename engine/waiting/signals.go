package waiting

import "time"

// urgency says how soon the Watcher is to look at all lines.
type urgency uint8

const (
	lookNever urgency = iota
	// lookLater: those who have ended were not likely to have posted, and have given something back at most.
	lookLater
	// lookSoon: in each line in which somebody waits one has been woken, so that a look is for messages beyond the first.
	lookSoon
	// lookNow: somebody may wait for what was posted.
	lookNow
)

// fewLines is in how many lines the first is woken at once by a transaction that may have posted, without a look of the Watcher.
const fewLines = 8

// Signal tells that something may have changed what there is, posted that it is likely that there is more.
func (l *Lines) Signal(posted bool) {
	if l.signal(posted) {
		l.ring()
	}
}

func (l *Lines) signal(posted bool) (ring bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.version++; l.idle == 0 {
		return false
	}
	switch {
	case !posted:
		return l.hurry(lookLater)
	case len(l.lines) <= fewLines && l.wakeFirst():
		return l.hurry(lookSoon)
	}
	return l.hurry(lookNow)
}

// hurry has the Watcher look as soon as that at least. l.mu is held. ring says that he does not know.
func (l *Lines) hurry(to urgency) (ring bool) {
	if to <= l.changed {
		return false
	}
	if l.changed = to; to == lookSoon {
		l.since = time.Now()
	}
	return true
}

// wakeFirst gives the first of each line a turn where nobody has one. l.mu is held. all says that there is no line left in which somebody waits and
// nobody has a turn.
func (l *Lines) wakeFirst() (all bool) {
	all = true
	for key, of := range l.lines {
		switch {
		case len(of.idle) == 0:
		case key.Selective:
			all = false
		case of.turns == 0:
			l.wake(of, 1)
		default:
			of.owed = true
		}
	}
	return all
}

// pending says how soon there is something to look at, and since when that is so where it is lookSoon.
func (l *Lines) pending() (how urgency, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range l.lines {
		if of.fresh && len(of.idle) > 0 {
			return lookNow, l.since
		}
	}
	return l.changed, l.since
}
