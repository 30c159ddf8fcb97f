package relay

import (
	"syscall"

	"mbusproxy/proxy/relay/life"
)

// readsAhead reports whether the client is read while its statement waits. Its Terminate, or the
// end of its stream, ends the wait.
func (l *looped) readsAhead() bool {
	p := l.parked
	return p != nil && !p.ended && len(p.batch) < maxAhead && l.session.Up.InWait()
}

// readAhead reads once what the client has sent behind its statement.
func (l *looped) readAhead() {
	if !l.readsAhead() {
		l.watch()
		return
	}
	s, p := l.session, l.parked
	buf := l.loop.buf[:maxAhead-len(p.batch)]
	n, err := l.client.read(buf)
	switch {
	case n > 0:
		s.seen.read(&s.seen.fromClient, n)
		p.batch = append(p.batch, buf[:n]...)
		s.Up.SawAhead(buf[:n])
	case err == syscall.EAGAIN: //nolint:errorlint // a bare errno
		return
	case err == nil:
		p.ended = true
		s.Up.ClientEnded()
	default:
		l.report(life.ClientLost)
	}
	l.watch()
}
