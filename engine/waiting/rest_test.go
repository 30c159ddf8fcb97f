package waiting

import (
	"testing"
	"time"
)

// The delay of what was posted before anybody waited in a line is asked for when somebody does, and
// again when it was forgotten because nobody did.
func TestLineIsAskedForItsDelays(t *testing.T) {
	t.Parallel()
	rung := 0
	l := NewLines(func() { rung++ })
	other := l.Join(Key{Queue: "other", Consumer: "c"})
	other.enter()
	l.ask(true)
	rung = 0
	p := l.Join(key)
	p.Look()
	p.enter()
	if asked := l.ask(false); rung != 1 || len(asked) != 1 || asked[0] != (wanted{key, 1}) {
		t.Errorf("rung %d times, asked %v", rung, asked)
	}
	l.tell(key, found{ready: 1})
	l.ask(true) // while nobody waits in the line: what was known of its delays is forgotten
	p.Look()
	p.enter()
	if asked := l.ask(false); len(asked) != 1 {
		t.Errorf("asked %v after a look at the others", asked)
	}
}

// pending reports whether there is something to look at.
func pending(l *Lines) bool {
	how, _, _ := l.pending()
	return how != lookNever
}

// A message that somebody holds wakes one, who finds nothing, and then nobody.
func TestHeldMessageComesToRest(t *testing.T) {
	t.Parallel()
	l := NewLines(func() {})
	one, two := l.Join(key), l.Join(key)
	one.Look()
	two.Look()
	one.enter()
	for i := range 3 {
		asked := l.ask(false)
		if i > 1 {
			if len(asked) > 0 {
				t.Fatalf("asked %v", asked)
			}
			break
		}
		for _, a := range asked {
			l.tell(a.key, found{ready: 1})
		}
		// The one that was woken looks, while the other comes to wait.
		one.Look()
		two.enter()
		one, two = two, one
	}
}

// What falls due between a look of one who has been woken and that of the Watcher, which counts on
// him, is found at the next sweep.
func TestDueDuringLook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		come int // how many come to wait after it was asked for how many messages
	}{"one looks himself": {0}, "one comes": {1}} {
		l := NewLines(func() {})
		p, q := l.Join(key), l.Join(key)
		p.Look()
		p.enter()
		l.ask(true)
		if c.come == 0 {
			p.exit()
			p.Look()
		} else {
			q.Look()
			q.enter()
		}
		l.tell(key, found{ready: 1})
		if c.come == 0 {
			p.enter()
		}
		if pending(l) {
			t.Errorf("%s: it does not rest", name)
		}
		if l.sweep(); !pending(l) {
			t.Errorf("%s: the sweep does not look", name)
		}
		for _, a := range l.ask(false) {
			l.tell(a.key, found{})
		}
		if l.sweep(); pending(l) {
			t.Errorf("%s: the next sweep looks again", name)
		}
	}
}

// A delay that ends has its own line looked at, and no other.
func TestDelayIsOfItsLine(t *testing.T) {
	t.Parallel()
	l := NewLines(func() {})
	waiters(l, key, 1)
	waiters(l, Key{Queue: "other", Consumer: "c"}, 1)
	at := time.Now().Add(time.Hour)
	for _, a := range l.ask(true) {
		f := found{}
		if a.key == key {
			f.delayEnds = at
		}
		l.tell(a.key, f)
	}
	if _, _, ends := l.pending(); !ends.Equal(at) {
		t.Errorf("the first delay ends at %v, not %v", ends, at)
	}
	l.due(at.Add(-time.Nanosecond))
	if asked := l.ask(false); len(asked) != 0 {
		t.Errorf("asked %v before its end", asked)
	}
	l.due(at)
	if asked := l.ask(false); len(asked) != 1 || asked[0].key != key {
		t.Errorf("asked %v at its end", asked)
	}
	l.tell(key, found{})
	if _, _, ends := l.pending(); !ends.IsZero() {
		t.Errorf("a delay that has ended ends again at %v", ends)
	}
}
