package tracing

import (
	"context"
	"sync/atomic"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// held is a processor that lets nothing pass before it is told to.
type held struct {
	open    chan struct{}
	entered chan struct{}
	spans   []sdktrace.ReadOnlySpan
	ended   atomic.Bool
}

func (h *held) OnEnd(s sdktrace.ReadOnlySpan) {
	select {
	case h.entered <- struct{}{}:
	default:
	}
	<-h.open
	h.spans = append(h.spans, s)
}
func (h *held) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (h *held) ForceFlush(context.Context) error                { return nil }
func (h *held) Shutdown(context.Context) error                  { h.ended.Store(true); return nil }

// Spans come in their order, none is lost at the end, and while nothing can be handed on they are
// no more than gatherMost.
func TestGatherer(t *testing.T) {
	t.Parallel()
	h := &held{open: make(chan struct{}), entered: make(chan struct{}, 1)}
	g := gather(h)
	spans := make([]finished, 3*gatherMost)
	for i := range gatherFull {
		g.OnEnd(&spans[i])
	}
	<-h.entered // with some of these, which are being handed on
	for i := range 2 * gatherMost {
		g.OnEnd(&spans[gatherFull+i])
	}
	close(h.open)
	if err := g.Shutdown(t.Context()); err != nil || !h.ended.Load() {
		t.Error(err)
	}
	g.OnEnd(&spans[0]) // comes too late
	// The first time at least one was handed on, and at most those before; then as many as are kept.
	if n := len(h.spans); n <= gatherMost || n > gatherFull+gatherMost {
		t.Errorf("%d spans have come, want more than %d and at most %d", n, gatherMost, gatherFull+gatherMost)
	}
	for i, s := range h.spans {
		if s != &spans[i] {
			t.Fatalf("span %d is another", i)
		}
	}
	if err := g.Shutdown(t.Context()); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

// A span alone does not wait for others.
func TestGathererOfOne(t *testing.T) {
	t.Parallel()
	h := &held{open: make(chan struct{}), entered: make(chan struct{}, 1)}
	g := gather(h)
	for range 3 {
		g.OnEnd(&finished{})
		<-h.entered
		h.open <- struct{}{}
	}
	if err := g.Shutdown(t.Context()); err != nil || len(h.spans) != 3 {
		t.Errorf("%d, %v", len(h.spans), err)
	}
}
