package tracing

import (
	"context"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// gatherFor is how long spans are kept before they are handed on together.
	gatherFor = 100 * time.Millisecond
	// gatherMost is how many spans are kept; more come only while those before them are handed on, and are dropped.
	gatherMost = 1024
	// gatherFull is how many are handed on at once.
	gatherFull = 512
)

// gatherer hands spans on to the SDK's processor many at a time. That one has a goroutine that
// takes spans from a channel: to wake it for each span takes the program several times as much
// processor time as all the rest that tracing does for a call.
type gatherer struct {
	next sdktrace.SpanProcessor

	mu     sync.Mutex
	spans  []sdktrace.ReadOnlySpan
	closed bool

	first, full chan struct{} // that a first span has come, that there are gatherFull
	closing     chan struct{}
	ended       chan struct{}
}

func gather(next sdktrace.SpanProcessor) *gatherer {
	g := &gatherer{next: next, first: make(chan struct{}, 1), full: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{})}
	go g.run()
	return g
}

// OnEnd takes a span that has ended.
func (g *gatherer) OnEnd(s sdktrace.ReadOnlySpan) {
	g.mu.Lock()
	n := len(g.spans) + 1
	if g.closed || n > gatherMost {
		g.mu.Unlock()
		return
	}
	g.spans = append(g.spans, s)
	g.mu.Unlock()
	switch n {
	case 1:
		signal(g.first)
	case gatherFull:
		signal(g.full)
	}
}

func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default: // there is one already
	}
}

// run hands on what has come until Shutdown.
func (g *gatherer) run() {
	defer close(g.ended)
	timer := time.NewTimer(gatherFor)
	defer timer.Stop()
	spare := make([]sdktrace.ReadOnlySpan, 0, gatherFull)
	for {
		select {
		case <-g.first:
			timer.Reset(gatherFor)
			select {
			case <-timer.C:
			case <-g.full:
			case <-g.closing:
			}
		case <-g.full:
		case <-g.closing:
			g.handOn(spare)
			return
		}
		spare = g.handOn(spare)
	}
}

// handOn hands on what there is, keeps spare in its place, and returns what can be used so next time.
func (g *gatherer) handOn(spare []sdktrace.ReadOnlySpan) []sdktrace.ReadOnlySpan {
	g.mu.Lock()
	spans := g.spans
	g.spans = spare[:0]
	g.mu.Unlock()
	for _, s := range spans {
		g.next.OnEnd(s)
	}
	clear(spans)
	return spans
}

// Shutdown hands on what there is and ends the processor behind it.
func (g *gatherer) Shutdown(ctx context.Context) error {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.closing)
	}
	g.mu.Unlock()
	select {
	case <-g.ended:
	case <-ctx.Done():
	}
	return g.next.Shutdown(ctx)
}
