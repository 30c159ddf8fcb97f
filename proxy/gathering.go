package proxy

import (
	"sync"
	"time"
)

// longMessages is the memory that all sessions share for long messages that are gathered. Nobody waits for it: a
// message for which there is none passes without being looked at. So that clients which never
// finish a message do not keep it for ever, what was begun long ago is let go when there is too little.
type longMessages struct {
	mu   sync.Mutex
	now  func() time.Time
	free int // bytes
	// holders are those that have some.
	holders map[*longMessage]struct{}
}

const (
	// gatherTotal is the size of a Server's longMessages.
	gatherTotal = 32 << 20
	// gatherStep is how much is taken at a time.
	gatherStep = 64 << 10
	// gatherStale is the age from which on a gathering is let go where others need its memory.
	gatherStale = 5 * time.Second
)

func newLongMessages(size int) *longMessages {
	return &longMessages{now: time.Now, free: size, holders: make(map[*longMessage]struct{})}
}

// share is what the message of one session has of it. wake is called, by another session, when what is gathered is to be
// let go.
func (a *longMessages) share(wake func()) longMessage { return longMessage{all: a, wake: wake} }

// setClock is for tests.
func (a *longMessages) setClock(now func() time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = now
}

// unused is how many bytes nobody has.
func (a *longMessages) unused() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.free
}

// longMessage is what one session has of it.
type longMessage struct {
	all *longMessages // nil: there is no limit
	// wake is called, by another session, when what is gathered is to be let go.
	wake func()

	// The rest is guarded by all.mu.
	n     int // bytes
	since time.Time
	stale bool // it is to be let go
}

// grow makes sure that the session has n bytes; false means that it does not get them.
func (g *longMessage) grow(n int) bool {
	if g.all == nil || n <= g.n { // n is changed only by its session
		return !g.revoked()
	}
	more := n - g.n + gatherStep - 1
	more -= more % gatherStep
	ok, old := g.all.take(g, more)
	if old != nil {
		old.wake()
	}
	return ok
}

// take takes more bytes for g. Where there are too few it returns false, and a gathering to be woken.
func (a *longMessages) take(g *longMessage, more int) (ok bool, old *longMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	switch {
	case g.stale:
		return false, nil
	case more > a.free:
		for h := range a.holders {
			if !h.stale && h != g && now.Sub(h.since) >= gatherStale && (old == nil || h.since.Before(old.since)) {
				old = h
			}
		}
		if old != nil {
			old.stale = true
		}
		return false, old
	}
	if g.n == 0 {
		g.since = now
		a.holders[g] = struct{}{}
	}
	g.n += more
	a.free -= more
	return true, nil
}

// revoked reports that what is gathered is to be let go.
func (g *longMessage) revoked() bool {
	if g.all == nil || g.n == 0 {
		return false
	}
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	return g.stale
}

// release gives back what the session has.
func (g *longMessage) release() {
	if g.n == 0 {
		return
	}
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	g.all.free += g.n
	g.n, g.stale = 0, false
	delete(g.all.holders, g)
}
