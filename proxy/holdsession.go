package proxy

import (
	"context"
)

// cancelHeld cancels the statement of the session that the Rewriter has, if it is the one that runs. done means
// that the server has nothing to do with the request.
//
// A server that owes the reply to a Query or Sync has not come to that statement. One that owes
// other replies may still be busy, or may hold them back until Sync. Then it gets the request as well: what
// it fails in comes before the statement in the same run of messages, and the statement is skipped.
func (s *session) cancelHeld(ctx context.Context) (done bool) {
	if !s.up.withRewriter() {
		return false
	}
	now, ok := s.standing(ctx)
	return ok && now.ends == 0 && s.up.interrupt() && now.owing == 0
}

// standing is where the server stands.
func (s *session) standing(ctx context.Context) (now standing, ok bool) {
	if s.lanes == nil {
		return s.stands(), true
	}
	answer := make(chan standing, 1)
	s.lanes.ask(answer)
	select {
	case now = <-answer:
		return now, true
	case <-ctx.Done():
		return standing{}, false
	}
}

// lookForClient ends the session if the connection of its client is broken.
func (s *session) lookForClient() {
	if s.lanes != nil {
		s.lanes.lookForClient()
		return
	}
	if s.clientLink.broken() {
		s.stop()
	}
}
