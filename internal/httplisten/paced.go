package httplisten

import (
	"net/http"
	"sync"
	"time"
)

// Paced serves so many requests a second of all connections together, and a burst at once. What is beyond waits, in the order
// in which it came. Whoever asks without end takes the processor from others only so far: a connection has
// one request at a time, so that there are never more that wait than connections.
func Paced(next http.Handler, perSecond, burst int) http.Handler {
	p := pace{every: time.Second / time.Duration(perSecond)}
	p.ahead = p.every * time.Duration(burst)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wait := p.next(time.Now()); wait > 0 {
			turn := time.NewTimer(wait)
			defer turn.Stop()
			select {
			case <-turn.C:
			case <-r.Context().Done():
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// pace gives turns at equal distances. It may be used concurrently.
type pace struct {
	every, ahead time.Duration
	mu           sync.Mutex
	last         time.Time // the last turn given; it is before now where some were not taken
}

// next gives the next turn, and says how long it is until then.
func (p *pace) next(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if least := now.Add(-p.ahead); p.last.Before(least) {
		p.last = least
	}
	p.last = p.last.Add(p.every)
	return p.last.Sub(now)
}
