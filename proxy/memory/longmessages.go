package memory

import (
	"sync"
	"time"
)

// LongMessages is the memory that all sessions share for buffering long messages. Nobody waits for
// it: a message for which there is none passes without being looked at. The sessions of a role
// have at most half of what those of others leave, so that there is always some for a role that has none.
//
// So that clients which never finish a message do not keep it for ever, the session that has been
// buffering for longest, if for LongMessageStale at least, must stop when there is too little. It is
// one of a role that has at least as much as the one that wants more.
type LongMessages struct {
	mu   sync.Mutex
	now  func() time.Time
	free int // bytes
	// holders are those that have some, and roles is how much the sessions of each role have.
	holders map[*LongMessage]struct{}
	roles   map[string]int
}

const (
	// LongMessagesTotal is the size of a proxy's LongMessages.
	LongMessagesTotal = 32 << 20
	// LongMessageStep is how much is taken at a time.
	LongMessageStep = 64 << 10
	// LongMessageStale is for how long a session may buffer one message where others need its memory.
	LongMessageStale = 5 * time.Second
)

// NewLongMessages has that many bytes.
func NewLongMessages(size int) *LongMessages {
	return &LongMessages{now: time.Now, free: size, holders: make(map[*LongMessage]struct{}), roles: make(map[string]int)}
}

// Share returns the account of one session of a role. wake is called, by another session, when this one must stop
// buffering.
func (a *LongMessages) Share(role string, wake func()) LongMessage {
	return LongMessage{all: a, role: role, wake: wake}
}

// SetClock has tests decide what is old.
func (a *LongMessages) SetClock(now func() time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = now
}

// Unused is how many bytes nobody has.
func (a *LongMessages) Unused() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.free
}

// LongMessage is the account of one session.
type LongMessage struct {
	all  *LongMessages // nil: there is no limit
	role string
	wake func() // see Share

	// The rest is guarded by all.mu.
	n     int // bytes
	since time.Time
	stale bool // the session must stop buffering
}

// Grow makes sure that the session has n bytes; false means that it does not get them.
func (g *LongMessage) Grow(n int) bool {
	if g.all == nil || n <= g.n { // n is changed only by its session
		return !g.Revoked()
	}
	more := n - g.n + LongMessageStep - 1
	more -= more % LongMessageStep
	ok, old := g.all.take(g, more)
	if old != nil {
		old.wake()
	}
	return ok
}

// take takes more bytes for g. Where there are too few it returns false, and a session to be woken,
// which must stop buffering.
func (a *LongMessages) take(g *LongMessage, more int) (ok bool, old *LongMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	switch {
	case g.stale:
		return false, nil
	case a.roles[g.role]+more > (a.free+a.roles[g.role])/2:
		for h := range a.holders {
			if !h.stale && h != g && a.roles[h.role] >= a.roles[g.role] && now.Sub(h.since) >= LongMessageStale && (old == nil || h.since.Before(old.since)) {
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
	a.roles[g.role] += more
	return true, nil
}

// Revoked reports whether the session must stop buffering.
func (g *LongMessage) Revoked() bool {
	if g.all == nil || g.n == 0 {
		return false
	}
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	return g.stale
}

// Release gives back what the session has.
func (g *LongMessage) Release() {
	if g.n == 0 {
		return
	}
	g.all.mu.Lock()
	defer g.all.mu.Unlock()
	g.all.free += g.n
	if g.all.roles[g.role] -= g.n; g.all.roles[g.role] == 0 {
		delete(g.all.roles, g.role)
	}
	g.n, g.stale = 0, false
	delete(g.all.holders, g)
}
