package waiting

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Key says what is waited for: messages of a consumer.
type Key struct {
	Queue, Consumer string // as in the tables
	// Selective is set for calls with a condition of their own: what one does not want, another may.
	Selective bool
}

// Lines are those who wait in one database. They are safe for concurrent use.
type Lines struct {
	ring func() // has the Watcher look

	mu    sync.Mutex
	lines map[Key]*line
	idle  int // how many wait, in all lines
	next  uint64
	// version counts what may have changed what there is: signals, and looks of the Watcher.
	version uint64
	// changed says that all lines are to be looked at; else those that are fresh.
	changed bool
	// due is when the Watcher is to look because of what is changed or fresh; zero: nothing is.
	due time.Time
}

const (
	// lateLook is the time from what may have changed something to the look of the Watcher, where those whom it concerns most probably have been woken.
	lateLook = 5 * time.Millisecond
	// slowLook is the time to the next look where some are to be woken later.
	slowLook = 50 * time.Millisecond
	// fewLines is in how many lines the first is woken at once by a transaction that may have posted, without a look of the Watcher.
	fewLines = 8
	// atOnce is how many of a line look for something at once, where there is more: the next is woken by one that has found something. Else
	// they would stand in each other's way. Each look of the Watcher wakes one at least, for those may be slow.
	atOnce = 4
)

// line are those who wait for the same.
type line struct {
	places int      // of all, whether they wait or look
	idle   []*Place // who waits, who has waited longest first
	turns  int      // how many of the others have been woken, and have neither left nor come back
	fresh  bool     // to be looked at, because somebody may have missed something
	owed   bool     // a look has found something for those who have a turn
	served int      // how many of those with a turn have found something since the last look began
	later  int      // how many more are to be woken, one by each that has found something
}

// Place is that of one call in its line, from its first look to its end. Its methods are called one after the other.
type Place struct {
	lines   *Lines
	key     Key
	number  uint64
	version uint64 // before the last look
	woken   bool   // it has a turn
	wake    chan struct{}
}

// NewLines has nobody waiting. ring is called, with no lock held, where the Watcher is to look.
func NewLines(ring func()) *Lines {
	return &Lines{ring: ring, lines: make(map[Key]*line)}
}

// Join takes the last place of the line for key.
func (l *Lines) Join(key Key) *Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.lines[key]
	if of == nil {
		of = &line{}
		l.lines[key] = of
	}
	of.places++
	l.next++
	return &Place{lines: l, key: key, number: l.next, version: l.version, wake: make(chan struct{}, 1)}
}

// Stand has the call stand behind those who wait already, without a look of its own; Await comes next. false: nobody does, or one looks for
// all.
func (p *Place) Stand() bool {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	if p.key.Selective || len(p.lines.lines[p.key].idle) == 0 {
		return false
	}
	p.version = p.lines.version
	return true
}

// Look is called before each look for something.
func (p *Place) Look() {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	p.version = p.lines.version
}

