package relay

import (
	"context"
	"time"

	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/relay/life"
)

// This file is how the two goroutines of a session tell each other of outstanding requests. A loop has no need of it.

// expect queues the requests of the messages about to be written; waits means that others wait for the Rewriter or
// for room. It returns false when nothing more is forwarded.
func (s *Session) expect(waits bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.life.Forwards() {
		return false
	}
	s.inbox.Expect(&s.Up)
	s.waits = waits
	s.seen.note(s.inbox.Backlog(), waits)
	if s.Up.Terminated {
		s.transition(life.ClientTerminated, life.Facts{}) // before it is written, for the server may close at once
	}
	return true
}

// backlog is what the server is known to be doing, as clientToServer knows it.
func (s *Session) backlog() pipeline.Backlog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inbox.Backlog()
}

// awaitRoom waits until so few requests are outstanding that the client may go on; false means that the session
// ends.
func (s *Session) awaitRoom(ctx context.Context) bool {
	for {
		s.mu.Lock()
		now, forwards := s.inbox.Backlog(), s.life.Forwards()
		s.mu.Unlock()
		if !forwards {
			return false
		}
		if now.Roomy() {
			return true
		}
		select {
		case <-s.roomy:
		case <-ctx.Done():
			return false
		}
	}
}

// collect takes over what clientToServer has queued.
func (s *Session) collect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inbox.Collect(&s.Down)
}

// publish tells clientToServer, after a batch of replies, what the server is known to be doing.
func (s *Session) publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inbox.Publish(&s.Down)
	s.seen.note(s.inbox.Backlog(), s.waits)
	select {
	case s.roomy <- struct{}{}:
	default:
	}
}

// stopBuffering wakes clientToServer, so that it forwards unread what it has buffered of a long message.
func (s *Session) stopBuffering() {
	if s.looped != nil {
		s.looped.stopBuffering()
		return
	}
	s.wakeClient()
}

// wakeClient wakes clientToServer where it reads.
func (s *Session) wakeClient() { _ = s.client.Socket.SetReadDeadline(time.Unix(1, 0)) }
