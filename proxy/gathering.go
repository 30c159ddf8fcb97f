package proxy

import (
	"sync"
	"time"
)

// gatherings is the memory that all sessions share for long messages that are gathered. Nobody waits for it: a
// message for which there is none passes without being looked at. So that clients which never
// finish a message do not keep it for ever, what was begun long ago is let go when there is too little.
type gatherings struct {
	now func() time.Time

	mu   sync.Mutex
	free int // bytes
	// holders are those that have some.
	holders map[*gathering]struct{}
}

const (
	// gatherTotal is the size of a Server's gatherings.
	gatherTotal = 32 << 20
	// gatherStep is how much is taken at a time.
	gatherStep = 64 << 10
	// gatherStale is the age from which on a gathering is let go where others need its memory.
	gatherStale = 5 * time.Second
)

func newGatherings(size int) *gatherings {
	return &gatherings{now: time.Now, free: size, holders: make(map[*gathering]struct{})}
}

// gathering is what one session has of it.
type gathering struct {
	all *gatherings // nil: there is no limit
	// wake is called, by another session, when what is gathered is to be let go.
	wake func()

	// The rest is guarded by all.mu.
	n     int // bytes
	since time.Time
	stale bool // it is to be let go
}

// grow makes sure that the session has n bytes; false means that it does not get them.
func (g *gathering) grow(n int) bool {
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
func (a *gatherings) take(g *gathering, more int) (ok bool, old *gathering) {
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
func (g *gathering) revoked() bool {
	if g.all == nil || g.n == 0 {
		return false
	}
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	return g.stale
}

// release gives back what the session has.
func (g *gathering) release() {
	if g.n == 0 {
		return
	}
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	g.all.free += g.n
	g.n, g.stale = 0, false
	delete(g.all.holders, g)
}
