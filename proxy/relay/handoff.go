package relay

import (
	"context"
	"time"

	"mbusproxy/proxy/pipeline"
)

// This file is how the two goroutines of a session tell each other of what is owed. A loop has no need of it.

// expect queues what the server will owe for the messages about to be written.
func (s *Session) expect() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return errSealed
	}
	s.inbox.Expect(&s.Up)
	return nil
}

// stands is where the server stands, as upstream knows it.
func (s *Session) stands() pipeline.Backlog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inbox.Backlog()
}

// awaitRoom waits until the server owes so little that the client may go on; false means that the session
// ends.
func (s *Session) awaitRoom(ctx context.Context) bool {
	for {
		s.mu.Lock()
		now, sealed := s.inbox.Backlog(), s.sealed
		s.mu.Unlock()
		if sealed {
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

// collect takes over what upstream has queued.
func (s *Session) collect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inbox.Collect(&s.Down)
}

// publish tells upstream, after a batch of replies, where the server stands.
func (s *Session) publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inbox.Publish(&s.Down)
	select {
	case s.roomy <- struct{}{}:
	default:
	}
}

// readsOn has downstream wait for the server again after it was woken, unless the session ends: stop sets its
// deadline after sealed, and that one must stay.
func (s *Session) readsOn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return false
	}
	_ = s.serverLink.Socket.SetReadDeadline(time.Time{})
	return true
}

// letGo wakes upstream to let go what it gathers.
func (s *Session) letGo() {
	if s.lanes != nil {
		s.lanes.letGo()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sealed && !s.closing {
		_ = s.clientLink.Socket.SetReadDeadline(time.Unix(1, 0))
	}
}

// goesOn has upstream read again after letGo, unless the session ends.
func (s *Session) goesOn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed || s.closing {
		return false
	}
	_ = s.clientLink.Socket.SetReadDeadline(time.Time{})
	return true
}
