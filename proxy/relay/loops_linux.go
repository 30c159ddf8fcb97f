package relay

import (
	"runtime"
	"sync/atomic"
	"syscall"

	"go.uber.org/zap"

	"mbusproxy/proxy/wire"
)

// DefaultLoops is how many loops a Server has: one for two processors, since whoever asks the
// server and the server itself usually need the others.
func DefaultLoops() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// loops is the set of a Server's loops; sessions are dealt out in turn.
type loops struct {
	all  []*loop
	next atomic.Uint32
	// turns has room for the goroutines that feed what busy clients send, as many as loops at a time; see looped.takeTurn.
	turns chan struct{}
}

// newLoops starts n loops.
func newLoops(n int, log *zap.Logger, pool *wire.BufferPool) (*loops, error) {
	ls := &loops{turns: make(chan struct{}, n)}
	for range n {
		l, err := newLoop(log, pool)
		if err != nil {
			ls.close()
			return nil, err
		}
		ls.all = append(ls.all, l)
	}
	return ls, nil
}

func (ls *loops) close() {
	for _, l := range ls.all {
		l.close()
	}
}

// take hands a session to a loop, if it is one that loops serve.
func (ls *loops) take(s *Session) {
	if len(ls.all) == 0 {
		return
	}
	for range ls.all {
		l := ls.all[int(ls.next.Add(1))%len(ls.all)]
		if !l.works() {
			continue
		}
		if err := l.enter(s); err != nil {
			s.Log().Debug("session stays with goroutines", zap.Error(err))
		}
		return
	}
}

// enter moves a session's sockets from Go's poller to l. On an error nothing has changed.
func (l *loop) enter(s *Session) error {
	client, err := s.client.Dup()
	if err != nil {
		return err
	}
	server, err := s.server.Dup()
	if err != nil {
		_ = syscall.Close(client)
		return err
	}
	ls := &looped{session: s, loop: l}
	ls.client = loopedEnd{looped: ls, fd: client}
	ls.server = loopedEnd{looped: ls, fd: server}
	ls.client.secure(s.client)
	ls.server.secure(s.server)
	// Closing takes the sockets out of Go's poller, which would be woken for each message too.
	s.client.Close()
	s.server.Close()
	s.client, s.server = nil, nil
	s.Up.Nonblocking = true
	s.looped = ls
	return nil
}

// BreakLoop is for tests: it returns when a loop has failed as it does when the system refuses to wait.
func (s *Sessions) BreakLoop(n int) {
	l, done := s.loops.all[n], make(chan struct{})
	l.post(func() {
		l.wait = func([]syscall.EpollEvent) (int, error) { return 0, syscall.EBADF }
		l.post(func() { close(done) }) // after the next wait
	})
	<-done
}