// Await is called when a look has found nothing. It returns when another is worth while, when limit has passed, which over says, or when
// ctx ends.
func (p *Place) Await(ctx context.Context, limit time.Duration) (over bool) {
	if limit <= 0 {
		return true
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	p.enter()
	select {
	case <-p.wake:
		return false
	case <-timer.C:
		over = true
	case <-ctx.Done():
	}
	p.exit()
	return over
}

// enter puts p among those who wait.
func (p *Place) enter() {
	l := p.lines
	if l.enter(p) {
		l.ring()
	}
}

func (l *Lines) enter(p *Place) (ring bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.lines[p.key]
	again := p.version != l.version
	if p.woken {
		p.woken = false
		of.turns--
		if of.later > 0 { // another was faster: how much there is nobody knows
			of.later, again = 0, true
		}
	}
	select {
	case <-p.wake: // from when its time was over at the same moment
	default:
	}
	i, _ := slices.BinarySearchFunc(of.idle, p.number, func(o *Place, n uint64) int { return int(int64(o.number) - int64(n)) })
	of.idle = slices.Insert(of.idle, i, p)
	l.idle++
	if again {
		of.fresh = true
		return l.look(0) || l.idle == 1
	}
	if len(of.idle) == 1 { // when the next delay ends nobody may know
		of.fresh = true
		return l.look(lateLook) || l.idle == 1 // else the Watcher may rest
	}
	return false
}

// look has the Watcher look after a time, or before. ring says that it must be told. l.mu is held.
func (l *Lines) look(after time.Duration) (ring bool) {
	due := time.Now().Add(after)
	if ring = l.due.IsZero() || due.Before(l.due); ring {
		l.due = due
	}
	return ring
}

// exit takes p from those who wait, if nobody has woken it meanwhile.
func (p *Place) exit() {
	l := p.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.lines[p.key]
	if i := slices.Index(of.idle, p); i >= 0 {
		of.idle = slices.Delete(of.idle, i, i+1)
		l.idle--
	}
}

// Leave is called once, when the call is over. served says that it goes on to take what there is: if not, and it has been woken, the next
// in the line has its turn.
func (p *Place) Leave(served bool) {
	if l := p.lines; l.leave(p, served) {
		l.ring()
	}
}

func (l *Lines) leave(p *Place, served bool) (ring bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.lines[p.key]
	if p.woken {
		p.woken = false
		of.turns--
		if served {
			of.served++
			if of.later > 0 {
				of.later--
				l.wake(of, 1)
			}
		}
		if !served {
			l.wake(of, 1)
		} else if of.owed && len(of.idle) > 0 {
			of.owed, of.fresh = false, true // what the look has found may be another's
			ring = l.look(lateLook)
		}
	}
	if of.places--; of.places == 0 {
		delete(l.lines, p.key)
	}
	return ring
}

// wake gives up to n of those who wait in a line their turn. l.mu is held.
func (l *Lines) wake(of *line, n int) {
	n = min(n, len(of.idle))
	for _, p := range of.idle[:max(0, n)] {
		p.woken = true
		of.turns++
		l.idle--
		p.wake <- struct{}{}
	}
	of.idle = slices.Delete(of.idle, 0, max(0, n))
}

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
	l.changed = true
	after := lateLook
	if posted {
		after = l.wakeFirst()
	}
	return l.look(after)
}

// wakeFirst gives the first of each line a turn where nobody has one, if there are few lines. It returns when the Watcher is to look. l.mu is
// held.
func (l *Lines) wakeFirst() (after time.Duration) {
	if len(l.lines) > fewLines {
		return 0
	}
	after = lateLook
	for key, of := range l.lines {
		switch {
		case key.Selective:
			after = 0
		case of.turns == 0:
			l.wake(of, 1)
		}
	}
	return after
}

// Waiting is how many wait.
func (l *Lines) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.idle
}

// wanted is what a line wants to know.
type wanted struct {
	key Key
	n   int // how many wait
}

// found is what is known of a line.
type found struct {
	ready int  // how many messages can be delivered, as far as it matters
	gone  bool // there is no such consumer
}

// ask begins a look: it returns the lines in which somebody waits, all or those that are to be looked at now.
func (l *Lines) ask(all bool) (asked []wanted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !all && (l.due.IsZero() || time.Now().Before(l.due)) {
		return nil
	}
	all = all || l.changed
	l.changed, l.due = false, time.Time{}
	l.version++
	for key, of := range l.lines {
		if len(of.idle) > 0 && (all || of.fresh) {
			of.fresh, of.served = false, 0
			asked = append(asked, wanted{key, len(of.idle) + of.turns})
		}
	}
	return asked
}

// nextLook is when the Watcher is to look; zero: nothing is to be looked at.
func (l *Lines) nextLook() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.due
}

// tell ends a look at a line.
func (l *Lines) tell(a wanted, f found) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.lines[a.key]
	switch {
	case of == nil:
	case f.gone || a.key.Selective && f.ready > 0:
		l.wake(of, len(of.idle))
	default:
		of.owed = of.turns > 0 && (of.owed || f.ready > 0)
		more := max(0, f.ready-of.turns-of.served)
		now := min(more, max(1, atOnce-of.turns))
		l.wake(of, now)
		if of.later = more - now; of.later > 0 { // unless those who are woken are too slow
			of.fresh = true
			l.look(slowLook)
		}
		switch {
		case len(of.idle) == 0:
		case f.ready >= a.n: // they have come since, and there may be more
			of.fresh = true
			l.look(0)
		case f.ready > of.turns && of.served > 0: // what the look has found may be theirs, or not
			of.fresh = true
			l.look(lateLook)
		}
	}
}

// wakeAll has everybody look for himself.
func (l *Lines) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range l.lines {
		l.wake(of, len(of.idle))
	}
}
