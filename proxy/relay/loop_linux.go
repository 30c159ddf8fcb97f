package relay

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"go.uber.org/zap"

	"mbusproxy/proxy/wire"
)

// A loop moves the bytes of many sessions in one goroutine over its own epoll instance.
// docs/adr/0004-relay.md has the reasons and figures. It waits for readiness by level, so a session
// that waits holds no goroutine, and no buffer but what crypto/tls keeps.
type loop struct {
	log  *zap.Logger
	poll int // epoll descriptor
	wake int // eventfd, readable when there are posted tasks
	buf  []byte
	out  wire.Splicer

	// byFD finds an endpoint by its descriptor. Owned by the loop's goroutine.
	byFD []*loopedEnd
	// again are the connections to be read without waiting for an event. Owned by the loop's goroutine.
	again []*loopedEnd
	// turns counts the turns of busy connections. Owned by the loop's goroutine.
	turns uint64
	// wait is await; tests put a failing one in its place. Owned by the loop's goroutine.
	wait func(events []syscall.EpollEvent) (int, error)
	// ending are the sessions whose grace time has begun, in the order in which it ends.
	ending []*looped

	// mu guards posted, closed and failed.
	mu     sync.Mutex
	posted []func() // tasks; see post
	closed bool
	failed bool          // see fail
	more   *sync.Cond    // signalled once failed, when there are posted tasks
	done   chan struct{} // closed when the goroutine has ended
}

// loopBuffer is how much one read of a loop takes at most. There is one such buffer in a loop, so
// it may be large; what cannot be written at once is copied.
const loopBuffer = 64 << 10

// loopEvents is how many events one wait returns at most.
const loopEvents = 128

func newLoop(log *zap.Logger, pool *wire.BufferPool) (*loop, error) {
	poll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("creating epoll: %w", err)
	}
	wake, _, errno := syscall.RawSyscall(syscall.SYS_EVENTFD2, 0, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		_ = syscall.Close(poll)
		return nil, fmt.Errorf("creating eventfd: %w", errno)
	}
	l := &loop{
		log: log, poll: poll, wake: int(wake), buf: make([]byte, loopBuffer),
		out: wire.Splicer{Pool: pool}, done: make(chan struct{}),
	}
	l.wait, l.more = l.await, sync.NewCond(&l.mu)
	ev := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(l.wake)}
	if err := syscall.EpollCtl(poll, syscall.EPOLL_CTL_ADD, l.wake, &ev); err != nil {
		l.release()
		return nil, fmt.Errorf("watching eventfd: %w", err)
	}
	go l.run()
	return l, nil
}

func (l *loop) release() {
	_ = syscall.Close(l.wake)
	_ = syscall.Close(l.poll)
}

// post has the loop's goroutine call f, soon. What is posted after close is dropped.
func (l *loop) post(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.posted = append(l.posted, f)
	if len(l.posted) == 1 {
		l.ring()
	}
}

// ring makes the eventfd readable.
func (l *loop) ring() {
	l.more.Signal()
	one := uint64(1)
	_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, uintptr(l.wake), uintptr(unsafe.Pointer(&one)), 8)
}

// close ends the loop, which must have no session left, and waits for it.
func (l *loop) close() {
	l.mu.Lock()
	l.closed = true
	l.ring()
	l.mu.Unlock()
	<-l.done
}

// yieldEvery is how often a loop calls the scheduler, and waitsPerLook after how many waits it
// looks whether it is time. To Go's monitor a goroutine that has not called it for 10 ms, although
// it spends them waiting, is one that will not yield: it gets signals, and the monitor looks again
// every 20 µs instead of every 10 ms, on a processor that others need. Each call wakes a second
// thread, which may go on with the loop on another processor, so there are to be no more than
// needed.
const (
	yieldEvery   = 8 * time.Millisecond
	waitsPerLook = 4
)

// run is the loop's goroutine.
func (l *loop) run() {
	defer close(l.done)
	defer l.release()
	events := make([]syscall.EpollEvent, loopEvents)
	yielded := time.Now()
	for waits := 1; ; waits++ {
		if waits%waitsPerLook == 0 && time.Since(yielded) >= yieldEvery {
			runtime.Gosched()
			yielded = time.Now()
		}
		n, err := l.wait(events)
		if err != nil {
			l.log.Error("waiting for sockets failed, which ends the sessions of this loop", zap.Error(err))
			l.fail()
			return
		}
		woken, chosen := false, l.choose(events[:n])
		for i := range n {
			ev := &events[i]
			if int(ev.Fd) == l.wake {
				woken = true
				continue
			}
			// Sessions begin in posted tasks only, after the events: none of these is stale
			// and names another connection.
			if e := l.byFD[ev.Fd]; e != nil && (e == chosen || !e.busy()) {
				e.looped.handle(e, ev.Events)
			}
		}
		if len(l.again) > 0 {
			l.readAgain(chosen)
		}
		if len(l.ending) > 0 {
			l.timeOut()
		}
		if woken && !l.runPosted() {
			return
		}
	}
}

// readAgain reads the connections in again, to which others may come meanwhile; of busy ones only chosen.
func (l *loop) readAgain(chosen *loopedEnd) {
	listed := l.again
	l.again = nil
	for _, e := range listed {
		if e.busy() && e != chosen && !e.looped.ended() {
			l.again = append(l.again, e)
			continue
		}
		e.looped.readAgain(e)
	}
}

// fail goes on without epoll: it ends all sessions, also those that come, and runs posted tasks until the loop is
// closed.
func (l *loop) fail() {
	l.mu.Lock()
	l.failed = true
	l.mu.Unlock()
	for _, e := range l.byFD {
		if e != nil {
			e.looped.loopFailed()
		}
	}
	for {
		l.mu.Lock()
		for len(l.posted) == 0 && !l.closed {
			l.more.Wait()
		}
		l.mu.Unlock()
		if !l.runPosted() {
			return
		}
	}
}

// works reports that the loop takes sessions.
func (l *loop) works() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.failed
}

// await waits for events, at most until the first grace time ends.
func (l *loop) await(events []syscall.EpollEvent) (int, error) {
	timeout := -1
	switch {
	case len(l.again) > 0:
		timeout = 0
	case len(l.ending) > 0:
		timeout = int(max(0, time.Until(l.ending[0].until)).Milliseconds()) + 1
	}
	n, _, errno := syscall.Syscall6(syscall.SYS_EPOLL_PWAIT, uintptr(l.poll),
		uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(timeout), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case syscall.EINTR:
		return 0, nil
	default:
		return 0, errno
	}
}

// runPosted reports false when the loop is to end.
func (l *loop) runPosted() bool {
	var count [8]byte
	_, _ = syscall.Read(l.wake, count[:])
	l.mu.Lock()
	tasks, closed := l.posted, l.closed
	l.posted = nil
	l.mu.Unlock()
	for _, f := range tasks {
		f()
	}
	return !closed
}

// timeOut ends the sessions whose grace time is over.
func (l *loop) timeOut() {
	now := time.Now()
	for len(l.ending) > 0 && !l.ending[0].until.After(now) {
		l.ending[0].timedOut()
	}
	if len(l.ending) == 0 {
		l.ending = nil
	}
}
