package semaphore

import (
	"sync"
	"time"
)

// LatencyBounds are the upper bounds of the classes of Latencies, in ascending order.
func LatencyBounds() []time.Duration { return latencyBounds[:] }

var latencyBounds = [...]time.Duration{ //nolint:gochecknoglobals // constant
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

// Latencies are how long grants have taken, in classes.
type Latencies struct {
	Count uint64
	Sum   time.Duration
	// Within has for each of LatencyBounds how many were no longer.
	Within []uint64
}

// latencies collects Latencies. It is safe for concurrent use.
type latencies struct {
	mu    sync.Mutex
	count uint64
	sum   time.Duration
	class [len(latencyBounds)]uint64
}

func (l *latencies) add(all []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range all {
		l.count++
		l.sum += d
		for i, bound := range latencyBounds {
			if d <= bound {
				l.class[i]++
				break
			}
		}
	}
}

func (l *latencies) read() Latencies {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := Latencies{Count: l.count, Sum: l.sum, Within: make([]uint64, len(l.class))}
	n := uint64(0)
	for i := range l.class {
		n += l.class[i]
		out.Within[i] = n
	}
	return out
}

// since is when what the allocator is about to read in the log can have been committed at the
// earliest: the end of a transaction of this proxy, if that is known, or else when the log was last
// read. Zero: it is not known.
func (g *allocator) since() time.Time {
	if g.followedAt.IsZero() || g.notedAt.Before(g.followedAt) {
		return g.followedAt
	}
	return g.notedAt
}

// noteDue notes that there may be something to grant in a semaphore since then.
func (g *allocator) noteDue(id int32, since time.Time) {
	if _, known := g.due[id]; !known && !since.IsZero() && len(g.due) < mostChanged {
		g.due[id] = since
	}
}

// noteGrant notes how long a grant has taken, if that is known.
func (g *allocator) noteGrant(id int32, now time.Time, out *turned) {
	if since, known := g.due[id]; known {
		out.After = append(out.After, now.Sub(since))
	}
}

// settleDue forgets it for the semaphores in which all that could be granted has been.
func (g *allocator) settleDue(ids []int32) {
	for _, id := range ids {
		_, changed := g.changed[id]
		if _, busy := g.busy[id]; !changed && !busy {
			delete(g.due, id)
		}
	}
}
