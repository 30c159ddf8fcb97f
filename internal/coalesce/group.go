package coalesce

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	restFactor = 9           // times as long as a run took is the pause behind it
	mostRest   = time.Second // at most
)

// ErrBusy is the error of those who may not wait, because too many do, where nothing has been found out yet.
var ErrBusy = errors.New("too many ask")

// ErrFailed is the error of those who waited for a run that ended by a panic.
var ErrFailed = errors.New("this has failed; the log says why")

// Group runs a function for all who ask. It is safe for concurrent use.
type Group[V any] struct {
	run  func(ctx context.Context) V
	most int // waiting
	log  *zap.Logger

	mu      sync.Mutex
	waiting int
	working bool
	next    *round[V] // for whom the next run is; nil: nobody waits for it
	last    *round[V] // that has ended; nil: none has
}

// round is a run and its result.
type round[V any] struct {
	done  chan struct{} // closed when the rest is set
	value V
	err   error
}

// New returns a Group of a function, which bounds its time itself. So many may wait for it.
func New[V any](most int, log *zap.Logger, run func(ctx context.Context) V) *Group[V] {
	return &Group[V]{run: run, most: most, log: log}
}

// Get waits for the result of a run that begins from now on. While as many wait as may, others get the
// result of the last run at once. The error is ErrBusy, ErrFailed or that of ctx.
func (g *Group[V]) Get(ctx context.Context) (V, error) {
	g.mu.Lock()
	if g.waiting >= g.most {
		defer g.mu.Unlock()
		if g.last == nil {
			var none V
			return none, ErrBusy
		}
		return g.last.value, g.last.err
	}
	if g.next == nil {
		g.next = &round[V]{done: make(chan struct{})}
	}
	mine := g.next
	g.waiting++
	if !g.working {
		g.working = true
		go g.work()
	}
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.waiting--
		g.mu.Unlock()
	}()
	select {
	case <-mine.done:
		return mine.value, mine.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// work runs the function as long as somebody waits for it. A run serves several, so it ends with none of them.
func (g *Group[V]) work() {
	for {
		g.mu.Lock()
		now := g.next
		if g.next = nil; now == nil {
			g.working = false
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		began := time.Now()
		g.guarded(now)
		g.mu.Lock()
		g.last = now
		g.mu.Unlock()
		close(now.done)
		time.Sleep(min(restFactor*time.Since(began), mostRest))
	}
}

// guarded runs the function once.
func (g *Group[V]) guarded(r *round[V]) {
	defer func() {
		if p := recover(); p != nil {
			g.log.Error("what several asked for ended by a panic", zap.Any("panic", p), zap.Stack("stack"))
			r.err = ErrFailed
		}
	}()
	r.value = g.run(context.Background())
}
