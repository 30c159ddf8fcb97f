package proxy

import (
	"context"
	"time"
)

// This file is how the two goroutines of a session tell each other of what is owed. A loop has no need of it.

// expect queues what the server will owe for the messages about to be written.
func (s *session) expect(news []owed) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return errSealed
	}
	for i := range news {
		o := &news[i]
		if s.ignored(o) {
			o.undo()
			continue
		}
		s.inbox = append(s.inbox, *o)
		s.inboxSize += int(o.size)
	}
	return nil
}

// ignored reports that nothing will be owed for a message, which is not to be noted. It gives up the
// questions among messages that the server is going to skip. mu is held.
func (s *session) ignored(o *owed) bool {
	s.skips = s.skips && giveUp(o)
	switch o.kind {
	case owedSync:
		s.known.skips = false
		return s.copies && len(s.inbox) >= maxOwed // see tracker.copies
	case copyEnd:
		s.copies = false
	}
	return s.known.skips
}

// look takes note, for the next feed, of where the server stands.
func (s *session) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.up.before = s.stands()
}

// stands is known with inbox. mu is held.
func (s *session) stands() standing {
	if s.copies {
		return standing{}
	}
	now := s.known
	now.owing += len(s.inbox)
	now.size += s.inboxSize
	return now
}

// awaitRoom waits until the server owes so little that the client may go on; false means that the session
// ends.
func (s *session) awaitRoom(ctx context.Context) bool {
	for {
		s.mu.Lock()
		now, sealed := s.stands(), s.sealed
		s.mu.Unlock()
		if sealed {
			return false
		}
		if now.roomy() {
			return true
		}
		select {
		case <-s.roomy:
		case <-ctx.Done():
			return false
		}
	}
}

// collect takes over what upstream has queued. All replies in a batch that was read before are
// owed to messages queued before.
func (s *session) collect() {
	s.mu.Lock()
	s.down.expect(s.inbox)
	clear(s.inbox)
	s.inboxSize = 0
	if cap(s.inbox) > newsKeep {
		s.inbox = nil
	} else {
		s.inbox = s.inbox[:0]
	}
	s.known = s.down.standing()
	s.mu.Unlock()
}

// publish tells upstream, after a batch of replies, where the server stands: whether it skips what comes now,
// for then no reply would ever end the wait for an answer, and whether it owes less.
func (s *session) publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known, s.copies = s.down.standing(), s.down.copies()
	s.skips = s.down.skipsOn()
	if s.skips || s.known.skips || s.copies {
		kept := s.inbox[:0]
		s.inboxSize = 0
		for i := range s.inbox {
			o := s.inbox[i]
			if s.ignored(&o) {
				o.undo()
				continue
			}
			kept = append(kept, o)
			s.inboxSize += int(o.size)
		}
		clear(s.inbox[len(kept):])
		s.inbox = kept
	}
	select {
	case s.roomy <- struct{}{}:
	default:
	}
}

// readsOn has downstream wait for the server again after it was woken, unless the session ends: stop sets its
// deadline after sealed, and that one must stay.
func (s *session) readsOn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return false
	}
	_ = s.serverLink.sock.SetReadDeadline(time.Time{})
	return true
}

// letGo wakes upstream to let go what it gathers.
func (s *session) letGo() {
	if s.lanes != nil {
		s.lanes.letGo()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sealed && !s.closing {
		_ = s.clientLink.sock.SetReadDeadline(time.Unix(1, 0))
	}
}

// goesOn has upstream read again after letGo, unless the session ends.
func (s *session) goesOn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed || s.closing {
		return false
	}
	_ = s.clientLink.sock.SetReadDeadline(time.Time{})
	return true
}
