package bench

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// recorder counts what the load does. It is safe for concurrent use.
type recorder struct {
	began            time.Time
	posted, consumed atomic.Int64
	removed          atomic.Int64 // by the program itself, between phases

	mu      sync.Mutex
	pickups []time.Duration // since the last sample
}

// got notes a message that was due at a time after the beginning.
func (r *recorder) got(due time.Duration) {
	pickup := time.Since(r.began) - due
	r.consumed.Add(1)
	r.mu.Lock()
	r.pickups = append(r.pickups, pickup)
	r.mu.Unlock()
}

func (r *recorder) depth() int64 {
	consumed := r.consumed.Load() + r.removed.Load() // first: a message is never consumed before it is posted
	return max(0, r.posted.Load()-consumed)
}

// sample is a second of the run, or what is left of one at the end of a phase.
type sample struct {
	phase            int           // index
	at, length       time.Duration // at is its end
	posted, consumed int64
	pickups          []time.Duration // in order
	depth            int64
	dead             int64 // rows that are dead and not yet vacuumed
	died             int64 // rows that were deleted or updated
}

// cut ends a sample.
func (r *recorder) cut(last mark, dead, gone int64) (sample, mark) {
	now := mark{at: time.Since(r.began), posted: r.posted.Load(), consumed: r.consumed.Load(), gone: gone}
	r.mu.Lock()
	pickups := r.pickups
	r.pickups = nil
	r.mu.Unlock()
	slices.Sort(pickups)
	return sample{
		at: now.at, length: now.at - last.at, posted: now.posted - last.posted, consumed: now.consumed - last.consumed,
		pickups: pickups, depth: r.depth(), dead: dead, died: max(0, now.gone-last.gone),
	}, now
}

// mark is where a sample begins.
type mark struct {
	at                     time.Duration
	posted, consumed, gone int64
}

// percentile is of a list in order; 0 of an empty one.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}
