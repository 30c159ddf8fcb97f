package relay

import (
	"time"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/fatal"
	"mbusproxy/proxy/wire"
)

// drain asks the session to end as soon as it is idle.
func (s *Session) drain() { s.advance(phaseDraining) }

// expire asks the session to end now, idle or not.
func (s *Session) expire() {
	s.advance(phaseExpired)
	if s.lanes != nil {
		return
	}
	// A client that takes nothing would keep downstream from hearing of it.
	_ = s.clientLink.Socket.SetWriteDeadline(time.Now().Add(endpoint.GoodbyeTime))
}

func (s *Session) advance(to int32) {
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
	_ = s.serverLink.Socket.SetReadDeadline(time.Unix(1, 0))
}

// mayEnd decides whether downstream is to take leave now, and if so keeps upstream from sending
// anything more.
func (s *Session) mayEnd() bool {
	if s.plain && s.phase.Load() != phaseExpired {
		return false // replication has no idle moment the proxy could see
	}
	s.collect()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase.Load() != phaseExpired && (!s.inbox.Empty() || !s.Down.Idle()) {
		return false
	}
	s.sealed = true
	return true
}

// goodbye ends both sides politely: 57P01 for the client, Terminate for the server. Upstream is
// sealed, so it writes nothing more; it ends when the client closes or lingerTime is over.
func (s *Session) goodbye() {
	soon := time.Now().Add(endpoint.GoodbyeTime)
	_ = s.clientLink.Socket.SetWriteDeadline(soon)
	_ = s.serverLink.Socket.SetWriteDeadline(soon)
	if s.Down.AtBoundary() && !s.plain {
		_ = s.clientLink.Write(fatal.Shutdown().Encode(nil))
	}
	if s.Down.Idle() {
		_ = s.serverLink.Write(wire.AppendFrame(nil, wire.MsgTerminate))
	}
	s.serverLink.CloseWrite()
	s.serverClosed()
}
