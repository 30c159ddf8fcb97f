package waiting

import (
	"testing"
	"time"
)

// waiters are n who have looked, and wait in the line.
func waiters(l *Lines, of Key, n int) []*Place {
	places := make([]*Place, n)
	for i := range places {
		places[i] = l.Join(of)
		places[i].Look()
		places[i].enter()
	}
	return places
}

// A look does not wake anybody for messages with which others have left meanwhile, and looks once
// more where it has perhaps counted none of them.
func TestServedDuringLook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ready, woken int
		again        urgency
	}{
		"it has counted theirs": {1, 0, lookLater},
		"there is more":         {2, 1, lookLater},
		"there is for all":      {4, 3, lookNever},
		"there is nothing":      {0, 0, lookNever},
	} {
		l := NewLines(func() {})
		taker, places := l.Join(key), waiters(l, key, 3)
		l.ask(true)
		taker.Leave(true)
		l.tell(key, found{ready: c.ready})
		woken := 0
		for _, p := range places {
			if p.woken {
				woken++
			}
		}
		if how, _, _ := l.pending(); woken != c.woken || how != c.again {
			t.Errorf("%s: %d woken, and a look %d", name, woken, how)
		}
	}
}

// A post that a consumer does not want wakes the first of its line once, and those that follow have the line looked at, until somebody has found
// something.
func TestPostInVain(t *testing.T) {
	t.Parallel()
	l := NewLines(func() {})
	p := waiters(l, key, 1)[0]
	l.ask(true)
	l.tell(key, found{})
	l.Signal(AnyQueue, true)
	if !p.woken {
		t.Fatal("not woken by the first post")
	}
	p.Look()
	p.enter() // it has found nothing
	l.Signal(AnyQueue, true)
	if how, _, _ := l.pending(); p.woken || how != lookNow {
		t.Errorf("woken by the second post: %v, a look %d", p.woken, how)
	}
	if asked := l.ask(false); len(asked) != 1 {
		t.Errorf("asked %v", asked)
	}
	l.tell(key, found{ready: 1})
	if !p.woken {
		t.Fatal("not woken for what the look has found")
	}
	next := waiters(l, key, 1)[0]
	p.Leave(true)
	l.ask(true)
	l.tell(key, found{})
	if l.Signal(AnyQueue, true); !next.woken {
		t.Error("not woken by a post after somebody has found something")
	}
}

// A post while the first has his turn wakes the next when that has a message, and nobody when he
// has none: then the look does.
func TestPostDuringTurn(t *testing.T) {
	t.Parallel()
	for name, served := range map[string]bool{"served": true, "not served": false} {
		l := NewLines(func() {})
		places := waiters(l, key, 3)
		l.Signal(AnyQueue, true)
		l.Signal(AnyQueue, true)
		if !places[0].woken || places[1].woken {
			t.Errorf("%s: two posts wake not the first alone", name)
		}
		places[0].Leave(served)
		if !places[1].woken || places[2].woken {
			t.Errorf("%s: the turn does not go to the second alone", name)
		}
		places[1].Leave(true)
		if places[2].woken == served {
			t.Errorf("%s: the third is woken: %v", name, places[2].woken)
		}
	}
}

// How soon a look comes, and who is told of it.
func TestUrgency(t *testing.T) {
	t.Parallel()
	rung := 0
	l := NewLines(func() { rung++ })
	waiters(l, key, 2)
	l.ask(true)
	want := func(how urgency, rings int) {
		t.Helper()
		if got, _, _ := l.pending(); got != how || rung != rings {
			t.Errorf("a look %d, rung %d times; want %d, %d", got, rung, how, rings)
		}
	}
	rung = 0
	want(lookNever, 0)
	l.Signal(AnyQueue, false)
	l.Signal(AnyQueue, false)
	want(lookLater, 1)
	before := time.Now()
	l.Signal(AnyQueue, true)
	l.Signal(AnyQueue, true)
	want(lookSoon, 2)
	if _, since, _ := l.pending(); since.Before(before) {
		t.Error("since when is not known")
	}
	waiters(l, Key{Queue: "other", Selective: true}, 1)
	l.ask(true)
	rung = 0
	l.Signal(AnyQueue, true)
	want(lookNow, 1)
}
