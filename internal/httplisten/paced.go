package httplisten

import (
	"context"
	"net/http"
	"time"
)

// Paced serves so many requests a second of all connections together, and a burst at once. What is beyond waits, in the order
// in which it came, for as long as the client does. Whoever asks without end takes the processor from others only so far: a
// connection has one request at a time, so that there are never more that wait than connections.
func Paced(next http.Handler, perSecond, burst int) http.Handler {
	p := newPace(time.Second/time.Duration(perSecond), burst)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.wait(r.Context()) {
			next.ServeHTTP(w, r)
		}
	})
}

// pace gives turns at equal distances. wait may be called concurrently.
type pace struct {
	every, ahead time.Duration
	// first holds the one that waits for the next turn, and owns last; the others wait behind it, in the order in which
	// they came.
	first chan struct{}
	last  time.Time // the last turn given; it is before now where some were not taken
}

func newPace(every time.Duration, burst int) *pace {
	return &pace{every: every, ahead: every * time.Duration(burst), first: make(chan struct{}, 1)}
}

// wait returns true when the turn has come, and false when ctx has ended, which takes nobody's turn.
func (p *pace) wait(ctx context.Context) bool {
	select {
	case p.first <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-p.first }()
	wait := p.next(time.Now())
	if wait <= 0 {
		return true
	}
	turn := time.NewTimer(wait)
	defer turn.Stop()
	select {
	case <-turn.C:
		return true
	case <-ctx.Done():
		p.last = p.last.Add(-p.every)
		return false
	}
}

// next gives the next turn, and says how long it is until then.
func (p *pace) next(now time.Time) time.Duration {
	if least := now.Add(-p.ahead); p.last.Before(least) {
		p.last = least
	}
	p.last = p.last.Add(p.every)
	return p.last.Sub(now)
}
