package relay

import (
	"time"

	"mbusproxy/proxy/fatal"
	"mbusproxy/proxy/relay/life"
	"mbusproxy/proxy/wire"
)

// This file is how a session with goroutines goes through its life; loopedending_linux.go is the same for a loop.
//
// Each event has one goroutine that reports it. clientToServer reports what it meets in the client's stream, and
// that the server takes nothing. serverToClient, which knows what is outstanding, reports what it meets in the server's
// stream, and what Shutdown asks for; and so it is the only one that writes to the client. Cut and TimedOut come from
// anywhere.

// report has the session go through an event of which no facts matter.
func (s *Session) report(e life.Event) {
	s.perform(func() life.Actions {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.transition(e, life.Facts{})
	}())
}

// reportDown is report for serverToClient, which knows the facts.
func (s *Session) reportDown(e life.Event) {
	s.perform(func() life.Actions {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inbox.Collect(&s.Down)
		return s.transition(e, life.Facts{
			Served: !s.replication && s.Down.Idle(), Pending: s.waits,
			CanSpeak: !s.replication && s.Down.AtBoundary(), Silent: s.Down.EndedSilently(), Provoked: s.provoked.Load(),
		})
	}())
}

// transition is called with mu held. What it returns is for perform, which is called without.
func (s *Session) transition(e life.Event, f life.Facts) (do life.Actions) {
	s.life, do = s.life.On(e, f)
	if do.Has(life.StopRewriter) {
		s.cancel()
	}
	if s.timer != nil && do&(life.StartTimer|life.Close) != 0 {
		s.timer.Stop()
		s.timer = nil
	}
	if do.Has(life.StartTimer) {
		s.startTimer()
	}
	return do
}

// startTimer is called with mu held.
func (s *Session) startTimer() {
	var own *time.Timer
	own = time.AfterFunc(s.all.Grace, func() {
		defer s.guard("timer")
		s.perform(func() life.Actions {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.timer != own { // it was stopped at the moment when it ended
				return 0
			}
			return s.transition(life.TimedOut, life.Facts{})
		}())
	})
	s.timer = own
}

// perform carries out what transition has not.
func (s *Session) perform(do life.Actions) {
	if do == 0 {
		return
	}
	if do.Has(life.StartTimer) {
		_ = s.client.Socket.SetWriteDeadline(time.Time{}) // of expire: the timer takes its place
	}
	said := true
	if say := lastMessage(do); say != nil {
		said = s.client.Write(say.Encode(nil)) == nil
	}
	if do.Has(life.ShutClient) {
		s.client.CloseWrite()
	}
	if do.Has(life.Terminate) {
		_ = s.server.Write(wire.AppendFrame(nil, wire.MsgTerminate))
	}
	if do.Has(life.ShutServer) {
		s.server.CloseWrite()
	}
	if do.Has(life.Close) {
		s.client.Close()
		s.server.Close()
	}
	switch {
	case !said:
		s.report(life.Cut)
	case do.Has(life.ShutClient):
		s.report(life.Delivered)
	}
}

// lastMessage returns what the proxy is to say to the client, or nil.
func lastMessage(do life.Actions) *fatal.Error {
	switch {
	case do.Has(life.SayShutdown):
		return fatal.Shutdown()
	case do.Has(life.SayServerEnded):
		return fatal.ServerClosed()
	case do.Has(life.SayLoopFailed):
		return fatal.LoopFailed()
	}
	return nil
}

// drain has the session end as soon as nothing is outstanding.
func (s *Session) drain() {
	s.Up.EndWaits()
	s.ask(life.Drain)
}

// expire has the session end now.
func (s *Session) expire() {
	if s.looped == nil {
		// serverToClient hears of it only when the client takes what is being written.
		_ = s.client.Socket.SetWriteDeadline(time.Now().Add(s.all.Grace))
	}
	s.ask(life.Expire)
}

// stop closes both connections at once.
func (s *Session) stop() {
	if s.looped != nil {
		s.looped.ask(life.Cut)
		return
	}
	s.report(life.Cut)
}

// ask has an event of Shutdown reported where the facts are known.
func (s *Session) ask(e life.Event) {
	switch {
	case s.looped != nil:
		s.looped.ask(e)
		return
	case !s.readsServer(): // serverToClient has ended, or is about to
		s.report(e)
		return
	case e == life.Drain:
		s.asked.CompareAndSwap(0, uint32(e)) // not in the place of Expire
	default:
		s.asked.Store(uint32(e))
	}
	s.wake()
}

// wake has serverToClient look at asked.
func (s *Session) wake() { _ = s.server.Socket.SetReadDeadline(time.Unix(1, 0)) }

// readsServer reports whether serverToClient still reads.
func (s *Session) readsServer() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life.ReadsServer()
}
