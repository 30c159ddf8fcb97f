package relay

import (
	"bytes"
	"slices"
	"syscall"
	"time"

	"mbusproxy/proxy/relay/life"
	"mbusproxy/proxy/wire"
)

// This file is how a session in a loop goes through its life; ending.go is the same for goroutines.

// report has the session go through an event.
func (l *looped) report(e life.Event) {
	s := l.session
	var do life.Actions
	s.life, do = s.life.On(e, l.facts(e))
	if do == 0 {
		return
	}
	if do.Has(life.StopRewriter) {
		l.endRewrite()
	}
	if do.Has(life.StartTimer) {
		l.startTimer()
	}
	if say := lastMessage(do); say != nil {
		l.send(&l.client, say.Encode(nil), bytes.Clone) // if that fails, so does the half close
	}
	if !s.life.ReadsServer() {
		l.server.dropUnsent() // no statement is to run that the client has been told nothing of
	}
	if do.Has(life.Terminate) {
		l.send(&l.server, wire.AppendFrame(nil, wire.MsgTerminate), bytes.Clone)
	}
	if do.Has(life.ShutServer) {
		l.shutdown(&l.server)
	}
	if do.Has(life.Close) {
		l.close()
	}
	if do.Has(life.ShutClient) {
		l.shutdown(&l.client) // which reports the next event
	}
}

// facts are what the loop knows at an event.
func (l *looped) facts(e life.Event) life.Facts {
	s := l.session
	f := life.Facts{
		Served: !s.replication && s.Down.Idle() && len(l.server.unsent) == 0, Pending: l.waits() || len(l.client.unsent) > 0,
		CanSpeak: !s.replication && s.Down.AtBoundary(), Silent: s.Down.EndedSilently(), Provoked: s.provoked.Load(),
	}
	if e == life.LoopFailed {
		f.CanSpeak = f.CanSpeak && len(l.client.unsent) == 0 // nothing is sent later
	}
	return f
}

// goOnDraining is called when nothing may be outstanding any more.
func (l *looped) goOnDraining() {
	if l.session.life == life.Draining {
		l.report(life.Drain)
		l.watch()
	}
}

func (l *looped) startTimer() {
	l.stopTimer()
	l.until = time.Now().Add(l.session.all.Grace)
	l.loop.ending = append(l.loop.ending, l)
}

func (l *looped) stopTimer() {
	if l.until.IsZero() {
		return
	}
	l.until = time.Time{}
	l.loop.ending = slices.DeleteFunc(l.loop.ending, func(o *looped) bool { return o == l })
}

// timedOut is called when the grace time is over.
func (l *looped) timedOut() {
	defer l.guard()
	l.stopTimer()
	l.report(life.TimedOut)
}

// loopFailed is called when the loop cannot go on.
func (l *looped) loopFailed() {
	defer l.guard()
	l.report(life.LoopFailed)
}

// ended reports whether both connections are closed.
func (l *looped) ended() bool { return l.session.life == life.Closed }

// close closes both connections, and lets go of the session.
func (l *looped) close() {
	l.stopTimer()
	for _, e := range []*loopedEnd{&l.client, &l.server} {
		if e.fd < len(l.loop.byFD) {
			l.loop.byFD[e.fd] = nil
		}
		_ = syscall.Close(e.fd) // leaves the epoll instance with its last descriptor
	}
	if !l.rewriting || l.parked != nil {
		l.session.Up.Leave()
		l.session.Up.Release()
		l.parked = nil
	}
	l.session.all.forget(l.session)
}
