package startup

import (
	"context"
	"runtime"
	"sync"
	"time"
)

const (
	// idleAccepts is how many connections a second are accepted that come to no session, for each processor, beyond the first
	// idleAtOnce of them.
	idleAccepts = 2000
	idleAtOnce  = 1000
)

// Pace bounds how many connections that come to no session are accepted in a second. To accept and close one costs little more
// than to open one, but in a flood that is a processor, which the sessions lack. What is beyond waits in the queue of the system, as
// do those who come in earnest meanwhile.
type Pace struct {
	rate, burst float64 // connections a second, and at once

	mu    sync.Mutex
	spent tally
}

// NewPace makes one for the processors that the process may use.
func NewPace() *Pace {
	return &Pace{rate: float64(idleAccepts * runtime.GOMAXPROCS(0)), burst: idleAtOnce}
}

// Keep counts an accepted connection, and returns when the next one may be accepted, or ctx is done.
func (p *Pace) Keep(ctx context.Context) {
	ahead := p.count()
	if ahead <= 0 {
		return
	}
	timer := time.NewTimer(ahead)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// count counts a connection and gives the time by which it is ahead.
func (p *Pace) count() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Duration((p.spent.add(1, p.rate) - p.burst) / p.rate * float64(time.Second))
}

// Forgive says that a connection that was counted has become a session.
func (p *Pace) Forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent.add(-1, p.rate)
}
