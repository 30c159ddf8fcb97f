package relay

import (
	"context"

	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/relay/life"
	"mbusproxy/proxy/wire"
)

// Cancel is a cancel request for a session.
//
// It is for the unit that was under way when it came, or the first one behind that moment, and for
// no other: what the client had sent by then may not have been read yet. Where that unit is at hand
// (the Rewriter has a statement of it, or one waits) it is cancelled here, and else the server gets
// the request. It may come there when it has nothing of the unit, before its statement or between
// two looks for it. So when the server has closed the connection, it is seen to once more.
type Cancel struct {
	cancels *cancels
	key     wire.CancelKey
	session *Session // nil: not looked for yet
	unit    uint64
	again   bool
}

// Next reports whether the request is to be sent to the server, and whether Next is to be called
// again when the server has closed the connection.
//
// While a Query or Sync of the client's is outstanding the server has not come to the statement at
// hand, and the request is not for that. While other requests are, among them ours, it may still be
// busy, or may hold their replies back until Sync. Then it gets the request as well: the message
// that fails comes before the statement, with no Sync between them, and the server skips the
// statement.
func (c *Cancel) Next(ctx context.Context) (send, again bool) {
	first := !c.again
	c.again = true
	if c.session == nil {
		if c.session = c.cancels.session(ctx, c.key); c.session == nil {
			return false, false
		}
	}
	up := &c.session.Up
	now, ok := c.session.serverBacklog(ctx, func() {
		if first {
			c.unit = up.Unit()
		}
	})
	switch {
	case ctx.Err() != nil:
		return false, false
	case !ok || now.Flushing > 0:
		return first, false
	}
	canceled := up.Cancel(c.unit)
	switch {
	case canceled == nil:
		return first, first
	case now.Outstanding > 0:
		return true, false
	}
	spent := canceled.Spent(ctx)
	if ctx.Err() != nil {
		return false, false
	}
	return !spent, !spent
}

// serverBacklog is what the server is known to be doing; before is called first. What the client
// has sent has been read then, where a loop reads it.
func (s *Session) serverBacklog(ctx context.Context, before func()) (now pipeline.Backlog, ok bool) {
	if s.looped == nil {
		before()
		return s.backlog(), true
	}
	answer := make(chan pipeline.Backlog, 1)
	s.looped.tell(before, answer)
	select {
	case now = <-answer:
		return now, true
	case <-ctx.Done():
		return pipeline.Backlog{}, false
	}
}

// maxAhead is how many bytes of a client whose statement waits are kept, with that statement, while
// the client is read ahead.
const maxAhead = 16 << 10

// clientGone reports whether the client has ended its sending: no client does that which still
// wants an answer of a wait. In a session with goroutines clientToServer asks.
func (s *Session) clientGone() bool {
	if s.looped != nil {
		return s.looped.clientGone()
	}
	ahead, ended := s.client.ReadAhead(maxAhead)
	s.Up.SawAhead(ahead)
	return ended || s.client.HungUp()
}

// lookForClient ends the session if the connection of its client is broken, or if its statement
// waits and the client is gone.
func (s *Session) lookForClient() {
	if s.looped != nil {
		s.looped.lookForClient()
		return
	}
	if s.client.Broken() || s.Up.Waits() && s.client.HungUp() {
		s.report(life.Cut)
	}
}
