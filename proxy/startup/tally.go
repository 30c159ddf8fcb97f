package startup

import "time"

// tally counts what time forgives at some rate, never below zero. The zero value is empty.
type tally struct {
	n  float64 // as of at
	at time.Time
}

// add forgives what is due by now at so many a second, then counts n more, and gives what there is.
func (t *tally) add(n, rate float64) float64 {
	now := time.Now()
	t.n = max(0, max(0, t.n-now.Sub(t.at).Seconds()*rate)+n)
	t.at = now
	return t.n
}
