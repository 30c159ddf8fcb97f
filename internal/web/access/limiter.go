package access

import (
	"net/netip"
	"sync"
	"time"

	"mbusproxy/proxy/origin"
)

// Bounds of attempts to log in that fail; one that has succeeded is given back.
const (
	attemptsAtOnce     = 5               // as a role from one address, or from all browsers that it is known to; then one each attemptPause
	attemptPause       = 6 * time.Second //
	fromAttemptsAtOnce = 20              // from one address as any role, then one each fromAttemptPause
	fromAttemptPause   = time.Second
	mostBuckets        = 4096 // that are remembered
	longestRole        = 63   // bytes; the server cuts longer names (NAMEDATALEN)
)

// attempt says which attempts to log in are counted together.
type attempt struct {
	role string       // "": any
	from netip.Prefix // the address; the zero value: a browser with which somebody has logged in as the role, from wherever
}

func newAttempt(role string, from netip.Addr, known bool) attempt {
	a := attempt{role: role[:min(len(role), longestRole)]}
	if !known {
		a.from = origin.Of(from)
	}
	return a
}

// limiter bounds attempts by role and address. There is no bound of all, so no address takes attempts from another, and
// who guesses takes none from the browsers that know the password already.
type limiter struct {
	mu      sync.Mutex
	buckets map[attempt]*bucket
}

// bucket is a token bucket: it holds room tokens at most and gets one each pause.
type bucket struct {
	tokens, room float64
	pause        time.Duration
	at           time.Time
}

func newLimiter() *limiter { return &limiter{buckets: map[attempt]*bucket{}} }

func (b *bucket) fill(now time.Time) {
	b.tokens = min(b.room, b.tokens+float64(now.Sub(b.at))/float64(b.pause))
	b.at = now
}

// of gives the buckets that an attempt takes from. mu is held.
func (l *limiter) of(a attempt, now time.Time) []*bucket {
	each := []*bucket{l.bucket(a, attemptsAtOnce, attemptPause, now)}
	if a.from.IsValid() {
		each = append(each, l.bucket(attempt{from: a.from}, fromAttemptsAtOnce, fromAttemptPause, now))
	}
	return each
}

func (l *limiter) bucket(of attempt, room float64, pause time.Duration, now time.Time) *bucket {
	b := l.buckets[of]
	if b == nil {
		if len(l.buckets) >= mostBuckets {
			l.forget(now)
		}
		b = &bucket{room, room, pause, now}
		l.buckets[of] = b
	}
	b.fill(now)
	return b
}

// take takes an attempt, or says how long to wait for one.
func (l *limiter) take(a attempt, now time.Time) (wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	each := l.of(a, now)
	for _, b := range each {
		if b.tokens < 1 {
			wait = max(wait, 1, time.Duration((1-b.tokens)*float64(b.pause)))
		}
	}
	if wait > 0 {
		return wait, false
	}
	for _, b := range each {
		b.tokens--
	}
	return 0, true
}

// giveBack returns an attempt.
func (l *limiter) giveBack(a attempt, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.of(a, now) {
		b.tokens = min(b.room, b.tokens+1)
	}
}

// forget makes room: of some, as the map gives them, the one goes that has most of its attempts, often all.
func (l *limiter) forget(now time.Time) {
	var most attempt
	best, looked := -1.0, 0
	for of, b := range l.buckets {
		b.fill(now)
		if b.tokens/b.room > best {
			most, best = of, b.tokens/b.room
		}
		if looked++; looked == 16 {
			break
		}
	}
	delete(l.buckets, most)
}
