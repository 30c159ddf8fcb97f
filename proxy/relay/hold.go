package relay

import (
	"context"

	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/relay/life"
)

// cancelHeld cancels the statement of the session that the Rewriter has, if it is the one that runs. done means that the cancel
// request must not go to the server: the statement was cancelled while the Rewriter had it, and nothing else is outstanding.
//
// While a Query or Sync is outstanding the server has not come to that statement. While other requests
// are, it may still be busy, or may hold their replies back until Sync. Then it gets the cancel request as well: the
// message that fails comes before the statement, with no Sync between them, and the server skips the statement.
//
// A statement that waits is cancelled here; what looks for it may be at the server, which then gets the request as well.
func (s *Session) cancelHeld(ctx context.Context) (done bool) {
	if s.Up.CancelWait() {
		now, ok := s.serverBacklog(ctx)
		return ok && now.Outstanding == 0
	}
	if !s.Up.WithRewriter() {
		return false
	}
	now, ok := s.serverBacklog(ctx)
	return ok && now.Flushing == 0 && s.Up.Interrupt() && now.Outstanding == 0
}

// serverBacklog is what the server is known to be doing.
func (s *Session) serverBacklog(ctx context.Context) (now pipeline.Backlog, ok bool) {
	if s.looped == nil {
		return s.backlog(), true
	}
	answer := make(chan pipeline.Backlog, 1)
	s.looped.tell(answer)
	select {
	case now = <-answer:
		return now, true
	case <-ctx.Done():
		return pipeline.Backlog{}, false
	}
}

// clientGone reports whether the client has ended its sending: no client does that which still wants an answer of a wait.
func (s *Session) clientGone() bool {
	if s.looped != nil {
		return s.looped.clientGone()
	}
	return s.client.HungUp()
}

// lookForClient ends the session if the connection of its client is broken, or if its statement waits and the client is gone.
func (s *Session) lookForClient() {
	if s.looped != nil {
		s.looped.lookForClient()
		return
	}
	if s.client.Broken() || s.Up.Waits() && s.clientGone() {
		s.report(life.Cut)
	}
}
