package relay

import (
	"bytes"
	"errors"
	"syscall"

	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/relay/life"
	"mbusproxy/proxy/wire"
)

// fromClient moves one batch client -> server. Once nothing is forwarded it is thrown away.
func (l *looped) fromClient() {
	buf := l.client.part(l.loop.buf)
	if !l.session.life.Forwards() { // the goroutine of rewrite may still own Session.Up
		if n, err := l.client.read(buf); n <= 0 {
			l.clientStopped(err)
		}
		return
	}
	if l.rewriting {
		l.readAhead()
		return
	}
	up := &l.session.Up
	off := up.Prefill(buf)
	n, err := l.client.read(buf[off:])
	if n <= 0 {
		up.Restore(buf[:off])
		l.clientStopped(err)
		return
	}
	l.session.seen.read(&l.session.seen.fromClient, n)
	if (l.client.busy() || up.GathersLong()) && !l.session.replication {
		l.takeTurn(bytes.Clone(buf[:off+n]))
		l.watch()
	} else {
		began := l.client.start(n)
		l.forward(buf[:off+n])
		if !l.rewriting { // else it is slow
			l.client.end(n, began)
		}
	}
	l.note()
}

// note lets others see what the session does.
func (l *looped) note() { l.session.seen.note(l.session.Down.Backlog(), l.waits()) }

// clientStopped is called with the result of a read that gave nothing.
func (l *looped) clientStopped(err error) {
	switch err { //nolint:errorlint // a bare errno
	case syscall.EAGAIN:
		return
	case nil:
		if s := l.session; s.life.Forwards() && !l.rewriting && s.Up.Awaits() {
			l.clientEnded = true
			break
		}
		l.report(life.ClientEnded)
	default:
		l.report(life.ClientLost)
	}
	l.watch()
}

// forward feeds a batch and writes it to the server.
func (l *looped) forward(batch []byte) {
	s, out := l.session, &l.loop.out
	var err error
	if s.replication {
		out.Begin(batch)
	} else {
		err = s.Up.Feed(nil, s.Down.Backlog(), batch, out) //nolint:staticcheck // nonblocking: nothing is called with it
	}
	l.fed(err, out)
	out.Free()
	if len(l.server.unsent) > 0 || l.waits() || !s.life.Forwards() {
		l.watch()
	}
}

// fed writes what a feed that returned err has left in out, and goes on with what it has set aside.
func (l *looped) fed(err error, out *wire.Splicer) {
	s := l.session
	rewrite, full, enough := errors.Is(err, pipeline.ErrMustWait), errors.Is(err, wire.ErrFull), errors.Is(err, pipeline.ErrEnough)
	if err != nil && !rewrite && !full && !enough {
		s.explain("client to server", err)
		l.report(life.Cut)
		return
	}
	if !s.life.Forwards() { // no more since the Rewriter got the statement
		s.Up.TakeAside()
		return
	}
	if !s.replication {
		s.Down.Expect(&s.Up)
	}
	if s.Up.Terminated {
		l.report(life.ClientTerminated)
	}
	s.foresee()
	if !l.send(&l.server, out.Result(), out.Own) {
		l.report(life.ServerRefused)
	}
	switch {
	case !s.life.Forwards():
		s.Up.TakeAside()
	case rewrite:
		l.rewrite() // that may begin with waiting for replies to what has just been sent
	case full:
		l.waiting, l.full = s.Up.TakeAside(), true
		if len(l.waiting) > leastRead {
			l.client.slow()
		}
		l.loop.post(l.resume) // perhaps there is room by now
	case enough:
		l.client.slow()
		l.takeTurn(s.Up.TakeAside())
	}
	l.settle()
}

// settle gives back the memory of long messages once the server has taken them.
func (l *looped) settle() {
	if !l.rewriting && len(l.server.unsent) == 0 {
		l.session.Up.Settle()
	}
}

// resume goes on with what is waiting, unless there is no room in the request queue.
func (l *looped) resume() {
	s := l.session
	if !s.life.Forwards() || l.waiting == nil || l.rewriting || len(l.server.unsent) > 0 || l.full && !s.Down.Backlog().Roomy() {
		return
	}
	batch := l.waiting
	l.waiting, l.full = nil, false
	defer l.guard()
	if l.client.busy() {
		l.takeTurn(batch)
	} else {
		l.forward(batch)
	}
	l.goOnDraining()
	l.watch()
}

