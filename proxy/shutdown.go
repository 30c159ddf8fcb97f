package proxy

import (
	"context"
	"time"

	"mbusproxy/proxy/relay"
)

// Shutdown stops accepting, ends idle sessions with 57P01 and busy ones when they become idle, at
// the latest after Config.DrainTimeout; what these still run is cancelled. It returns when all have
// ended, or with ctx's error when that ends before; the sessions left are then cut off. With
// Config.ReusePort or Config.Inherited it first leaves the addresses to a successor, which may take
// HandoverLimit.
func (s *Server) Shutdown(ctx context.Context) error {
	s.handOver(ctx)
	s.stopAccepting()
	s.sessions.Drain()
	done := make(chan struct{})
	go func() {
		s.handlers.Wait()
		s.sessions.Close()
		close(done)
	}()
	drained := time.NewTimer(s.limits.Load().DrainTimeout)
	defer drained.Stop()
	select {
	case <-done:
		s.end()
		return nil
	case <-ctx.Done():
	case <-drained.C:
		s.cancelAll(ctx)
		s.sessions.Expire()
		select {
		case <-done:
			s.end()
			return nil
		case <-ctx.Done():
		case <-time.After(relay.ExpireTime):
		}
	}
	s.sessions.Stop()
	<-done
	s.end()
	return ctx.Err()
}

// Close cuts all connections at once and returns when all is released.
func (s *Server) Close() error {
	s.stopAccepting()
	s.sessions.Stop()
	s.handlers.Wait()
	s.sessions.Close()
	s.end()
	return nil
}

// stopAccepting closes the listeners and ends the startups under way.
func (s *Server) stopAccepting() {
	s.mu.Lock()
	already := s.state == serverEnding
	s.state = serverEnding
	s.mu.Unlock()
	s.sessions.End()
	if already {
		return
	}
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.cancelStartups()
}

// end lets Serve return.
func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
	default:
		close(s.ended)
	}
}
