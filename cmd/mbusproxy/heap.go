package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The heap is collected when it has grown by a fifth, or by heapGrowth where that is more. What
// relays does not allocate, and ten thousand sessions hold tens of MiB that stay: by Go's rule the
// heap might double before anybody looked. A small heap is collected less often than by that rule.
const (
	heapGrowth  = 12 << 20 // bytes
	leastGrowth = 20       // percent
	mostGrowth  = 400      // percent; Go itself lets the smallest heaps grow to 4 MiB
)

// boundHeap keeps to that, unless the environment says what to do.
func boundHeap() {
	if os.Getenv("GOGC") == "" {
		afterCollections(growth())
	}
}

// growth returns what sets how much the heap may grow after a collection.
func growth() func() {
	live, now := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}, 0
	return func() {
		metrics.Read(live)
		want := min(max(100*heapGrowth/(live[0].Value.Uint64()+1), leastGrowth), mostGrowth)
		// To set it stops the world for some microseconds.
		if percent := int(want); percent < now*9/10 || percent > now*11/10 {
			now = percent
			debug.SetGCPercent(percent)
		}
	}
}

// afterCollections calls f now and after each collection.
func afterCollections(f func()) {
	f()
	// An object that nobody refers to is finalized after the next one.
	runtime.SetFinalizer(&struct{ _ *byte }{}, func(any) { afterCollections(f) })
}
