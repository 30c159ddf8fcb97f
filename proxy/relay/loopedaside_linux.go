package relay

import (
	"context"
	"time"

	"mbusproxy/proxy/relay/life"
	"mbusproxy/proxy/wire"
)

// takeTurn has a batch of a busy client, which is the session's own, fed by a goroutine: the loop must not be late for others because of what
// one client sends. Only few of these goroutines run at a time, in the order in which they were started.
func (l *looped) takeTurn(batch []byte) {
	s := l.session
	l.rewriting = true
	before := s.Down.Backlog()
	turns := s.all.loops.turns // read here: the goroutine may outlive the session, and with it the loops
	go func() {
		turns <- struct{}{}
		defer func() { <-turns }()
		var took time.Duration
		l.feedAside(func(out *wire.Splicer) error {
			began := time.Now()
			defer func() { took = time.Since(began) }()
			return s.Up.Feed(nil, before, batch, out) //nolint:staticcheck // nonblocking: nothing is called with it
		}, func() { l.client.took(len(batch), took) })
	}()
}

// stopBuffering has the loop forward unread what is buffered of the client's message.
func (l *looped) stopBuffering() {
	l.loop.post(func() {
		if l.session.life.Forwards() && !l.rewriting && l.session.Up.Holds() {
			defer l.guard()
			l.forward(nil)
		}
	})
}

// rewrite has the rest of a batch, which begins with a statement for the Rewriter, fed by a
// goroutine, for the Rewriter may take its time. While the statement waits, for replies or for its
// turn, there is none: very many may.
func (l *looped) rewrite() {
	l.rewriting, l.parked = true, &parked{batch: l.session.Up.TakeAside(), before: l.session.Down.Backlog()}
	if len(l.parked.batch) > leastRead {
		l.client.slow()
	}
	l.unpark()
}

// unpark starts the goroutine, unless there is none to be started, or it would have to wait, or
// nothing that it would do takes its time. The three steps of a woken call would take six wakes of
// threads else, of which a message that somebody waits for would be later.
func (l *looped) unpark() {
	p, up := l.parked, &l.session.Up
	switch {
	case p == nil || up.Blocked():
	case up.Sleeps(p.before, l.woken):
		l.session.Down.Rest()
	case up.GoesOn(p.before):
		l.goOn()
	default:
		l.feedParked()
	}
}

// goOn feeds what a goroutine would, but in the loop.
func (l *looped) goOn() {
	p, out := l.parked, wire.Splicer{Pool: l.loop.out.Pool} // the loop's own may be in use by who has called
	l.parked, l.rewriting = nil, false
	l.fedAside(l.session.Up.GoOn(p.before, p.batch, &out), &out)
	out.Free()
}

// fedAside is fed for what was set aside: nobody who has called sees to the session behind it.
func (l *looped) fedAside(err error, out *wire.Splicer) {
	l.fed(err, out)
	l.note()
	l.goOnDraining()
	l.watch()
}

// woken is called, from anywhere, when the turn of the statement has come.
func (l *looped) woken() {
	l.loop.post(func() {
		defer l.guard()
		l.unpark()
	})
}

// endRewrite ends the context of the Rewriter's calls.
func (l *looped) endRewrite() {
	if l.parked != nil {
		l.feedParked() // which ends what waits
	}
	if l.cancelRewrite != nil {
		l.cancelRewrite()
	}
}

// feedParked starts the goroutine. It ends when the Rewriter has answered; the session may have ended by then.
func (l *looped) feedParked() {
	s := l.session
	ctx, cancel := context.WithCancel(context.Background())
	batch, before := l.parked.batch, l.parked.before
	l.parked, l.cancelRewrite = nil, cancel
	go func() {
		defer cancel()
		l.feedAside(func(out *wire.Splicer) error {
			s.Up.Nonblocking = false
			defer func() { s.Up.Nonblocking = true }()
			defer out.Detach()
			return s.Up.Feed(ctx, before, batch, out)
		}, func() { l.cancelRewrite = nil })
	}()
}

// feedAside is called by the goroutine that owns Session.Up, and gives that back to the loop, which calls done first.
func (l *looped) feedAside(feed func(out *wire.Splicer) error, done func()) {
	s := l.session
	var failed any
	out := wire.Splicer{Pool: l.loop.out.Pool}
	var err error
	func() {
		defer func() {
			if failed = recover(); failed != nil {
				s.panicked("client to server", failed)
			}
		}()
		err = feed(&out)
	}()
	l.loop.post(func() {
		l.rewriting = false
		done()
		defer l.guard()
		switch {
		case l.ended():
			s.Up.Leave()
			s.Up.Release()
		case failed != nil:
			l.report(life.Cut)
		default:
			l.fedAside(err, &out)
			l.catchUp()
		}
		out.Free()
	})
}

// catchUp does what the session was told while the goroutine owned Session.Up.
func (l *looped) catchUp() {
	l.sendAgain()
	if !l.rewriting && l.session.Up.Revoked() {
		l.stopBuffering()
	}
}
