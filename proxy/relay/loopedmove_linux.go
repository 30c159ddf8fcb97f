package relay

import (
	"context"
	"errors"
	"syscall"

	"mbusproxy/proxy/fatal"
	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/wire"
)

// fromClient moves one batch client -> server.
func (ln *lanes) fromClient() {
	up, l := &ln.session.Up, ln.loop
	off := up.Prefill(l.buf)
	n, err := rawRead(ln.client.fd, l.buf[off:])
	if n <= 0 {
		up.Restore(l.buf[:off])
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
			ln.session.mayClose.Store(true)
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
		out.Begin(batch)
	} else {
		err = s.Up.Feed(nil, s.Down.Backlog(), batch, out) //nolint:staticcheck // detached: nothing is called with it
	}
	ln.fed(err, out)
	out.Free()
	if len(ln.server.unsent) > 0 || ln.rewriting || ln.parked != nil {
		ln.watch()
	}
}

// fed writes what a feed that returned err has left in out, and goes on with what it has set aside.
func (ln *lanes) fed(err error, out *wire.Splicer) {
	s := ln.session
	rewrite, full := errors.Is(err, pipeline.ErrNeedsRewriter), errors.Is(err, wire.ErrFull)
	if err != nil && !rewrite && !full {
		s.explain("client to server", err)
		ln.end()
		return
	}
	if !s.plain {
		s.Down.Expect(&s.Up)
	}
	ln.toServer(out.Result())
	switch {
	case ln.discarding:
		s.Up.TakeAside()
	case rewrite:
		ln.rewrite()
	case full:
		ln.parked = s.Up.TakeAside()
		ln.loop.do(ln.unpark) // perhaps it owes little by now
	}
	ln.settle()
}

// settle gives back the memory of long messages once the server has taken them.
func (ln *lanes) settle() {
	if !ln.rewriting && len(ln.server.unsent) == 0 {
		ln.session.Up.Settle()
	}
}

// unpark goes on with what is parked if the server owes little enough.
func (ln *lanes) unpark() {
	if ln.ended || ln.parked == nil || ln.rewriting || len(ln.server.unsent) > 0 || !ln.session.Down.Backlog().Roomy() {
		return
	}
	batch := ln.parked
	ln.parked = nil
	if ln.discarding {
		return
	}
	defer ln.guard()
	ln.forward(batch)
	ln.watch()
}

// letGo has the loop let go what is gathered of the client's message.
func (ln *lanes) letGo() {
	ln.loop.do(func() {
		if !ln.ended && !ln.rewriting && !ln.discarding && ln.session.Up.Holds() {
			defer ln.guard()
			ln.forward(nil)
		}
	})
}

// toServer writes to the server.
func (ln *lanes) toServer(b []byte) {
	ln.session.foresee()
	if !ln.send(&ln.server, b) || ln.session.Up.Terminated {
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
	batch, before := s.Up.TakeAside(), s.Down.Backlog()
	go func() {
		defer cancel()
		var failed any
		out := wire.Splicer{Pool: ln.loop.out.Pool}
		var err error
		func() {
			defer func() {
				if failed = recover(); failed != nil {
					s.panicked("client to server", failed)
				}
			}()
			s.Up.Detached = false
			err = s.Up.Feed(ctx, before, batch, &out)
			s.Up.Detached = true
		}()
		ln.loop.do(func() {
			ln.rewriting, ln.cancelRewrite = false, nil
			defer ln.guard()
			switch {
			case ln.ended:
				s.Up.Release()
			case failed != nil:
				ln.end()
			default:
				ln.fed(err, &out) // it may begin with waiting for replies to what was just sent
				ln.watch()
			}
			out.Free()
		})
	}()
}

// fromServer moves one batch server -> client.
func (ln *lanes) fromServer() {
	down, l := &ln.session.Down, ln.loop
	off := down.Prefill(l.buf)
	n, err := rawRead(ln.server.fd, l.buf[off:])
	if n <= 0 {
		down.Restore(l.buf[:off])
		if err == syscall.EAGAIN { //nolint:errorlint // a bare errno
			return
		}
		if s := ln.session; !s.plain && !s.mayClose.Load() && down.EndedSilently() {
			ln.send(&ln.client, fatal.ServerEnded().Encode(nil))
		}
		ln.serverClosed()
		ln.watch()
		return
	}
	ln.deliver(l.buf[:off+n])
	if ln.parked != nil {
		ln.unpark()
	}
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
		out.Begin(batch)
	} else {
		failed = s.Down.Feed(batch, out)
	}
	sent := ln.send(&ln.client, out.Result())
	out.Free()
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
	if s == &ln.server {
		ln.settle()
		ln.unpark()
	}
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
