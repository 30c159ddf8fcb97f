package relay

import (
	"context"

	"mbusproxy/proxy/pipeline"
)

// cancelHeld cancels the statement of the session that the Rewriter has, if it is the one that runs. done means
// that the server has nothing to do with the request.
//
// A server that owes the reply to a Query or Sync has not come to that statement. One that owes
// other replies may still be busy, or may hold them back until Sync. Then it gets the request as well: what
// it fails in comes before the statement in the same run of messages, and the statement is skipped.
func (s *Session) cancelHeld(ctx context.Context) (done bool) {
	if !s.Up.WithRewriter() {
		return false
	}
	now, ok := s.standing(ctx)
	return ok && now.Ends == 0 && s.Up.Interrupt() && now.Outstanding == 0
}

// standing is where the server stands.
func (s *Session) standing(ctx context.Context) (now pipeline.Backlog, ok bool) {
	if s.lanes == nil {
		return s.stands(), true
	}
	answer := make(chan pipeline.Backlog, 1)
	s.lanes.ask(answer)
	select {
	case now = <-answer:
		return now, true
	case <-ctx.Done():
		return pipeline.Backlog{}, false
	}
}

// lookForClient ends the session if the connection of its client is broken.
func (s *Session) lookForClient() {
	if s.lanes != nil {
		s.lanes.lookForClient()
		return
	}
	if s.clientLink.Broken() {
		s.stop()
	}
}
