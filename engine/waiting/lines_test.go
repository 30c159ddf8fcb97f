package waiting

import (
	"context"
	"sync"
	"testing"
	"time"
)

var key = Key{Queue: "q", Consumer: "c"}

// waiter is a Place whose Await runs.
type waiter struct {
	*Place
	stop context.CancelFunc
	over chan bool // what Await returned
}

// Await sleeps until the place is woken, or its time has passed, or ctx ends.
func (p *Place) Await(ctx context.Context, limit time.Duration) (over bool) {
	turn := make(chan struct{}, 1)
	p.Sleep(limit, func() { turn <- struct{}{} })
	select {
	case <-turn:
	case <-ctx.Done():
	}
	return p.Awake()
}

// enter puts a place among those who wait, and exit takes it from them, as Sleep and Awake do.
func (p *Place) enter() {
	p.lines.mu.Lock()
	ring := p.lines.enter(p)
	p.lines.mu.Unlock()
	if ring {
		p.lines.ring()
	}
}

func (p *Place) exit() {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	p.lines.leave(p)
}

// startWaiting has a place wait, and returns when it does.
func startWaiting(t *testing.T, l *Lines, p *Place) *waiter {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w := &waiter{p, stop, make(chan bool, 1)}
	before, stands := l.Waiting(), p.stands
	go func() { w.over <- p.Await(ctx, time.Hour) }()
	for !stands && l.Waiting() == before {
		time.Sleep(time.Millisecond) // there is nothing that tells
	}
	return w
}

// woken reports whether Await has returned, or is about to.
func (w *waiter) woken() bool {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	return w.Place.woken
}

func TestOneMessageWakesTheFirst(t *testing.T) {
	t.Parallel()
	l := NewLines(func() {})
	var line []*waiter
	for range 3 {
		line = append(line, startWaiting(t, l, l.Join(key)))
	}
	asked := l.ask(true)
	if len(asked) != 1 || asked[0] != (wanted{key, 3}) {
		t.Fatalf("asked %v", asked)
	}
	l.tell(key, found{ready: 1})
	if over := <-line[0].over; over || line[1].woken() || line[2].woken() {
		t.Error("not the first, or more than one")
	}
	// The message that is on its way to the first is still counted.
	l.tell(key, found{ready: 1})
	if line[1].woken() {
		t.Error("one message has woken two")
	}
	l.tell(key, found{ready: 2})
	<-line[1].over
	// The first has found nothing: it is the first again.
	line[0].Look()
	line[0] = startWaiting(t, l, line[0].Place)
	l.tell(key, found{ready: 2})
	<-line[0].over
	// Who leaves without having been served hands his turn on.
	line[1].Leave(false)
	<-line[2].over
	line[0].Leave(true)
	line[2].Leave(true)
	if len(l.lines) != 0 || l.idle != 0 {
		t.Errorf("left %v, %d", l.lines, l.idle)
	}
}

func TestNothingIsMissedBetweenLookAndWait(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	rung := 0
	l := NewLines(func() { mu.Lock(); rung++; mu.Unlock() })
	first := startWaiting(t, l, l.Join(key))
	l.ask(true)
	if pending(l) {
		t.Fatal("something is pending though nothing has changed")
	}
	for name, change := range map[string]func(){
		"signal": func() { l.Signal(AnyQueue, false); l.ask(false) }, // and the look that follows it comes before the place waits
		"look":   func() { l.ask(true) },
	} {
		p := l.Join(key)
		p.Look()
		change()
		w := startWaiting(t, l, p)
		if asked := l.ask(false); len(asked) != 1 { // at once
			t.Errorf("%s: the line is not looked at again", name)
		}
		w.stop()
		if over := <-w.over; over {
			t.Errorf("%s: over", name)
		}
		w.Leave(false)
	}
	p := l.Join(key)
	p.Look()
	w := startWaiting(t, l, p)
	if asked := l.ask(false); len(asked) != 0 {
		t.Error("the line is looked at though nothing has changed")
	}
	w.stop()
	first.stop()
	<-w.over
	<-first.over
	w.Leave(false)
	first.Leave(false)
}

func TestSelectiveAndGoneWakeAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key Key
		f   found
	}{"selective": {Key{Queue: "q", Consumer: "c", Selective: true}, found{ready: 1}}, "gone": {key, found{gone: true}}} {
		l := NewLines(func() {})
		one, two := startWaiting(t, l, l.Join(c.key)), startWaiting(t, l, l.Join(c.key))
		l.tell(c.key, c.f)
		if <-one.over || <-two.over {
			t.Errorf("%s: over", name)
		}
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	l := NewLines(func() {})
	p := l.Join(key)
	if !p.Await(t.Context(), 0) || !p.Await(t.Context(), time.Millisecond) {
		t.Error("not over")
	}
	if l.Waiting() != 0 {
		t.Error("it is still among those who wait")
	}
	// The time of a sleep that has ended is none of the next.
	w := startWaiting(t, l, p)
	l.wakeAll()
	<-w.over
	w = startWaiting(t, l, p)
	p.timeOut(p.sleeps - 1)
	if l.Waiting() != 1 {
		t.Error("woken by what was left over")
	}
	p.timeOut(p.sleeps)
	if !<-w.over {
		t.Error("its time has passed unnoticed")
	}
	p.timeOut(p.sleeps)
	p.Leave(false)
}

// Many who wait, leave and are woken at once: nobody is left behind, and every turn is given to somebody.
func TestLinesAtOnce(t *testing.T) {
	t.Parallel()
	l := NewLines(func() {})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 60 {
				p := l.Join(Key{Queue: "q", Consumer: string(rune('a' + n%3)), Selective: n%5 == 0})
				p.Look()
				for !p.Await(t.Context(), time.Duration(1+(n+i)%3)*100*time.Microsecond) {
				}
				p.Leave(n%2 == 0)
			}
		})
	}
	stop := make(chan struct{})
	var told sync.WaitGroup
	told.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			l.Signal(AnyQueue, true)
			for _, a := range l.ask(false) {
				l.tell(a.key, found{ready: 2})
			}
		}
	})
	all.Wait()
	close(stop)
	told.Wait()
	if len(l.lines) != 0 || l.idle != 0 {
		t.Errorf("left %v, %d", l.lines, l.idle)
	}
}

// A transaction that has posted wakes the first of each line at once, unless one of it has a turn
// already, or there are many lines.
func TestPostWakesTheFirst(t *testing.T) {
	t.Parallel()
	l := NewLines(func() {})
	other := Key{Queue: "r", Consumer: "c"}
	one, two, three := startWaiting(t, l, l.Join(key)), startWaiting(t, l, l.Join(key)), startWaiting(t, l, l.Join(other))
	l.Signal(AnyQueue, false)
	if one.woken() || two.woken() || three.woken() {
		t.Error("woken by what posts nothing")
	}
	l.Signal(AnyQueue, true)
	if over := <-one.over; over || two.woken() {
		t.Error("not the first, or more than one")
	}
	<-three.over
	l.Signal(AnyQueue, true)
	if two.woken() {
		t.Error("woken although another has the turn")
	}
	if !pending(l) {
		t.Error("no look is to come")
	}
	one.Look()
	one = startWaiting(t, l, one.Place)
	for i := range fewLines {
		startWaiting(t, l, l.Join(Key{Queue: "q", Consumer: string(rune('0' + i))}))
	}
	l.Signal(AnyQueue, true)
	if one.woken() {
		t.Error("woken though there are many lines")
	}
	if asked := l.ask(false); len(asked) != 1+fewLines {
		t.Errorf("looks at %v", asked)
	}
}

// Who stands behind others waits with them; who would be the first, or looks for something of its own, has to look.
func TestStand(t *testing.T) {
	t.Parallel()
	l := NewLines(func() {})
	place := l.Join(key)
	if place.Stand() {
		t.Fatal("it stands behind nobody")
	}
	first, late := startWaiting(t, l, place), l.Join(key)
	if !late.Stand() {
		t.Fatal("it does not stand behind another")
	}
	last := startWaiting(t, l, late)
	l.tell(key, found{ready: 1})
	<-first.over
	if last.woken() {
		t.Error("one message has woken two")
	}
	l.tell(key, found{ready: 2})
	<-last.over
	first.Leave(true)
	last.Leave(true)
	// Who leaves or has no time leaves the line, too.
	for _, leave := range []func(*Place){func(p *Place) { p.Leave(false) }, func(p *Place) {
		if !p.Await(t.Context(), 0) {
			t.Error("it is not over")
		}
		p.Leave(true)
	}} {
		other := startWaiting(t, l, l.Join(key))
		p := l.Join(key)
		if !p.Stand() || l.Waiting() != 2 {
			t.Fatal("it does not stand behind another")
		}
		leave(p)
		if l.Waiting() != 1 {
			t.Errorf("%d wait", l.Waiting())
		}
		l.tell(key, found{ready: 2})
		<-other.over
		other.Leave(true)
	}
	selective := Key{Queue: "q", Consumer: "c", Selective: true}
	startWaiting(t, l, l.Join(selective))
	if l.Join(selective).Stand() {
		t.Error("one that looks for something of its own stands behind another")
	}
}
