package access

import (
	"net/netip"
	"sync"
	"time"
)

// Bounds of attempts to log in.
const (
	attemptsAtOnce   = 5               // of one address, then one each attemptPause
	attemptPause     = 6 * time.Second //
	allAttemptsAtOne = 40              // of all addresses
	allAttemptPause  = 250 * time.Millisecond
	mostAddresses    = 4096 // that are remembered
)

// limiter bounds attempts by address and in all. An attempt that has succeeded is given back.
type limiter struct {
	mu   sync.Mutex
	each map[netip.Prefix]*bucket
	all  bucket
}

// bucket is a token bucket: it holds room tokens at most and gets one each pause.
type bucket struct {
	tokens float64
	at     time.Time
}

func newLimiter(now time.Time) *limiter {
	return &limiter{each: map[netip.Prefix]*bucket{}, all: bucket{allAttemptsAtOne, now}}
}

func (b *bucket) fill(now time.Time, room float64, pause time.Duration) {
	b.tokens = min(room, b.tokens+float64(now.Sub(b.at))/float64(pause))
	b.at = now
}

// origin is what counts as one address: of IPv6 the network that one customer gets.
func origin(a netip.Addr) netip.Prefix {
	bits := 32
	if a = a.Unmap(); a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// take takes an attempt, or says how long to wait for one.
func (l *limiter) take(from netip.Addr, now time.Time) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.fill(now, allAttemptsAtOne, allAttemptPause)
	b := l.each[origin(from)]
	if b == nil {
		if len(l.each) >= mostAddresses {
			l.forget(now)
		}
		b = &bucket{attemptsAtOnce, now}
		l.each[origin(from)] = b
	}
	b.fill(now, attemptsAtOnce, attemptPause)
	if b.tokens < 1 {
		return time.Duration((1 - b.tokens) * float64(attemptPause)), false
	}
	if l.all.tokens < 1 {
		return allAttemptPause, false
	}
	b.tokens--
	l.all.tokens--
	return 0, true
}

// giveBack returns an attempt.
func (l *limiter) giveBack(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.tokens++
	if b := l.each[origin(from)]; b != nil {
		b.tokens++
	}
}

// forget makes room: who has not tried for long has all attempts anyway, and if all have, the one goes that has most.
func (l *limiter) forget(now time.Time) {
	var most netip.Prefix
	best := -1.0
	for p, b := range l.each {
		b.fill(now, attemptsAtOnce, attemptPause)
		if b.tokens >= attemptsAtOnce {
			delete(l.each, p)
		} else if b.tokens > best {
			most, best = p, b.tokens
		}
	}
	if len(l.each) >= mostAddresses {
		delete(l.each, most)
	}
}
