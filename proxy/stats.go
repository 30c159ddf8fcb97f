package proxy

import (
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"mbusproxy/proxy/auth"
	"mbusproxy/proxy/fatal"
	"mbusproxy/proxy/memory"
	"mbusproxy/proxy/relay"
)

// counts are what a Server counts besides its sessions.
type counts struct {
	cancelRequests, cancels atomic.Uint64

	mu      sync.Mutex
	refusal map[string]uint64
}

// What is counted of startups that fail without a word of the proxy's.
const (
	refusedUnknown  = "authentication" // the server has said that the client is not who it says to be, or may not come in
	refusedByServer = "server"         // it has said something else
	refusedSilently = "none"
)

// refused counts a startup that has failed. There are few different SQLSTATEs, all of them the proxy's own.
func (c *counts) refused(said *fatal.Error, err error) {
	why := refusedSilently
	switch {
	case said != nil:
		why = said.Code
	case errors.Is(err, auth.ErrUnauthenticated):
		why = refusedUnknown
	case errors.Is(err, auth.ErrRefused):
		why = refusedByServer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusal == nil {
		c.refusal = make(map[string]uint64)
	}
	c.refusal[why]++
}

// Stats is what a Server has done so far, and what it holds.
type Stats struct {
	Admitted uint64            // sessions that have begun to log in
	Starting int64             // connections in startup
	Consoles int64             // clients in a Console
	Refused  map[string]uint64 // startups that have failed, by the SQLSTATE that the proxy has given; "authentication" and "server": the server has refused them; "none": nobody has said anything
	// CancelRequests are those that have come, and Canceled those of them that were for a session.
	CancelRequests, Canceled uint64
	relay.Traffic
	Panics, LostSync     uint64
	LongUsed, LongSize   int // bytes for long messages
	TextsUsed, TextsSize int // bytes for the texts of what sessions have prepared
	Sessions             []relay.Observation
	MaxConnections       int
	Ending               bool
}

// Stats looks at the Server. It waits for no session.
func (s *Server) Stats() Stats {
	s.counts.mu.Lock()
	refused := maps.Clone(s.counts.refusal)
	s.counts.mu.Unlock()
	used, size := s.sessions.TextsMemory()
	return Stats{
		Admitted: s.sessions.Admitted(), Starting: s.starting.Load(), Consoles: s.consoles.Load(), Refused: refused,
		CancelRequests: s.counts.cancelRequests.Load(), Canceled: s.counts.cancels.Load(),
		Traffic: s.sessions.Traffic(),
		Panics:  s.panics.Load() + s.sessions.Counts.Panics.Load(), LostSync: s.sessions.Counts.LostSync.Load(),
		LongUsed: memory.LongMessagesTotal - s.sessions.Long.Unused(), LongSize: memory.LongMessagesTotal,
		TextsUsed: used, TextsSize: size,
		Sessions: s.sessions.Observe(), MaxConnections: s.limits.Load().MaxConnections,
		Ending: s.Ending(),
	}
}

// Ending reports whether Shutdown or Close has begun.
func (s *Server) Ending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == serverEnding
}

// EndSession ends the session with that number (relay.Observation.ID), as Shutdown ends those that
// are left: its client gets 57P01. It reports whether there is such a session.
func (s *Server) EndSession(id uint64) bool { return s.sessions.EndOne(id) }
