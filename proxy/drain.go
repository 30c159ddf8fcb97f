package proxy

import "time"

// drain asks the session to end as soon as it is idle.
func (s *session) drain() { s.advance(phaseDraining) }

// expire asks the session to end now, idle or not.
func (s *session) expire() {
	s.advance(phaseExpired)
	if s.lanes != nil {
		return
	}
	// A client that takes nothing would keep downstream from hearing of it.
	_ = s.clientLink.sock.SetWriteDeadline(time.Now().Add(goodbyeTime))
}

func (s *session) advance(to int32) {
	if s.lanes != nil {
		s.lanes.advance(to)
		return
	}
	for {
		now := s.phase.Load()
		if now >= to {
			return
		}
		if s.phase.CompareAndSwap(now, to) {
			break
		}
	}
	_ = s.serverLink.sock.SetReadDeadline(time.Unix(1, 0))
}

// mayEnd decides whether downstream is to take leave now, and if so keeps upstream from sending
// anything more.
func (s *session) mayEnd() bool {
	if s.plain && s.phase.Load() != phaseExpired {
		return false // replication has no idle moment the proxy could see
	}
	s.collect()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase.Load() != phaseExpired && (!s.inbox.empty() || !s.down.idle()) {
		return false
	}
	s.sealed = true
	return true
}

// goodbye ends both sides politely: 57P01 for the client, Terminate for the server. Upstream is
// sealed, so it writes nothing more; it ends when the client closes or lingerTime is over.
func (s *session) goodbye() {
	soon := time.Now().Add(goodbyeTime)
	_ = s.clientLink.sock.SetWriteDeadline(soon)
	_ = s.serverLink.sock.SetWriteDeadline(soon)
	if s.down.atBoundary() && !s.plain {
		_ = s.clientLink.write(sayShutdown().encode(nil))
	}
	if s.down.idle() {
		_ = s.serverLink.write(appendFrame(nil, msgTerminate))
	}
	s.serverLink.closeWrite()
	s.serverClosed()
}
