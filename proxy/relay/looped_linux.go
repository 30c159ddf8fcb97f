package relay

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/pipeline"
)

// side is one of the two connections of a session in a loop.
type side struct {
	lanes *lanes
	fd    int
	// watched are the events the epoll instance reports; 0: it does not know fd.
	watched uint32
	// unsent is what fd did not take yet; while there is some, the other side is not read.
	unsent []byte
	// noInput is set when nothing more is to be read: at the end of the stream.
	noInput bool
	// shut is set when the sending direction is to be shut down once unsent is empty.
	shut bool
}

// lanes are the two sides of a session in a loop. All but stop and advance belong to the loop's
// goroutine.
type lanes struct {
	session *Session
	loop    *loop
	client  side
	server  side
	phase   int32
	// discarding: what the client sends goes nowhere.
	discarding bool
	// rewriting: a goroutine owns session.up until it is done.
	rewriting bool
	// parked is what the client has sent and is to be fed when the server owes less; nil: nothing.
	parked []byte
	// cancelRewrite ends the context of that goroutine's calls; nil when there is none.
	cancelRewrite context.CancelFunc
	// until is when the client must have closed, once in loop.lingering.
	until time.Time
	// started and ended are set by start and end; nothing happens before and after.
	started, ended bool
}

// start begins to move bytes; rest is what the server sent already.
func (ln *lanes) start(rest []byte) {
	ln.loop.do(func() {
		if ln.ended {
			return
		}
		l := ln.loop
		if !l.works() {
			ln.lost()
			return
		}
		ln.started = true
		for _, s := range []*side{&ln.client, &ln.server} {
			for len(l.byFD) <= s.fd {
				l.byFD = append(l.byFD, nil)
			}
			l.byFD[s.fd] = s
		}
		defer ln.guard()
		if len(rest) > 0 {
			ln.deliver(rest)
		}
		ln.watch()
		ln.advanced()
	})
}

// stop ends the session at once.
func (ln *lanes) stop() { ln.loop.do(ln.end) }

// advance is session.advance for a session in a loop.
func (ln *lanes) advance(to int32) {
	ln.loop.do(func() {
		ln.phase = max(ln.phase, to)
		if !ln.started {
			return // start looks at the phase
		}
		defer ln.guard()
		ln.advanced()
	})
}

// lookForClient is session.lookForClient for a session in a loop.
func (ln *lanes) lookForClient() {
	ln.loop.do(func() {
		if !ln.ended && endpoint.Broken(ln.client.fd) {
			ln.end()
		}
	})
}

// ask has the loop tell where the server stands; it says nothing once the loop has ended.
func (ln *lanes) ask(answer chan<- pipeline.Backlog) {
	ln.loop.do(func() { answer <- ln.session.Down.Backlog() })
}

// guard keeps a panic from leaving the session.
func (ln *lanes) guard() {
	if p := recover(); p != nil {
		ln.session.panicked("loop", p)
		ln.end()
	}
}

// handle is called with the events of one side.
func (ln *lanes) handle(s *side, events uint32) {
	defer ln.guard()
	if events&(syscall.EPOLLOUT|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 && len(s.unsent) > 0 {
		ln.flush(s)
	}
	if events&(syscall.EPOLLIN|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 && s.watched&syscall.EPOLLIN != 0 && !ln.ended {
		if s == &ln.client {
			ln.fromClient()
		} else {
			ln.fromServer()
		}
	}
}

// watch brings the events asked for in line with the state of both sides.
func (ln *lanes) watch() {
	if ln.ended {
		return
	}
	ln.client.want(!ln.client.noInput && !ln.rewriting && ln.parked == nil && len(ln.server.unsent) == 0)
	ln.server.want(!ln.server.noInput && len(ln.client.unsent) == 0)
}

// want asks for input if read is set, and for room to write if something is unsent. A side that
// wants neither leaves the epoll instance, which would report its hang-up for ever.
func (s *side) want(read bool) {
	var events uint32
	if read {
		events |= syscall.EPOLLIN
	}
	if len(s.unsent) > 0 {
		events |= syscall.EPOLLOUT
	}
	if events == s.watched {
		return
	}
	op := syscall.EPOLL_CTL_MOD
	switch {
	case s.watched == 0:
		op = syscall.EPOLL_CTL_ADD
	case events == 0:
		op = syscall.EPOLL_CTL_DEL
	}
	ev := syscall.EpollEvent{Events: events, Fd: int32(s.fd)}
	if err := syscall.EpollCtl(s.lanes.loop.poll, op, s.fd, &ev); err != nil {
		panic(fmt.Errorf("watching socket: %w", err)) // out of memory, or a bug here
	}
	s.watched = events
}
