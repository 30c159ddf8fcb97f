package parse

/*
#include <stddef.h>
#include <stdint.h>

int mbus_start_thread(size_t stack, size_t guard, uintptr_t handle);
void mbus_return_memory(void);
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"syscall"
)

// thread runs functions on a thread of the system whose C stack has a known size. Go makes its own threads
// with what the environment says: 8 MB as a rule, 2 MB under ulimit -s unlimited, what ulimit -s says where
// that is less, 128 kB with musl; so the parser is not run on them.
type thread struct {
	jobs chan func()
	done chan struct{}
}

// guardBytes is the size of what lies behind the end of the stack to catch what goes beyond it.
const guardBytes = 1 << 20

// startThread starts a thread with a stack of so many bytes.
func startThread(stack int) (*thread, error) {
	t := &thread{jobs: make(chan func()), done: make(chan struct{})}
	handle := cgo.NewHandle(t)
	if err := C.mbus_start_thread(C.size_t(stack), guardBytes, C.uintptr_t(handle)); err != 0 {
		handle.Delete()
		return nil, fmt.Errorf("starting parser thread: %w", syscall.Errno(err))
	}
	return t, nil
}

// do runs a function on the thread and waits for its end.
func (t *thread) do(job func()) {
	t.jobs <- job
	<-t.done
}

// stop ends the thread.
func (t *thread) stop() { close(t.jobs) }

//export mbusParseThread
func mbusParseThread(h C.uintptr_t) {
	handle := cgo.Handle(h)
	t := handle.Value().(*thread)
	handle.Delete()
	for job := range t.jobs {
		job()
		t.done <- struct{}{}
	}
}

// returnMemory gives to the system what C's malloc keeps.
func returnMemory() { C.mbus_return_memory() }
