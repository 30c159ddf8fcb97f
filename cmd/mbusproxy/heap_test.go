package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// A small heap may grow by more than a large one, in percent.
func TestHeapGrowth(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	set := growth()
	var small, large int
	set()
	small = debug.SetGCPercent(100)
	ballast := make([]byte, 64<<20)
	runtime.GC()
	growth()()
	large = debug.SetGCPercent(100)
	if small <= large || large != leastGrowth {
		t.Errorf("%d %% and %d %%", small, large)
	}
	runtime.KeepAlive(ballast)
}

// What is to come after each collection comes after more than one.
func TestAfterCollections(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 1)
	afterCollections(func() {
		select {
		case called <- struct{}{}:
		default: // later ones are nobody's business
		}
	})
	<-called
	for range 3 {
		runtime.GC()
		select {
		case <-called:
		case <-time.After(time.Minute):
			t.Fatal("not called after a collection")
		}
	}
}
