package proxy

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
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
	session *session
	loop    *loop
	client  side
	server  side
	phase   int32
	// discarding: what the client sends goes nowhere.
	discarding bool
	// rewriting: a goroutine owns session.up until it is done.
	rewriting bool
	// cancelRewrite ends the context of that goroutine's calls; nil when there is none.
	cancelRewrite context.CancelFunc
	// until is when the client must have closed, once in loop.lingering.
	until time.Time
	ended bool
}

// start begins to move bytes; rest is what the server sent already.
func (ln *lanes) start(rest []byte) {
	ln.loop.do(func() {
		if ln.ended {
			return
		}
		l := ln.loop
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
		defer ln.guard()
		ln.advanced()
	})
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
	ln.client.want(!ln.client.noInput && !ln.rewriting && len(ln.server.unsent) == 0)
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

// fromClient moves one batch client -> server.
func (ln *lanes) fromClient() {
	up, l := &ln.session.up, ln.loop
	off := up.prefill(l.buf)
	n, err := rawRead(ln.client.fd, l.buf[off:])
	if n <= 0 {
		up.ncarry = copy(up.carry[:], l.buf[:off])
		switch {
		case err == syscall.EAGAIN: //nolint:errorlint // a bare errno
		case ln.discarding:
			ln.client.noInput = true
			ln.lingered()
		case err != nil:
			ln.end()
		default:
			// The server ends as it would had the client been connected directly: after what it
			// has received.
			ln.client.noInput = true
			ln.shutdown(&ln.server)
		}
		ln.watch()
		return
	}
	if ln.discarding {
		return
	}
	ln.forward(l.buf[:off+n])
}

// forward feeds a batch and writes it to the server.
func (ln *lanes) forward(batch []byte) {
	s, out := ln.session, &ln.loop.out
	var err error
	if s.plain {
		out.begin(batch)
	} else {
		err = s.up.feed(nil, batch, out) //nolint:staticcheck // detached: nothing is called with it
		s.down.expect(s.up.news)
	}
	if err != nil && !errors.Is(err, errNeedsRewriter) {
		out.free()
		s.explain("client to server", err)
		ln.end()
		return
	}
	ln.toServer(out.result())
	out.free()
	if err != nil && !ln.discarding {
		ln.rewrite()
	}
	if len(ln.server.unsent) > 0 || ln.rewriting {
		ln.watch()
	}
}

// toServer writes to the server.
func (ln *lanes) toServer(b []byte) {
	if !ln.send(&ln.server, b) || ln.session.up.terminated {
		// After a failed write the other direction delivers what the server still said.
		ln.discarding = true
	}
}

// rewrite has the rest of a batch, which begins with a statement for the Rewriter, fed by a
// goroutine, for the Rewriter may take its time.
func (ln *lanes) rewrite() {
	s := ln.session
	ctx, cancel := context.WithCancel(context.Background())
	ln.rewriting, ln.cancelRewrite = true, cancel
	batch := s.up.aside
	s.up.aside = nil
	go func() {
		defer cancel()
		var failed any
		out := assembly{pool: ln.loop.out.pool}
		var err error
		func() {
			defer func() {
				if failed = recover(); failed != nil {
					s.panicked("client to server", failed)
				}
			}()
			s.up.detached = false
			err = s.up.feed(ctx, batch, &out)
			s.up.detached = true
		}()
		ln.loop.do(func() {
			ln.rewriting, ln.cancelRewrite = false, nil
			defer ln.guard()
			switch {
			case ln.ended:
			case failed != nil:
				ln.end()
			case err != nil:
				s.explain("client to server", err)
				ln.end()
			default:
				s.down.expect(s.up.news)
				ln.toServer(out.result())
				ln.watch()
			}
			out.free()
		})
	}()
}

// fromServer moves one batch server -> client.
func (ln *lanes) fromServer() {
	down, l := &ln.session.down, ln.loop
	off := down.prefill(l.buf)
	n, err := rawRead(ln.server.fd, l.buf[off:])
	if n <= 0 {
		down.ncarry = copy(down.carry[:], l.buf[:off])
		if err == syscall.EAGAIN { //nolint:errorlint // a bare errno
			return
		}
		ln.serverClosed()
		ln.watch()
		return
	}
	ln.deliver(l.buf[:off+n])
	if ln.phase != phaseServing {
		ln.advanced()
	}
	if len(ln.client.unsent) > 0 {
		ln.watch()
	}
}

// deliver feeds a batch and writes it to the client.
func (ln *lanes) deliver(batch []byte) {
	s, out := ln.session, &ln.loop.out
	var failed error
	if s.plain {
		out.begin(batch)
	} else {
		failed = s.down.feed(batch, out)
	}
	sent := ln.send(&ln.client, out.result())
	out.free()
	if failed != nil {
		s.explain("server to client", failed)
	}
	if failed != nil || !sent {
		ln.end()
	}
}

// send writes b to s and keeps what s does not take; false means that s is broken.
func (ln *lanes) send(s *side, b []byte) bool {
	if len(s.unsent) > 0 {
		s.unsent = append(s.unsent, b...)
		return true
	}
	for len(b) > 0 {
		n, err := rawWrite(s.fd, b)
		if err == syscall.EAGAIN { //nolint:errorlint // a bare errno
			s.unsent = append([]byte(nil), b...)
			return true
		}
		if err != nil {
			return false
		}
		b = b[n:]
	}
	return true
}

// flush writes what is unsent and goes on with what had to wait for it.
func (ln *lanes) flush(s *side) {
	n, err := rawWrite(s.fd, s.unsent)
	switch {
	case err == nil:
		s.unsent = s.unsent[n:]
	case err == syscall.EAGAIN: //nolint:errorlint // a bare errno
		return
	case s == &ln.client:
		ln.end()
		return
	default:
		ln.discarding = true
		s.unsent = nil
	}
	if len(s.unsent) > 0 {
		return
	}
	s.unsent = nil
	if s.shut {
		_ = syscall.Shutdown(s.fd, syscall.SHUT_WR)
	}
	if s == &ln.client && ln.server.noInput {
		ln.linger()
	}
	ln.watch()
}

// shutdown ends the sending direction of s after what is unsent.
func (ln *lanes) shutdown(s *side) {
	s.shut = true
	if len(s.unsent) == 0 {
		_ = syscall.Shutdown(s.fd, syscall.SHUT_WR)
	}
}

// serverClosed passes the server's end on to the client and waits for the client to close, for a
// while.
func (ln *lanes) serverClosed() {
	ln.server.noInput = true
	ln.discarding = true
	ln.server.unsent = nil
	ln.shutdown(&ln.client)
	if len(ln.client.unsent) == 0 {
		ln.linger()
	}
}

// linger waits for the client to close, for lingerTime.
func (ln *lanes) linger() {
	if ln.client.noInput {
		ln.end()
		return
	}
	if !ln.until.IsZero() {
		return
	}
	ln.until = time.Now().Add(lingerTime)
	ln.loop.lingering = append(ln.loop.lingering, ln)
}

// lingered is called when a client whose bytes are discarded has closed.
func (ln *lanes) lingered() {
	if ln.server.noInput && len(ln.client.unsent) == 0 {
		ln.end()
	}
}

// advanced takes leave when the phase and the session's state allow it; see session.mayEnd.
func (ln *lanes) advanced() {
	s := ln.session
	if ln.ended || ln.server.noInput || ln.phase == phaseServing {
		return
	}
	idle := !s.plain && s.down.idle() && !ln.rewriting
	if ln.phase != phaseExpired && !idle {
		return
	}
	if s.down.atBoundary() && !s.plain {
		ln.send(&ln.client, sayShutdown().encode(nil))
	}
	if idle {
		ln.send(&ln.server, appendFrame(nil, msgTerminate))
	}
	ln.shutdown(&ln.server)
	ln.serverClosed()
	if !ln.ended {
		ln.linger() // also when the client has not taken all
	}
	ln.watch()
}

// end closes both sides. It may be called more than once.
func (ln *lanes) end() {
	if ln.ended {
		return
	}
	ln.ended = true
	if ln.cancelRewrite != nil {
		ln.cancelRewrite()
	}
	for i, o := range ln.loop.lingering {
		if o == ln {
			ln.loop.lingering = append(ln.loop.lingering[:i:i], ln.loop.lingering[i+1:]...)
			break
		}
	}
	for _, s := range []*side{&ln.client, &ln.server} {
		if s.fd < len(ln.loop.byFD) {
			ln.loop.byFD[s.fd] = nil
		}
		_ = syscall.Close(s.fd) // leaves the epoll instance with its last descriptor
	}
	ln.session.server.forget(ln.session)
}
