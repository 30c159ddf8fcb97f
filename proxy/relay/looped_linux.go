package relay

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"mbusproxy/internal/socket"
	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/relay/life"
)

// loopedEnd is one of the two connections of a session in a loop.
type loopedEnd struct {
	looped *looped
	fd     int
	// watched are the events the epoll instance reports; 0: it does not know fd.
	watched uint32
	// unsent is what fd did not take yet; while there is some, the other connection is not read.
	unsent []byte
	// shut is set when the connection is to be half closed once unsent is empty.
	shut bool
	// tls is nil for a connection without TLS.
	tls *loopedTLS
	// more says that there may be something to read although no event will tell; then the end is in
	// loop.again as soon as it is to be read. listed says that it is.
	more, listed bool
	pace
}

// looped is a session in a loop. All but start, ask, lookForClient, stopBuffering and tell belongs
// to the loop's goroutine.
type looped struct {
	session *Session
	loop    *loop
	client  loopedEnd
	server  loopedEnd
	// rewriting is set while a goroutine owns Session.Up, or parked says that it is to; see rewrite and takeTurn.
	rewriting bool
	// parked is what the goroutine is to feed when it need not wait for anything first; nil: nothing.
	parked *parked
	// waiting is what the client has sent and is to be fed later; nil: nothing. full says that it waits for room in the request queue.
	waiting []byte
	full    bool
	// clientEnded is set where the client's stream has ended, and what it has sent may have to be sent again.
	clientEnded bool
	// cancelRewrite ends the context of that goroutine's calls; nil when there is none.
	cancelRewrite context.CancelFunc
	// until is the end of the grace time; zero: it has not begun.
	until time.Time
	// started is set by start, asked is what ask has been told before.
	started bool
	asked   life.Event
}

// parked is the rest of a batch, and what the server was known to be doing before it.
type parked struct {
	batch  []byte
	before pipeline.Backlog
	// ended says that the client's stream has ended behind batch.
	ended bool
}

// start begins to move bytes; rest is what the server sent already.
func (l *looped) start(rest []byte) {
	l.loop.post(func() {
		if l.ended() {
			return
		}
		defer l.guard()
		loop := l.loop
		if !loop.works() {
			l.report(life.LoopFailed)
			return
		}
		l.started = true
		for _, e := range []*loopedEnd{&l.client, &l.server} {
			for len(loop.byFD) <= e.fd {
				loop.byFD = append(loop.byFD, nil)
			}
			loop.byFD[e.fd] = e
		}
		if len(rest) > 0 {
			l.deliver(rest)
		}
		if l.asked != 0 {
			l.report(l.asked)
		}
		l.watch()
	})
}

// ask has the loop report an event of Shutdown or Close.
func (l *looped) ask(e life.Event) {
	l.loop.post(func() {
		if !l.started && e != life.Cut {
			l.asked = max(l.asked, e) // Expire comes behind Drain
			return
		}
		defer l.guard()
		l.report(e)
		l.watch()
	})
}

// lookForClient is Session.lookForClient for a session in a loop.
func (l *looped) lookForClient() {
	l.loop.post(func() {
		if !l.ended() && (endpoint.Broken(l.client.fd) || l.session.Up.Waits() && l.clientGone()) {
			defer l.guard()
			l.report(life.Cut)
		}
	})
}

// clientGone is Session.clientGone for a session in a loop. The descriptor may have been closed
// meanwhile, but then the session has ended.
func (l *looped) clientGone() bool { return socket.HungUp(l.client.fd) }

// tell has the loop read what the client has sent, call before, and tell what the server is known
// to be doing; nothing comes once the loop has ended.
func (l *looped) tell(before func(), answer chan<- pipeline.Backlog) {
	l.loop.post(func() {
		if !l.ended() {
			l.handle(&l.client, syscall.EPOLLIN)
		}
		before()
		answer <- l.session.Down.Backlog()
	})
}

// guard is deferred by what may panic, which then ends the session and nothing else.
func (l *looped) guard() {
	if p := recover(); p != nil {
		l.session.panicked("loop", p)
		l.report(life.Cut)
	}
}

// handle is called with the events of one connection.
func (l *looped) handle(e *loopedEnd, events uint32) {
	defer l.guard()
	if events&(syscall.EPOLLOUT|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 && len(e.unsent) > 0 {
		l.flush(e)
	}
	if events&(syscall.EPOLLIN|syscall.EPOLLHUP|syscall.EPOLLERR) != 0 && e.watched&syscall.EPOLLIN != 0 && !l.ended() {
		if e.tls != nil {
			e.tls.dry = false
		}
		l.read(e)
	}
}

// readsInARow is how often TLS is asked for more of what it has decrypted before others have their turn.
const readsInARow = 4

// read moves what has come on one connection, or some of it.
func (l *looped) read(e *loopedEnd) {
	for range readsInARow {
		e.more = false
		if e == &l.client {
			l.fromClient()
		} else {
			l.fromServer()
		}
		if !e.more || e.busy() || e.watched&syscall.EPOLLIN == 0 || l.ended() {
			break
		}
	}
	if e.tls != nil {
		l.watch() // which lists what there is more of
	}
}

// readAgain goes on with a connection of loop.again.
func (l *looped) readAgain(e *loopedEnd) {
	e.listed = false
	if e.more && e.watched&syscall.EPOLLIN != 0 && !l.ended() {
		defer l.guard()
		l.read(e)
	}
}

// watch brings the events asked for in line with the state of the session.
func (l *looped) watch() {
	if l.ended() {
		return
	}
	now := l.session.life
	l.client.want(now.ReadsClient() && (!now.Forwards() || l.readsAhead() || !l.waits() && !l.clientEnded && len(l.server.unsent) == 0))
	l.server.want(now.ReadsServer() && len(l.client.unsent) == 0)
}

// waits reports whether messages of the client wait for the Rewriter, or for room in the request queue.
func (l *looped) waits() bool { return l.rewriting || l.waiting != nil }

// goesOn has the loop go on with the connection, without an event.
func (e *loopedEnd) goesOn() {
	if !e.listed {
		e.listed = true
		e.looped.loop.again = append(e.looped.loop.again, e)
	}
}

// want asks for input if read is set, and for room to write if something is unsent. A connection that
// wants neither leaves the epoll instance, which would report its hang-up for ever.
func (e *loopedEnd) want(read bool) {
	var events uint32
	if read {
		events |= syscall.EPOLLIN
		if e.more {
			e.goesOn()
		}
	}
	if len(e.unsent) > 0 {
		events |= syscall.EPOLLOUT
	}
	if events == e.watched {
		return
	}
	op := syscall.EPOLL_CTL_MOD
	switch {
	case e.watched == 0:
		op = syscall.EPOLL_CTL_ADD
	case events == 0:
		op = syscall.EPOLL_CTL_DEL
	}
	ev := syscall.EpollEvent{Events: events, Fd: int32(e.fd)}
	if err := syscall.EpollCtl(e.looped.loop.poll, op, e.fd, &ev); err != nil {
		panic(fmt.Errorf("watching socket: %w", err)) // out of memory, or a bug here
	}
	e.watched = events
}
