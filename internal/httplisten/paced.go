package httplisten

import (
	"container/list"
	"context"
	"net/http"
	"sync"
	"time"
)

// Paced serves so many requests a second of all connections together, and a burst at once. What is beyond waits, in the order
// in which it came, for as long as the client does. Whoever asks without end takes the processor from others only so far: a
// connection has one request at a time, so that there are never more that wait than connections.
func Paced(next http.Handler, perSecond, burst int) http.Handler {
	p := pace{every: time.Second / time.Duration(perSecond)}
	p.ahead = p.every * time.Duration(burst)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.wait(r.Context()) {
			next.ServeHTTP(w, r)
		}
	})
}

// pace gives turns at equal distances. It may be used concurrently.
type pace struct {
	every, ahead time.Duration

	mu      sync.Mutex
	last    time.Time // of the last turn; it is before now where some were not taken
	waiting list.List // of chan struct{}, which are closed at their turns
	armed   bool      // serve is to be called
}

// wait returns true when the turn has come, and false when ctx has ended, which takes nobody's turn.
func (p *pace) wait(ctx context.Context) bool {
	p.mu.Lock()
	if p.waiting.Len() == 0 && p.take(time.Now()) {
		p.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	at := p.waiting.PushBack(turn)
	p.arm(time.Now())
	p.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-turn:
		p.last = p.last.Add(-p.every)
	default:
		p.waiting.Remove(at)
	}
	return false
}

// until says how long it is until the next turn. mu is held, as where take, arm and serveWaiting are called.
func (p *pace) until(now time.Time) time.Duration {
	if least := now.Add(-p.ahead); p.last.Before(least) {
		p.last = least
	}
	return p.last.Add(p.every).Sub(now)
}

// take takes the next turn if it has come.
func (p *pace) take(now time.Time) bool {
	if p.until(now) > 0 {
		return false
	}
	p.last = p.last.Add(p.every)
	return true
}

// arm has those that wait served at the next turn.
func (p *pace) arm(now time.Time) {
	if p.armed || p.waiting.Len() == 0 {
		return
	}
	p.armed = true
	time.AfterFunc(p.until(now), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.armed = false
		p.serveWaiting(time.Now())
	})
}

func (p *pace) serveWaiting(now time.Time) {
	for p.waiting.Len() > 0 && p.take(now) {
		close(p.waiting.Remove(p.waiting.Front()).(chan struct{}))
	}
	p.arm(now)
}
