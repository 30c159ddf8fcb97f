// Package history keeps numbers of the last hour, one for each ten seconds, in memory that does not grow.
package history

import (
	"math"
	"sync"
	"time"
)

// What is kept.
const (
	Step       = 10 * time.Second
	Kept       = 360 // steps: an hour
	mostSeries = 250 // of one Ring
	gapSteps   = 6   // over which a rate is still told
)

// Ring is the last hour of some series by name. It is safe for concurrent use.
type Ring struct {
	mu     sync.Mutex
	series map[string]*series
}

// series holds a value for each step, and for which it is.
type series struct {
	values [Kept]float64
	steps  [Kept]int64 // 0: there is none
	last   int64
}

// New makes a Ring.
func New() *Ring { return &Ring{series: map[string]*series{}} }

// number is that of a time's step.
func number(at time.Time) int64 { return at.Unix() / int64(Step/time.Second) }

// Put notes values. Of a new series where there are too many none is kept, unless another one has
// not been told of for an hour.
func (r *Ring) Put(at time.Time, values map[string]float64) {
	n := number(at)
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, v := range values {
		s := r.series[name]
		if s == nil {
			if len(r.series) >= mostSeries && !r.drop(n) {
				continue
			}
			s = &series{}
			r.series[name] = s
		}
		s.values[n%Kept], s.steps[n%Kept] = v, n
		s.last = max(s.last, n)
	}
}

// drop forgets the series of which nothing is left, and reports whether there was any.
func (r *Ring) drop(now int64) (any bool) {
	for name, s := range r.series {
		if s.last <= now-Kept {
			delete(r.series, name)
			any = true
		}
	}
	return any
}

// Last is the step of the latest values; the zero Time where there are none.
func (r *Ring) Last() (at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.series {
		if step := time.Unix(s.last*int64(Step/time.Second), 0); step.After(at) {
			at = step
		}
	}
	return at
}

// Values are those of a series up to now, NaN where there is none.
func (r *Ring) Values(name string, now time.Time) []float64 {
	out := make([]float64, Kept)
	n := number(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.series[name]
	for i := range out {
		at := n - Kept + 1 + int64(i)
		out[i] = math.NaN()
		if s != nil && at > 0 && s.steps[at%Kept] == at {
			out[i] = s.values[at%Kept]
		}
	}
	return out
}

// Rates are how much a series that counts has grown in a second, at each step; NaN where that is
// not known, or where it has begun anew.
func (r *Ring) Rates(name string, now time.Time) []float64 {
	values := r.Values(name, now)
	out := make([]float64, len(values))
	before := -1
	for i, v := range values {
		out[i] = math.NaN()
		if math.IsNaN(v) {
			continue
		}
		if before >= 0 && i-before <= gapSteps && v >= values[before] {
			rate := (v - values[before]) / (float64(i-before) * Step.Seconds())
			for j := before + 1; j <= i; j++ {
				out[j] = rate
			}
		}
		before = i
	}
	return out
}
