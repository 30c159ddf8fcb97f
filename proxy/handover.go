package proxy

import (
	"context"
	"time"

	"go.uber.org/zap"

	"mbusproxy/proxy/listen"
)

// A handover goes from a process that ends to one that listens on the same addresses already, both
// with Config.ReusePort. A listener's queue dies with it: connections in it are reset. So the one
// that ends first has the kernel give new ones to the other, and serves what still comes out of
// its own queue as if nothing were.
//
// The queue of an inherited socket (Config.Inherited) stays with the service manager. So the
// process that ends stops accepting at once: what comes from then on waits in the queue for the
// next process. What it has accepted it serves as it would otherwise.
const (
	// HandoverLimit bounds what a handover adds to the time Shutdown takes.
	HandoverLimit = 5 * time.Second
	// handoverQuiet is how long nobody must have come. It is longer than a client needs for a
	// handshake, one lost packet included, and for its first statement.
	handoverQuiet = 1500 * time.Millisecond
	handoverLook  = 20 * time.Millisecond // between two looks
)

// handOver returns when no connection has come for a while and no startup is under way.
func (s *Server) handOver(ctx context.Context) {
	s.mu.Lock()
	listeners, listening := s.listeners, s.state == serverListening
	s.mu.Unlock()
	if !s.cfg.handsOver() || !listening {
		return
	}
	for _, l := range listeners {
		if len(s.cfg.Inherited) > 0 {
			_ = l.Close()
		} else if err := listen.Yield(l); err != nil {
			s.log.Warn("new connections cannot be steered to a successor", zap.Error(err))
		}
	}
	began := time.Now()
	s.arrived.Store(began.UnixNano())
	look := time.NewTicker(handoverLook)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.startupContext().Done(): // Close
			return
		case now := <-look.C:
			if s.starting.Load() == 0 && now.Sub(time.Unix(0, s.arrived.Load())) >= handoverQuiet {
				return
			}
			if now.Sub(began) >= HandoverLimit {
				s.log.Warn("connections keep coming: is there no successor?",
					zap.Int64("startups", s.starting.Load()))
				return
			}
		}
	}
}
