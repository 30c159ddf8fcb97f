package waiting

import (
	"slices"
	"sync"
	"time"
)

// Key says what is waited for: messages of a consumer, or one message.
type Key struct {
	Queue, Consumer string // as in the tables; "" where Message is waited for as long as any consumer has it
	Message         string // an iid; "": any message
	// Selective is set for calls with a condition of their own: what one does not want, another may.
	Selective bool
}

// Lines are those who wait in one database. They are safe for concurrent use.
type Lines struct {
	ring func() // has the Watcher look

	mu    sync.Mutex
	lines map[Key]*line
	of    byQueue
	idle  int // how many wait, in all lines
	next  uint64
	// version counts what may have changed what there is: signals, and looks of the Watcher at all lines.
	version uint64
	// changed says that the lines of the queues touched are to be looked at, and how soon; else those that are fresh.
	changed urgency
	touched Queues
	since   time.Time // when changed became lookSoon
}

// line are those who wait for the same.
type line struct {
	key    Key
	queue  Queues   // 0: the message may be in any
	places int      // of all, whether they wait or look
	idle   []*Place // who waits, who has waited longest first
	turns  int      // how many of the others have been woken, and have neither left nor come back
	asked  int      // of how many messages the look under way wants to know; 0: there is none
	// served counts those who have left with a message since that look was asked for, up to asked:
	// it may have counted theirs, or not.
	served int
	// owed says that somebody has posted while one of the others had his turn: when he leaves with
	// a message, the next has his at once.
	owed bool
	// vain says that who was woken last has found nothing, and nobody has found anything since: the
	// consumer has a selector, perhaps. A post does not wake its first then, but has it looked at.
	vain bool
	// fresh says that it is to be looked at as soon as somebody waits: somebody may have missed
	// something, or nobody knows when its next delay ends.
	fresh bool
	// again says that it is to be looked at once more at the next sweep: the last look may have
	// found what fell due meanwhile, for those who were looking themselves just before, or who came
	// to wait after it had been asked for how many.
	again bool
	// delayEnds is when the first delay ends of which the last look has told; zero: none does, or nobody knows.
	delayEnds time.Time
}

// Place is that of one call in its line, from its first look to its end. Its methods are called one
// after the other. While it sleeps it takes no goroutine: very many may.
type Place struct {
	lines   *Lines
	line    *line
	number  uint64
	joined  time.Time
	version uint64 // before the last look
	woken   bool   // it has a turn
	stands  bool   // it is among those who wait, and Sleep comes next; only its call looks at that
	over    bool   // the time of its sleep has passed before anybody has woken it
	sleeps  uint32 // how often it has slept
	wake    func() // see Sleep; nil where it has been called, or does not sleep
	timer   *time.Timer
}

// NewLines has nobody waiting. ring is called, with no lock held, where the Watcher is to look.
func NewLines(ring func()) *Lines {
	return &Lines{ring: ring, lines: make(map[Key]*line), of: make(byQueue)}
}

// Join takes the last place of the line for key.
func (l *Lines) Join(key Key) *Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.lines[key]
	if of == nil {
		of = l.begin(key)
	}
	of.places++
	l.next++
	return &Place{lines: l, line: of, number: l.next, joined: time.Now(), version: l.version}
}

// begin makes a line, which is to be looked at. l.mu is held.
func (l *Lines) begin(key Key) *line {
	of := &line{key: key, fresh: true}
	if key.Queue != "" {
		of.queue = QueuesOf(key.Queue)
	}
	l.lines[key] = of
	l.of[of.queue] = append(l.of[of.queue], of)
	return of
}

// end forgets a line. l.mu is held.
func (l *Lines) end(of *line) {
	delete(l.lines, of.key)
	rest := slices.DeleteFunc(l.of[of.queue], func(o *line) bool { return o == of })
	if l.of[of.queue] = rest; len(rest) == 0 {
		delete(l.of, of.queue)
	}
}

// Stand has the call wait behind others who do, without a look of its own; Sleep comes next. false:
// nobody does, or one looks for all.
func (p *Place) Stand() bool {
	l, of := p.lines, p.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if of.key.Selective || len(of.idle) == 0 {
		return false
	}
	p.version, p.stands = l.version, true
	l.queue(p)
	return true
}

// Look is called before each look for something.
func (p *Place) Look() {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	p.version = p.lines.version
}

// Sleep is called when a look has found nothing. wake is called, once, when another is worth while
// or when limit has passed; perhaps before Sleep returns, and with the lock of the Lines held.
// Awake comes next.
func (p *Place) Sleep(limit time.Duration, wake func()) {
	if p.sleep(limit, wake) {
		p.lines.ring()
	}
}

func (p *Place) sleep(limit time.Duration, wake func()) (ring bool) {
	l := p.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	stands := p.stands
	p.stands, p.over = false, limit <= 0
	switch {
	case p.over:
		l.leave(p)
		wake()
		return false
	case stands && p.woken:
		wake()
		return false
	}
	p.wake = wake
	p.sleeps++
	n := p.sleeps
	p.timer = time.AfterFunc(limit, func() { p.timeOut(n) })
	return !stands && l.enter(p)
}

