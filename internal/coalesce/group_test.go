package coalesce

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
)

// Whoever asks while a run is under way gets the result of the next one, which all of them share.
func TestRunsAreShared(t *testing.T) {
	t.Parallel()
	const askers = 100
	begun, goOn := make(chan int), make(chan bool)
	runs := 0 // owned by the run
	g := New(askers, zap.NewNop(), func(context.Context) int {
		runs++
		begun <- runs
		<-goOn
		return runs
	})
	var asking sync.WaitGroup
	ask := func(want int) {
		asking.Go(func() {
			if got, err := g.Get(t.Context()); got != want || err != nil {
				t.Errorf("%d, %v, not the result of run %d", got, err, want)
			}
		})
	}
	ask(1)
	<-begun
	for range askers - 1 {
		ask(2)
	}
	awaitWaiting(t, g, askers)
	// One more gets what is known, which is nothing, and later the result of the first run.
	if _, err := g.Get(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("one too many: %v", err)
	}
	goOn <- true
	if n := <-begun; n != 2 {
		t.Errorf("run %d", n)
	}
	awaitWaiting(t, g, askers-1)
	ask(3)
	awaitWaiting(t, g, askers)
	if got, err := g.Get(t.Context()); got != 1 || err != nil {
		t.Errorf("one too many: %d, %v", got, err)
	}
	goOn <- true
	<-begun
	goOn <- true
	asking.Wait()
}

// awaitWaiting returns when so many wait.
func awaitWaiting[V any](t *testing.T, g *Group[V], n int) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
		g.mu.Lock()
		is := g.waiting
		g.mu.Unlock()
		if is == n {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%d wait, not %d", is, n)
		}
	}
}

// Who gives up does not end the run, and a panic in it ends nothing else.
func TestPanic(t *testing.T) {
	t.Parallel()
	fails := make(chan bool, 1)
	g := New(1, zap.NewNop(), func(ctx context.Context) string {
		if <-fails {
			panic("on purpose")
		}
		return "done"
	})
	gone, end := context.WithCancel(t.Context())
	end()
	if _, err := g.Get(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("who is gone: %v", err)
	}
	fails <- true
	fails <- true // taken by the run of whoever asks next, for the first one is over by then
	if _, err := g.Get(t.Context()); !errors.Is(err, ErrFailed) {
		t.Errorf("after a panic: %v", err)
	}
	fails <- false
	if got, err := g.Get(t.Context()); got != "done" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}