// fromServer moves one batch server -> client.
func (l *looped) fromServer() {
	down, buf := &l.session.Down, l.server.part(l.loop.buf)
	off := down.Prefill(buf)
	n, err := l.server.read(buf[off:])
	if n <= 0 {
		down.Restore(buf[:off])
		if err != syscall.EAGAIN { //nolint:errorlint // a bare errno
			l.session.Down.ServerEnded()
			l.report(life.ServerEnded)
			l.watch()
		}
		return
	}
	l.session.seen.read(&l.session.seen.fromServer, n)
	began := l.server.start(n)
	l.deliver(buf[:off+n])
	l.server.end(n, began)
	l.note()
	if l.parked != nil {
		l.unpark()
	}
	if down.Owes() || l.clientEnded {
		l.sendAgain()
	}
	if l.waiting != nil {
		l.resume()
	}
	l.goOnDraining()
	if len(l.client.unsent) > 0 {
		l.watch()
	}
}

// sendAgain sends what is to be sent again, unless the goroutine of rewrite is about to, and goes
// on with the end of the client's stream.
func (l *looped) sendAgain() {
	s := l.session
	if !s.life.Forwards() || l.rewriting {
		return
	}
	if s.Down.Owes() {
		l.forward(nil)
	}
	if l.clientEnded && s.life.Forwards() && !s.Up.Awaits() {
		l.clientEnded = false
		l.clientStopped(nil)
	}
}

// deliver feeds a batch and writes it to the client.
func (l *looped) deliver(batch []byte) {
	s, out := l.session, &l.loop.out
	var failed error
	if s.replication {
		out.Begin(batch)
	} else {
		failed = s.Down.Feed(batch, out)
	}
	sent := l.send(&l.client, out.Result(), out.Own)
	out.Free()
	if failed != nil {
		s.explain("server to client", failed)
	}
	switch {
	case !sent:
		l.report(life.Cut)
	case failed != nil:
		l.report(life.LostSync)
		l.watch()
	}
}

// send writes b and keeps what is not taken; false means that the connection is broken. own is as in put.
func (l *looped) send(e *loopedEnd, b []byte, own func([]byte) []byte) bool {
	if e.tls != nil && len(b) > 0 {
		_, err := e.tls.conn.Write(b)
		return err == nil
	}
	return e.put(b, own)
}

// mostWritten is how many bytes a loop writes to a connection before others have their turn: a socket may take many megabytes.
const mostWritten = 4 * loopBuffer

// put is send for what is written to the socket as it is. own returns what is kept of it as memory that stays.
func (e *loopedEnd) put(b []byte, own func([]byte) []byte) bool {
	if len(e.unsent) > 0 {
		e.unsent = append(e.unsent, b...)
		return true
	}
	for left := mostWritten; len(b) > 0 && left > 0; {
		n, err := rawWrite(e.fd, b[:min(len(b), left)])
		if err == syscall.EAGAIN { //nolint:errorlint // a bare errno
			break
		}
		if err != nil {
			return false
		}
		b, left = b[n:], left-n
	}
	if len(b) > 0 {
		e.unsent = own(b)
	}
	return true
}

// flush writes what is unsent and goes on with what had to wait for it.
func (l *looped) flush(e *loopedEnd) {
	n, err := rawWrite(e.fd, e.unsent[:min(len(e.unsent), mostWritten)])
	switch {
	case err == nil:
		e.unsent = e.unsent[n:]
	case err == syscall.EAGAIN: //nolint:errorlint // a bare errno
		return
	case e == &l.client:
		l.report(life.Cut)
		return
	default:
		e.unsent = nil
		l.report(life.ServerRefused)
	}
	if len(e.unsent) > 0 {
		return
	}
	e.unsent = nil
	if e == &l.server {
		l.settle()
		l.resume()
	}
	if e.shut {
		l.shutdown(e)
	}
	if e == &l.client {
		l.goOnDraining()
	}
	l.watch()
}

// shutdown half closes a connection, behind what is unsent.
func (l *looped) shutdown(e *loopedEnd) {
	if e.tls != nil && !e.shut {
		_ = e.tls.conn.CloseWrite()
	}
	e.shut = true
	if len(e.unsent) > 0 {
		return
	}
	_ = syscall.Shutdown(e.fd, syscall.SHUT_WR)
	if e == &l.client {
		l.report(life.Delivered)
	}
}