// timeOut is called when the time of sleep n has passed, perhaps when that has ended.
func (p *Place) timeOut(n uint32) {
	l := p.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.wake != nil && p.sleeps == n && l.leave(p) {
		p.over = true
		p.rouse()
	}
}

// rouse calls wake where the place sleeps. Lines.mu is held.
func (p *Place) rouse() {
	if wake := p.wake; wake != nil {
		p.wake = nil
		wake()
	}
}

// Awake ends the sleep, also one of which nobody has been woken. over says that its time has passed.
func (p *Place) Awake() (over bool) {
	l := p.lines
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.wake, p.timer = nil, nil
	l.leave(p)
	return p.over
}

// enter puts p, which may have had a turn, among those who wait. l.mu is held. ring says that the Watcher is to look.
func (l *Lines) enter(p *Place) (ring bool) {
	of := p.line
	if p.woken {
		p.woken, of.vain = false, true
		of.turns--
	}
	l.queue(p)
	if p.version != l.version {
		of.fresh = true
	}
	return of.fresh || l.idle == 1
}

// queue puts p among those who wait in its line. l.mu is held.
func (l *Lines) queue(p *Place) {
	of := p.line
	i, _ := slices.BinarySearchFunc(of.idle, p.number, func(o *Place, n uint64) int { return int(int64(o.number) - int64(n)) })
	of.idle = slices.Insert(of.idle, i, p)
	l.idle++
}

// leave takes p from those who wait; false: it is not among them, for somebody has woken it. l.mu is held.
func (l *Lines) leave(p *Place) bool {
	i := slices.Index(p.line.idle, p)
	if i < 0 {
		return false
	}
	p.line.idle = slices.Delete(p.line.idle, i, i+1)
	l.idle--
	return true
}

// Leave is called once, when the call is over, and sleeps no more. served says that it goes on to
// take what there is: if not, and it has been woken, the next in the line has its turn.
func (p *Place) Leave(served bool) {
	l, of := p.lines, p.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.stands {
		p.stands = false
		l.leave(p)
	}
	if served {
		of.vain = false
		of.served = min(of.served+1, of.asked)
	}
	if p.woken {
		p.woken = false
		of.turns--
		if !served || of.owed {
			of.owed = of.owed && !served
			l.wake(of, 1)
		}
	}
	if of.places--; of.places == 0 {
		l.end(of)
	}
}

// wake gives up to n of those who wait in a line their turn. l.mu is held.
func (l *Lines) wake(of *line, n int) {
	n = min(n, len(of.idle))
	for _, p := range of.idle[:max(0, n)] {
		p.woken = true
		of.turns++
		l.idle--
		p.rouse()
	}
	of.idle = slices.Delete(of.idle, 0, max(0, n))
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
	ready     int       // how many messages can be delivered, as far as it matters
	gone      bool      // there is no such consumer
	delayEnds time.Time // when the first delay ends; zero: none does
}

// ask begins a look: it returns the lines in which somebody waits, all or those that are to be
// looked at now. What is known of the delays of those of them in which nobody waits is forgotten:
// they are looked at when somebody does.
func (l *Lines) ask(all bool) (asked []wanted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if all {
		l.version++
	}
	touched, changed := l.touched, all || l.changed != lookNever
	if all {
		touched = AnyQueue
	}
	l.changed, l.touched = lookNever, 0
	for key, of := range l.lines {
		if of.fresh = of.fresh || changed && touched.has(of.queue); of.fresh && len(of.idle) > 0 {
			of.fresh, of.again, of.asked, of.served, of.owed = false, false, len(of.idle)+of.turns, 0, false
			of.delayEnds = time.Time{}
			asked = append(asked, wanted{key, of.asked})
		}
	}
	return asked
}

// due is called before ask: lines in which a delay has ended are to be looked at.
func (l *Lines) due(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ended := false
	for _, of := range l.lines {
		if !of.delayEnds.IsZero() && !now.Before(of.delayEnds) {
			of.delayEnds, of.fresh, ended = time.Time{}, true, true
		}
	}
	if ended {
		l.version++
	}
}

// sweep is called at each sweep, before ask.
func (l *Lines) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range l.lines {
		of.fresh = of.fresh || of.again
	}
}

// tell ends a look at a line.
func (l *Lines) tell(key Key, f found) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.lines[key]
	if of == nil {
		return
	}
	of.delayEnds = f.delayEnds
	of.again = f.ready > 0 && (of.places > len(of.idle) || f.ready == of.asked && of.places > of.asked)
	switch {
	case f.gone || key.Selective && f.ready > 0:
		l.wake(of, len(of.idle))
	default:
		more := f.ready - of.turns
		l.wake(of, more-of.served)
		if more > 0 && of.served > 0 && len(of.idle) > 0 {
			l.hurry(lookLater, of.queue) // where it has counted none of those messages, there is more
		}
	}
	of.asked, of.served = 0, 0
}

// wakeAll has everybody look for himself.
func (l *Lines) wakeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range l.lines {
		of.asked, of.served = 0, 0
		l.wake(of, len(of.idle))
	}
}
